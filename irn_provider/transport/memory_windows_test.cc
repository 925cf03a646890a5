// Memory windows: what may be bound, what a bound one allows, and what invalidates it. IBTA Vol 1, 10.6.7.2,
// 10.6.5, 9.7.4.1.5.
#include "irn_provider/transport/memory_windows.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

constexpr Pdn kPd{3}, kOther{4};
constexpr Qpn kQp{0x11}, kOtherQp{0x12};
constexpr std::uint32_t kAll = kAccessRemoteWrite | kAccessRemoteRead | kAccessRemoteAtomic;

class MemoryWindowsTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kAddr = 5000, kIova = 0x1000, kLength = 100;

  RKey region(std::uint32_t access, Pdn pd = kPd) {
    return *regions_.add({pd, kAddr, kIova, kLength, access});
  }
  MwBinding binding(RKey window) const {
    return {window, RKey{window.value + 1}, key_, kIova + 10, 20, kAll};
  }
  static RKey next(RKey window) { return RKey{(window.value & ~0xffu) | ((window.value + 1) & 0xff)}; }
  std::optional<std::uint64_t> at(RKey key, std::uint64_t va, std::uint64_t length, Qpn qpn = kQp,
                                  Pdn pd = kPd, std::uint32_t rights = kAccessRemoteWrite) const {
    return windows_.translate(key, pd, qpn, va, length, rights);
  }

  MemoryRegions regions_{16};
  MemoryWindows windows_{regions_, 4};
  RKey key_ = region(kAccessLocalWrite | kAccessMwBind);
  RKey first_ = *windows_.add(kPd, MwType::k1), second_ = *windows_.add(kPd, MwType::k2);
};

TEST_F(MemoryWindowsTest, KeysAreNeitherRegionsNorEachOthers) {
  EXPECT_TRUE(MemoryWindows::is_window(first_) && MemoryWindows::is_window(second_));
  EXPECT_FALSE(MemoryWindows::is_window(key_));
  EXPECT_NE(first_.value >> 8, second_.value >> 8);
  EXPECT_FALSE(regions_.translate(first_, kPd, kIova, 1, 0));
  EXPECT_EQ(windows_.find(key_), nullptr);
  EXPECT_FALSE(windows_.remove(key_));
  EXPECT_FALSE(at(first_, kIova, 0)) << "not bound";
}

TEST_F(MemoryWindowsTest, ABoundWindowAllowsItsBytesAndNoneBeside) {
  for (const RKey window : {first_, second_}) {
    ASSERT_TRUE(windows_.bind(binding(window), kQp, kPd));
    const RKey key = next(window);
    EXPECT_EQ(at(key, kIova + 10, 20), kAddr + 10);
    EXPECT_EQ(at(key, kIova + 29, 1), kAddr + 29);
    EXPECT_EQ(at(key, kIova + 30, 0), kAddr + 30);
    EXPECT_FALSE(at(key, kIova + 10, 21));
    EXPECT_FALSE(at(key, kIova + 9, 1));
    EXPECT_FALSE(at(key, kIova + 30, 1));
    EXPECT_FALSE(at(key, kIova + 20, ~0ull - 5));
    EXPECT_FALSE(at(key, ~0ull, 2));
    EXPECT_FALSE(at(window, kIova + 10, 1)) << "the key that it had before";
    EXPECT_FALSE(at(RKey{key.value + 1}, kIova + 10, 1));
    EXPECT_FALSE(at(key, kIova + 10, 1, kQp, kOther));
    EXPECT_EQ(at(key, kIova + 10, 1, kOtherQp).has_value(), window == first_) << "type 2 is of its QP only";
  }
  EXPECT_EQ(regions_.find(key_)->windows, 2u);
}

TEST_F(MemoryWindowsTest, ItsRightsAreItsOwn) {
  MwBinding b = binding(second_);
  b.access = kAccessRemoteRead;
  ASSERT_TRUE(windows_.bind(b, kQp, kPd)) << "the region itself has no remote rights";
  EXPECT_TRUE(at(next(second_), kIova + 10, 1, kQp, kPd, kAccessRemoteRead));
  EXPECT_FALSE(at(next(second_), kIova + 10, 1, kQp, kPd, kAccessRemoteWrite));
  EXPECT_FALSE(at(next(second_), kIova + 10, 8, kQp, kPd, kAccessRemoteAtomic));
}

