// BFC's law at a port: which queue a flow gets and for how long, when a frame is a reason for a pause, and
// which queues of the upstream end are to be paused.
#include "ovs_patches/switch_model/bfc_port.h"

#include <gtest/gtest.h>

#include <set>

namespace rocelab {
namespace {

constexpr Time at(Duration d) { return Time::zero() + d; }
constexpr Bytes kFrame = 1'000_B;

BfcLaw law(std::uint32_t queues) {
  BfcLaw law;
  law.queues = queues;
  law.hysteresis = 6_us;
  law.pause_bytes = 12'000_B;
  return law;
}
BfcQueues paused(std::initializer_list<std::size_t> numbers) {
  BfcQueues queues;
  for (const std::size_t number : numbers) queues.set(number, true);
  return queues;
}

TEST(BfcEgressTest, FlowsGetQueuesOfTheirOwnWhileThereAreEmptyOnes) {
  BfcEgress port(law(8), Rng(1));
  std::set<int> queues;
  for (std::uint64_t flow = 1; flow <= 8; ++flow) queues.insert(port.on_joined(flow, kFrame, at(1_us)).queue);
  EXPECT_EQ(queues.size(), 8u);
  EXPECT_EQ(port.shared_queues(), 0u);
  EXPECT_LT(port.on_joined(9, kFrame, at(1_us)).queue, 8);
  EXPECT_EQ(port.shared_queues(), 1u) << "the ninth shares one";
}

TEST(BfcEgressTest, AFlowKeepsItsQueueWhileItHasFramesAndForTheHysteresis) {
  BfcEgress port(law(32), Rng(1));
  const int queue = port.on_joined(5, kFrame, at(1_us)).queue;
  EXPECT_EQ(port.on_joined(5, kFrame, at(1_ms)).queue, queue) << "a frame has waited all the time";
  for (int i = 0; i < 2; ++i) port.on_left(5, static_cast<std::uint8_t>(queue), kFrame, at(2_ms));
  EXPECT_EQ(port.on_joined(5, kFrame, at(2_ms) + 6_us).queue, queue) << "the last one has left just now";
}

TEST(BfcEgressTest, BeyondTheHysteresisAFlowGetsAQueueAnew) {
  BfcEgress port(law(32), Rng(1));
  std::set<int> queues;
  Time now = at(1_us);
  for (int i = 0; i < 20; ++i) {
    const std::uint8_t queue = port.on_joined(5, kFrame, now).queue;
    queues.insert(queue);
    port.on_left(5, queue, kFrame, now);
    now = now + 6_us + 1_ps;
  }
  EXPECT_GT(queues.size(), 5u) << "the search begins at a random one";
}

TEST(BfcEgressTest, AnEmptyQueueThatIsPausedIsGivenToNobody) {
  BfcEgress port(law(4), Rng(1));
  EXPECT_EQ(port.set_paused(paused({0, 1, 3, 4, 200})), 0b1011u) << "a port has no others";
  EXPECT_EQ(port.on_joined(1, kFrame, at(1_us)).queue, 2);
  EXPECT_EQ(port.set_paused(paused({0, 3})), 0b0010u);
  EXPECT_EQ(port.on_joined(2, kFrame, at(1_us)).queue, 1);
  port.on_joined(3, kFrame, at(1_us));
  EXPECT_EQ(port.shared_queues(), 1u) << "what is left is paused: a random queue";
}

// 12 KB for one queue, and an equal part for each of those that share the link.
TEST(BfcEgressTest, TheThresholdIsSharedByQueuesThatAreNeitherEmptyNorPaused) {
  BfcEgress port(law(8), Rng(1));
  EXPECT_EQ(port.threshold(), 12'000_B) << "at least one is counted";
  std::array<std::uint8_t, 4> queues{};
  for (std::uint64_t flow = 0; flow < 4; ++flow)
    queues[flow] = port.on_joined(flow + 1, kFrame, at(1_us)).queue;
  EXPECT_EQ(port.threshold(), 3'000_B);
  port.set_paused(paused({queues[0]}));
  EXPECT_EQ(port.threshold(), 4'000_B);
  port.on_left(2, queues[1], kFrame, at(2_us));
  EXPECT_EQ(port.threshold(), 6'000_B);
}

TEST(BfcEgressTest, AFrameThatMakesItsQueueLongerThanTheThresholdPauses) {
  BfcEgress port(law(8), Rng(1));
  int frames = 0;
  while (!port.on_joined(1, kFrame, at(1_us)).pauses) ++frames;
  EXPECT_EQ(frames, 12) << "the thirteenth: 13 KB are more than 12 KB";
}

TEST(BfcEgressTest, TheFirstFrameOfAFlowNeverPausesHoweverLongTheQueueIs) {
  BfcEgress port(law(1), Rng(1));
  for (int i = 0; i < 20; ++i) port.on_joined(1, kFrame, at(1_us));
  EXPECT_FALSE(port.on_joined(2, kFrame, at(1_us)).pauses);
  EXPECT_TRUE(port.on_joined(2, kFrame, at(1_us)).pauses);
}

TEST(BfcEgressTest, SendsOnlyFromQueuesThatAreNotPaused) {
  BfcEgress port(law(8), Rng(1));
  EXPECT_FALSE(port.may_send());
  const std::uint8_t queue = port.on_joined(1, kFrame, at(1_us)).queue;
  EXPECT_TRUE(port.may_send());
  port.set_paused(paused({queue}));
  EXPECT_FALSE(port.may_send());
  port.on_joined(2, kFrame, at(1_us));
  EXPECT_TRUE(port.may_send()) << "the other flow has another queue";
}

TEST(BfcEgressTest, FlowsOfOneEntryShareItsQueue) {
  BfcLaw one = law(32);
  one.flows = 1;
  BfcEgress port(one, Rng(1));
  EXPECT_EQ(port.on_joined(1, kFrame, at(1_us)).queue, port.on_joined(77, kFrame, at(1_us)).queue);
}

TEST(BfcIngressTest, AQueueIsPausedWhileAnyFrameIsAReason) {
  BfcIngress port;
  EXPECT_FALSE(port.changed());
  port.add(200);
  port.add(200);
  EXPECT_TRUE(port.changed());
  EXPECT_TRUE(port.wanted().has(200));
  port.told();
  EXPECT_FALSE(port.changed());
  EXPECT_FALSE(port.remove(200)) << "another one is left";
  EXPECT_TRUE(port.remove(200));
  EXPECT_TRUE(port.changed());
  EXPECT_EQ(port.wanted(), BfcQueues());
}

TEST(BfcIngressTest, WhatChangedAndChangedBackIsNothingNew) {
  BfcIngress port;
  port.add(7);
  EXPECT_TRUE(port.remove(7));
  EXPECT_FALSE(port.changed());
}

}  // namespace
}  // namespace rocelab
