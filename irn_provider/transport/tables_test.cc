// Handles, memory regions, scatter and gather, WQE lookup by PSN.
#include <gtest/gtest.h>

#include <set>

#include "irn_provider/transport/memory_regions.h"
#include "irn_provider/transport/payload.h"
#include "irn_provider/transport/send_queue.h"

namespace rocelab {
namespace {

TEST(RingTest, KeepsOrderWhileItGrowsAndWraps) {
  Ring<int> ring;
  int in = 0, out = 0;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 7; ++i) ring.push_back(in++);
    for (int i = 0; i < 5; ++i) ASSERT_EQ(ring.take_front(), out++);
  }
  EXPECT_EQ(ring.size(), 200u);
  EXPECT_EQ(ring.front(), out);
  EXPECT_EQ(ring.back(), in - 1);
  EXPECT_EQ(ring[3], out + 3);
}

TEST(HandleTableTest, AStaleHandleFindsNothingAndHandlesAreNotReusedSoon) {
  HandleTable<int> table(3);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 70'000; ++i) {
    const auto handle = table.add(i);
    ASSERT_TRUE(handle);
    EXPECT_NE(*handle, 0u);
    ASSERT_EQ(*table.find(*handle), i);
    ASSERT_TRUE(seen.insert(*handle).second) << i;
    ASSERT_TRUE(table.remove(*handle));
    ASSERT_EQ(table.find(*handle), nullptr);
    ASSERT_FALSE(table.remove(*handle));
  }
}

TEST(HandleTableTest, IsFullAtItsCapacity) {
  HandleTable<int> table(2);
  EXPECT_TRUE(table.add(1) && table.add(2));
  EXPECT_FALSE(table.add(3));
}

class MemoryRegionsTest : public testing::Test {
 protected:
  static constexpr Pdn kPd{1}, kOther{2};
  MemoryRegions regions_{10};
  // 100 bytes at address 5000 that keys call 0x1000.
  RKey key_ = *regions_.add({kPd, 5000, 0x1000, 100, kAccessLocalWrite | kAccessRemoteRead});
};

TEST_F(MemoryRegionsTest, TranslatesWhatLiesInside) {
  EXPECT_EQ(regions_.translate(key_, kPd, 0x1000, 100, kAccessRemoteRead), 5000u);
  EXPECT_EQ(regions_.translate(key_, kPd, 0x1000 + 99, 1, kAccessLocalWrite), 5099u);
  EXPECT_EQ(regions_.translate(key_, kPd, 0x1000 + 100, 0, 0), 5100u);
}

TEST_F(MemoryRegionsTest, RefusesEverythingElse) {
  EXPECT_FALSE(regions_.translate(key_, kPd, 0x1000, 101, 0));
  EXPECT_FALSE(regions_.translate(key_, kPd, 0x1000 + 100, 1, 0));
  EXPECT_FALSE(regions_.translate(key_, kPd, 0xfff, 1, 0));
  EXPECT_FALSE(regions_.translate(key_, kPd, ~0ull, 2, 0));
  EXPECT_FALSE(regions_.translate(key_, kPd, 0x1000 + 50, ~0ull - 10, 0));
  EXPECT_FALSE(regions_.translate(key_, kOther, 0x1000, 1, 0));
  EXPECT_FALSE(regions_.translate(key_, kPd, 0x1000, 1, kAccessRemoteWrite));
  EXPECT_FALSE(regions_.translate(RKey{key_.value + 1}, kPd, 0x1000, 1, 0));
  EXPECT_TRUE(regions_.remove(key_));
  EXPECT_FALSE(regions_.translate(key_, kPd, 0x1000, 1, 0));
  EXPECT_FALSE(regions_.add({kPd, 0, ~0ull - 5, 100, 0}));  // would wrap
}

TEST(PayloadTest, PlacesAndGathersAcrossPieces) {
  std::vector<std::byte> program(100), wire(30), back(30);
  for (std::size_t i = 0; i < wire.size(); ++i) wire[i] = static_cast<std::byte>(i + 1);
  const auto base = reinterpret_cast<std::uint64_t>(program.data());
  MemoryRegions regions(4);
  const RKey key = *regions.add({Pdn{1}, base, base, 100, kAccessLocalWrite});
  ProcessMemory memory;
  const MemoryView view{regions, memory, Pdn{1}};
  const std::array<Sge, 3> list = {Sge{base + 50, 10, key}, Sge{base + 5, 0, key}, Sge{base, 25, key}};
  EXPECT_EQ(place(view, list, 5, wire.data(), 30), PlaceResult::kOk);
  EXPECT_EQ(program[55], std::byte{1});
  EXPECT_EQ(program[59], std::byte{5});
  EXPECT_EQ(program[0], std::byte{6});
  EXPECT_EQ(program[24], std::byte{30});
  EXPECT_EQ(program[60], std::byte{0});
  EXPECT_EQ(place(view, list, 6, wire.data(), 30), PlaceResult::kTooLong);
  ASSERT_TRUE(gather(view, PayloadSource{list.data(), 3, false, {}, 0, 5, nullptr}, back));
  EXPECT_EQ(back, wire);
  regions.remove(key);
  EXPECT_EQ(place(view, list, 0, wire.data(), 1), PlaceResult::kProtection);
  EXPECT_FALSE(gather(view, PayloadSource{list.data(), 3, false, {}, 0, 0, nullptr}, back));
  EXPECT_TRUE(gather(view, PayloadSource{list.data(), 3, true, {}, 0, 5, nullptr}, back));  // inline
}

TEST(SendQueueTest, FindsTheWqeOfAnyPsn) {
  SendQueue queue;
  queue.start(1000);
  std::vector<UnwrappedPsn> owner;  // first PSN of the WQE of 1000 + i
  for (int i = 0; i < 200; ++i) {
    const int packets = 1 + i % 5;
    queue.push(SendWqe{}, 0, packets);
    for (int k = 0; k < packets; ++k) owner.push_back(queue.end() - packets);
  }
  std::uint64_t state = 1;
  UnwrappedPsn front = 1000;
  for (int step = 0; step < 2000; ++step) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    if (step % 20 == 19) {
      front = queue.front().end;
      queue.pop_front();
    }
    const auto psn =
        front + static_cast<UnwrappedPsn>((state >> 33) % static_cast<std::uint64_t>(queue.end() - front));
    ASSERT_EQ(queue.find(psn).first, owner[static_cast<std::size_t>(psn - 1000)]);
  }
}

}  // namespace
}  // namespace rocelab