TEST_F(MemoryWindowsTest, AZeroBasedWindowCountsFromItsBeginning) {
  MwBinding b = binding(second_);
  b.access |= kAccessZeroBased;
  ASSERT_TRUE(windows_.bind(b, kQp, kPd));
  EXPECT_EQ(at(next(second_), 0, 20), kAddr + 10);
  EXPECT_EQ(at(next(second_), 19, 1), kAddr + 29);
  EXPECT_FALSE(at(next(second_), 0, 21));
  EXPECT_FALSE(at(next(second_), 20, 1));
  EXPECT_FALSE(at(next(second_), kIova + 10, 1));
}

TEST_F(MemoryWindowsTest, WhatABindIsRefusedForChangesNothing) {
  const auto refused = [&](RKey window, auto&& change, Pdn pd = kPd) {
    MwBinding b = binding(window);
    change(b);
    const bool bound = windows_.bind(b, kQp, pd);
    return !bound && windows_.find(window)->key == window && regions_.find(key_)->windows == 0;
  };
  const RKey no_bind = region(kAccessLocalWrite),
             elsewhere = region(kAccessMwBind | kAccessLocalWrite, kOther);
  const RKey read_only = region(kAccessMwBind);
  for (const RKey w : {first_, second_}) {
    EXPECT_TRUE(refused(w, [](MwBinding& b) { b.addr = kIova - 1; }));
    EXPECT_TRUE(refused(w, [](MwBinding& b) { b.addr = kIova, b.length = kLength + 1; }));
    EXPECT_TRUE(refused(w, [](MwBinding& b) { b.addr = kIova + kLength, b.length = 1; }));
    EXPECT_TRUE(refused(w, [](MwBinding& b) { b.length = ~0ull; }));
    EXPECT_TRUE(refused(w, [&](MwBinding& b) { b.region = no_bind; }));
    EXPECT_TRUE(refused(w, [&](MwBinding& b) { b.region = elsewhere; }));
    EXPECT_TRUE(refused(w, [&](MwBinding& b) { b.region = RKey{0}; }));
    EXPECT_TRUE(refused(w, [&](MwBinding& b) { b.region = first_; }));
    EXPECT_TRUE(refused(w, [&](MwBinding& b) { b.region = read_only, b.access = kAccessRemoteWrite; }));
    EXPECT_TRUE(refused(w, [&](MwBinding& b) { b.region = read_only, b.access = kAccessRemoteAtomic; }));
    EXPECT_TRUE(refused(w, [](MwBinding& b) { b.access |= 1u << 10; }));
    EXPECT_TRUE(refused(w, [](MwBinding& b) { b.window = RKey{b.window.value + (9 << 8)}; }));
    EXPECT_TRUE(refused(w, [](MwBinding& b) { b.window = RKey{}; }));
    EXPECT_TRUE(refused(
        w, [](MwBinding&) {}, kOther))
        << "a QP of another domain";
  }
  EXPECT_TRUE(refused(first_, [](MwBinding& b) { b.access |= kAccessZeroBased; }));
  EXPECT_TRUE(refused(second_, [](MwBinding& b) { b.length = 0; }));
  MwBinding b = binding(first_);
  b.region = read_only, b.access = kAccessRemoteRead;
  EXPECT_TRUE(windows_.bind(b, kQp, kPd)) << "reading needs no right to write";
}

