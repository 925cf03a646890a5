#include "ovs_patches/switch_model/shared_memory.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

constexpr PortId kA{0}, kB{1}, kC{2}, kD{3};
constexpr Tc kOne{1}, kTwo{2};

SharedMemoryParams paper() { return {}; }

// 8 KB of its own and 80 of the pool.
TEST(SharedMemoryTest, AQueueHoldsItsOwnAndItsShareOfThePool) {
  SharedMemory memory(paper(), 4);
  memory.hold(kA, kOne, 8_KB);
  EXPECT_EQ(memory.pool_used(), 0_B);
  EXPECT_EQ(memory.exceeds(kA, kOne, 80_KB), std::nullopt);
  EXPECT_EQ(memory.exceeds(kA, kOne, 80_KB + 1_B), MemoryLimit::kQueue);
  memory.hold(kA, kOne, 80_KB);
  EXPECT_EQ(memory.pool_used(), 80_KB);
  EXPECT_EQ(memory.exceeds(kA, kOne, 1_B), MemoryLimit::kQueue);
}

TEST(SharedMemoryTest, QueuesOfAPortShareWhatThePortMayHave) {
  SharedMemory memory(paper(), 4);
  memory.hold(kA, kOne, 88_KB);
  EXPECT_EQ(memory.exceeds(kA, kTwo, 28_KB), std::nullopt) << "8 of its own, 20 of the pool";
  EXPECT_EQ(memory.exceeds(kA, kTwo, 28_KB + 1_B), MemoryLimit::kPort);
  EXPECT_EQ(memory.exceeds(kB, kTwo, 88_KB), std::nullopt) << "another port has its own share";
}

TEST(SharedMemoryTest, PortsShareThePool) {
  SharedMemory memory(paper(), 4);
  for (const PortId port : {kA, kB, kC}) memory.hold(port, kOne, 88_KB), memory.hold(port, kTwo, 28_KB);
  EXPECT_EQ(memory.pool_used(), 300_KB);
  EXPECT_EQ(memory.exceeds(kD, kOne, 58_KB), std::nullopt);
  EXPECT_EQ(memory.exceeds(kD, kOne, 58_KB + 1_B), MemoryLimit::kPool);
  memory.release(kB, kOne, 30_KB);
  EXPECT_EQ(memory.exceeds(kD, kOne, 88_KB), std::nullopt);
}

// What a queue has of its own is never part of what others may have, and is there although the pool is empty.
TEST(SharedMemoryTest, AnEmptyPoolLeavesAQueueItsOwn) {
  SharedMemory memory({true, 8_KB, 10_KB, 10_KB, 10_KB}, 4);
  memory.hold(kA, kOne, 18_KB);
  EXPECT_EQ(memory.exceeds(kB, kOne, 8_KB), std::nullopt);
  EXPECT_EQ(memory.exceeds(kB, kOne, 8_KB + 1_B), MemoryLimit::kPool);
  EXPECT_EQ(memory.exceeds(kA, kTwo, 8_KB), std::nullopt);
  EXPECT_EQ(memory.exceeds(kA, kTwo, 8_KB + 1_B), MemoryLimit::kPort);
}

// The last frames in a queue are in its own memory: the pool is free before the queue is empty.
TEST(SharedMemoryTest, ThePoolIsGivenBackFirst) {
  SharedMemory memory(paper(), 1);
  for (int i = 0; i < 12; ++i) memory.hold(kA, kOne, 1_KB);
  EXPECT_EQ(memory.pool_used(), 4_KB);
  for (int i = 0; i < 4; ++i) memory.release(kA, kOne, 1_KB);
  EXPECT_EQ(memory.pool_used(), 0_B);
  EXPECT_EQ(memory.of_port(kA), 0_B);
  EXPECT_EQ(memory.held(kA, kOne), 8_KB);
}

}  // namespace
}  // namespace rocelab
