#include "base/packet.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <utility>
#include <vector>

namespace rocelab {
namespace {

TEST(PacketPoolTest, AReturnedPacketIsReusedAndComesCleared) {
  PacketPool pool;
  PacketRef first = pool.make();
  Packet* address = &*first;
  first->payload_length = 99;
  first->roce.psn = Psn(7);
  first.reset();
  EXPECT_FALSE(first);
  PacketRef second = pool.make();
  EXPECT_EQ(&*second, address);
  EXPECT_EQ(second->payload_length, 0u);
  EXPECT_EQ(second->roce, RoceHeaders{});
}

TEST(PacketPoolTest, InUseCountsWhatIsHeld) {
  PacketPool pool;
  EXPECT_EQ(pool.in_use(), 0u);
  std::vector<PacketRef> held;
  for (std::size_t i = 1; i <= 1000; ++i) {
    held.push_back(pool.make());
    ASSERT_EQ(pool.in_use(), i);
  }
  std::set<Packet*> distinct;
  for (const PacketRef& packet : held) distinct.insert(&*packet);
  EXPECT_EQ(distinct.size(), 1000u);
  held.resize(10);
  EXPECT_EQ(pool.in_use(), 10u);
  held.clear();
  EXPECT_EQ(pool.in_use(), 0u);
}

TEST(PacketPoolTest, LargePoolsGrowByBlocksThatTheirDriverIsToldOf) {
  static std::vector<std::pair<std::uintptr_t, std::size_t>> told;
  told.clear();
  constexpr std::size_t kPackets = 60'000;  // 7.7 MB: 2 MiB in small blocks, the rest in three large ones
  {
    PacketPool pool([](void* memory, std::size_t bytes) {
      std::memset(memory, 0xa5, bytes);  // it is all the pool's, and it is not used yet
      told.emplace_back(reinterpret_cast<std::uintptr_t>(memory), bytes);
    });
    std::vector<PacketRef> held;
    std::set<Packet*> distinct;
    for (std::size_t i = 0; i < kPackets; ++i) {
      held.push_back(pool.make());
      ASSERT_EQ(held.back()->roce, RoceHeaders{});
      distinct.insert(&*held.back());
    }
    EXPECT_EQ(distinct.size(), kPackets);
    held.clear();
    EXPECT_EQ(pool.in_use(), 0u);
    for (std::size_t i = 0; i < kPackets; ++i) held.push_back(pool.make());
    EXPECT_EQ(told.size(), 3u) << "what was given back is used again";
  }
  for (const auto& [address, bytes] : told) {
    EXPECT_EQ(bytes, std::size_t{1} << 21);
    EXPECT_EQ(address % bytes, 0u);
  }
}

TEST(PacketRefTest, MovingHandsTheOnlyReferenceOn) {
  PacketPool pool;
  PacketRef a = pool.make();
  a->payload_length = 5;
  PacketRef b = std::move(a);
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): null after a move is the contract
  EXPECT_EQ(b->payload_length, 5u);
  EXPECT_EQ(pool.in_use(), 1u);
  b = pool.make();  // gives the first one back
  EXPECT_EQ(pool.in_use(), 1u);
  PacketRef& alias = b;
  b = std::move(alias);
  EXPECT_TRUE(b);
  EXPECT_EQ(pool.in_use(), 1u);
}

TEST(PacketPoolTest, ACloneIsAnIndependentCopy) {
  PacketPool pool;
  PacketRef original = pool.make();
  original->roce.psn = Psn(0xfffff0);
  original->frame_length = 1098;
  PacketRef copy = pool.clone(*original);
  EXPECT_EQ(copy->roce, original->roce);
  EXPECT_EQ(copy->frame(), 1098_B);
  copy->roce.psn = Psn(1);
  EXPECT_EQ(original->roce.psn, Psn(0xfffff0));
  EXPECT_EQ(pool.in_use(), 2u);
}

}  // namespace
}  // namespace rocelab