TEST_F(MemoryWindowsTest, Type1IsBoundAnewAndUnboundByLength0) {
  ASSERT_TRUE(windows_.bind(binding(first_), kQp, kPd));
  MwBinding b = binding(first_);
  b.key = RKey{first_.value + 2}, b.addr = kIova + 50;
  ASSERT_TRUE(windows_.bind(b, kOtherQp, kPd));
  EXPECT_EQ(regions_.find(key_)->windows, 1u);
  EXPECT_FALSE(at(next(first_), kIova + 10, 1));
  EXPECT_EQ(at(RKey{first_.value + 2}, kIova + 50, 1), kAddr + 50);
  EXPECT_FALSE(windows_.invalidate(RKey{first_.value + 2}, kOtherQp)) << "type 1 is unbound by a bind only";
  b.key = RKey{first_.value + 3}, b.length = 0, b.region = RKey{};
  ASSERT_TRUE(windows_.bind(b, kQp, kPd));
  EXPECT_EQ(regions_.find(key_)->windows, 0u);
  EXPECT_FALSE(at(RKey{first_.value + 3}, kIova + 50, 0));
}

TEST_F(MemoryWindowsTest, Type2IsBoundOnceAndInvalidatedByTheQueuePairThatBoundIt) {
  EXPECT_FALSE(windows_.invalidate(second_, kQp)) << "not bound";
  ASSERT_TRUE(windows_.bind(binding(second_), kQp, kPd));
  const RKey key = next(second_);
  MwBinding again = binding(second_);
  again.window = key;
  EXPECT_FALSE(windows_.bind(again, kQp, kPd)) << "still bound";
  EXPECT_FALSE(windows_.invalidate(key, kOtherQp));
  EXPECT_FALSE(windows_.invalidate(second_, kQp)) << "the key before";
  EXPECT_FALSE(windows_.invalidate(key_, kQp)) << "a region";
  EXPECT_TRUE(at(key, kIova + 10, 1));
  EXPECT_TRUE(windows_.invalidate(key, kQp));
  EXPECT_FALSE(at(key, kIova + 10, 1));
  EXPECT_FALSE(windows_.invalidate(key, kQp)) << "once";
  EXPECT_EQ(regions_.find(key_)->windows, 0u);
  EXPECT_TRUE(windows_.bind(binding(key), kOtherQp, kPd));
  EXPECT_TRUE(at(next(key), kIova + 10, 1, kOtherQp));
}

TEST_F(MemoryWindowsTest, OneThatGoesOrWhoseQueuePairGoesIsBoundNoMore) {
  const RKey third = *windows_.add(kPd, MwType::k2);
  for (const RKey w : {first_, second_}) ASSERT_TRUE(windows_.bind(binding(w), kQp, kPd));
  ASSERT_TRUE(windows_.bind(binding(third), kOtherQp, kPd));
  windows_.forget(kQp);
  EXPECT_FALSE(at(next(second_), kIova + 10, 1));
  EXPECT_TRUE(at(next(first_), kIova + 10, 1)) << "type 1 is of no queue pair";
  EXPECT_TRUE(at(next(third), kIova + 10, 1, kOtherQp));
  EXPECT_EQ(regions_.find(key_)->windows, 2u);
  EXPECT_TRUE(windows_.remove(next(third)) && windows_.remove(first_));
  EXPECT_EQ(regions_.find(key_)->windows, 0u);
  EXPECT_FALSE(windows_.remove(first_));
  EXPECT_FALSE(at(next(first_), kIova + 10, 1));
}

// 7 bits of a window's number count how often its slot was used.
TEST_F(MemoryWindowsTest, AKeyOfAWindowThatIsGoneDoesNotComeBackSoon) {
  MemoryWindows one(regions_, 1);
  const RKey old = *one.add(kPd, MwType::k1);
  EXPECT_FALSE(one.add(kPd, MwType::k1)) << "full";
  RKey window = old;
  for (int i = 0; i < 126; ++i) {
    ASSERT_TRUE(one.remove(window));
    window = *one.add(kPd, MwType::k1);
    ASSERT_NE(window.value >> 8, old.value >> 8);
  }
}

TEST(MwBindingTest, ABindKeepsWhatItSaysInARequest) {
  const MwBinding b{RKey{0x80012345},   RKey{0x77},    RKey{0x20001},
                    0x123456789abcdef0, 0x1'0000'0001, kAll | kAccessZeroBased};
  SendWqe wqe;
  set_binding(wqe, b);
  EXPECT_EQ(binding_of(wqe), b);
}

}  // namespace
}  // namespace rocelab
