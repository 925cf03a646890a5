#include "ovs_patches/switch_model/switch_policy.h"

#include <gtest/gtest.h>

#include "ovs_patches/switch_model/policy/test_programs.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using Nodes = std::vector<std::uint32_t>;

class SwitchPolicyTest : public testing::Test {
 protected:
  std::shared_ptr<const PolicyProgram> lifo() {
    ProgramMaker maker(1, 1, 1000);
    maker.made.queues[0].service.kind = PolicyOrder::Kind::kNewest;
    return std::make_shared<PolicyProgram>(maker.made);
  }
  std::shared_ptr<const PolicyProgram> fifo(std::int64_t size = 1000) {
    return std::make_shared<PolicyProgram>(ProgramMaker(1, 1, size).made);
  }
  std::vector<std::uint32_t> drain_all(SwitchPolicy& policy) {
    std::vector<std::uint32_t> order;
    while (const auto node = policy.pick(PortId{0}, 0, now_)) {
      policy.leave(*node, 0, now_, outcome_);
      order.push_back(*node);
    }
    return order;
  }
  static PolicyPacket frame() {
    PolicyPacket packet;
    packet.size = 100;
    return packet;
  }
  Time now_ = Time::zero() + 5_us;
  PolicyOutcome outcome_;
  Rng rng_{1};
};

TEST_F(SwitchPolicyTest, FramesLeaveByThePolicyThatAdmittedThem) {
  SwitchPolicy policy(lifo(), rng_);
  for (std::uint32_t node = 0; node < 3; ++node) policy.arrive(node, frame(), now_, outcome_);
  EXPECT_EQ(policy.change({now_, fifo(), false}, now_), 0u);
  EXPECT_EQ(policy.draining(), 1u);
  for (std::uint32_t node = 3; node < 6; ++node) policy.arrive(node, frame(), now_, outcome_);
  EXPECT_EQ(drain_all(policy), (Nodes{2, 1, 0, 3, 4, 5}));
  EXPECT_EQ(policy.draining(), 0u);
}

TEST_F(SwitchPolicyTest, RequeuedFramesJoinTheNewPolicy) {
  SwitchPolicy policy(lifo(), rng_);
  for (std::uint32_t node = 0; node < 3; ++node) policy.arrive(node, frame(), now_, outcome_);
  EXPECT_EQ(policy.change({now_, fifo(250), true}, now_), 3u) << "beyond its size: nothing is dropped";
  EXPECT_EQ(policy.draining(), 0u);
  policy.arrive(3, frame(), now_, outcome_);
  EXPECT_TRUE(outcome_.refused);
  EXPECT_EQ(drain_all(policy), (Nodes{0, 1, 2}));
}

TEST_F(SwitchPolicyTest, NoMoreThanThreePoliciesDrain) {
  SwitchPolicy policy(fifo(), rng_);
  policy.arrive(0, frame(), now_, outcome_);
  for (std::uint32_t n = 1; n <= SwitchPolicy::kMostDraining; ++n) {
    EXPECT_EQ(policy.change({now_, fifo(), false}, now_), 0u);
    policy.arrive(n, frame(), now_, outcome_);
  }
  EXPECT_EQ(policy.change({now_, fifo(), false}, now_), 1u) << "the oldest joins its successor";
  EXPECT_EQ(policy.draining(), SwitchPolicy::kMostDraining);
  EXPECT_EQ(drain_all(policy), (Nodes{1, 0, 2, 3}));
}

TEST_F(SwitchPolicyTest, WhatAnOlderPolicyHoldsTakesRoomInTheNewOnesBuffer) {
  SwitchPolicy policy(fifo(), rng_);
  for (std::uint32_t node = 0; node < 3; ++node) policy.arrive(node, frame(), now_, outcome_);
  ProgramMaker maker(1, 1, 1000);
  PolicyBuffer& buffer = maker.made.buffers.emplace_back();
  buffer.size = 400;
  buffer.queues = {0};
  maker.made.queues[0].buffer = 0;
  policy.change({now_, std::make_shared<PolicyProgram>(maker.made), false}, now_);
  policy.arrive(3, frame(), now_, outcome_);
  EXPECT_FALSE(outcome_.refused);
  policy.arrive(4, frame(), now_, outcome_);
  EXPECT_TRUE(outcome_.refused) << "four frames of 100 bytes wait";
  EXPECT_EQ(drain_all(policy), (Nodes{0, 1, 2, 3}));
  for (std::uint32_t node = 5; node < 9; ++node) {
    policy.arrive(node, frame(), now_, outcome_);
    EXPECT_FALSE(outcome_.refused) << node;
  }
}

// Time does not run ahead to a change that nothing waits for, and what is loaded by hand holds at once.
TEST_F(SwitchPolicyTest, AnIdleSwitchChangesBeforeItsNextEvent) {
  SwitchConfig config;
  config.pfc.enabled = false;
  switch_test::Bench bench(config, std::vector<PortConfig>(2));
  const auto program = std::make_shared<PolicyProgram>(ProgramMaker(2, 1, 100'000).made);
  const Time change = Time::zero() + 5_us;
  bench.node.set_policies({{Time::zero(), program}, {change, program}});
  EXPECT_TRUE(bench.node.next_event().is_never());
  bench.send(0, 1, Time::zero() + 7_us, 1000_B, 0);
  bench.run_until(Time::zero() + 20_us);
  const SwitchPolicy& policy = *bench.node.model().policy();
  ASSERT_EQ(policy.history().size(), 2u);
  EXPECT_EQ(policy.history()[1].at, change);
  EXPECT_EQ(bench.sent.size(), 1u);
  bench.node.add_policy({Time::zero() + 20_us, program, false, true});
  ASSERT_EQ(policy.history().size(), 3u);
  EXPECT_TRUE(policy.history()[2].by_hand);
}

}  // namespace
}  // namespace rocelab
