#include "ovs_patches/switch_model/policy/instance.h"

#include <gtest/gtest.h>

#include "ovs_patches/switch_model/policy/test_programs.h"

namespace rocelab {
namespace {

using Nodes = std::vector<std::uint32_t>;

PolicyPacket frame(std::int64_t processing, std::uint32_t size = 100, std::uint16_t out = 0) {
  PolicyPacket packet;
  packet.processing = processing;
  packet.size = size;
  packet.out = PortId{out};
  return packet;
}

class PolicyInstanceTest : public testing::Test {
 protected:
  // Nodes that the arrival evicted; {node} alone: it was refused.
  std::vector<std::uint32_t> arrive(PolicyInstance& policy, std::uint32_t node, const PolicyPacket& packet) {
    policy.arrive(node, packet, now_, outcome_);
    EXPECT_EQ(policy.waits(node), !outcome_.refused);
    return outcome_.refused ? std::vector{node} : outcome_.evicted;
  }
  std::vector<std::uint32_t> drain(PolicyInstance& policy, std::uint32_t port = 0, TcMask paused = 0) {
    std::vector<std::uint32_t> order;
    while (const auto node = policy.pick(port, paused, now_)) {
      policy.leave(*node, 0, now_, outcome_);
      order.push_back(*node);
    }
    return order;
  }
  Time now_ = Time::zero() + 5_us;
  PolicyOutcome outcome_;
  Rng rng_{1};
};

TEST_F(PolicyInstanceTest, TailDropRefusesTheArrivalAndServesInOrder) {
  ProgramMaker maker(1, 1, 300);
  maker.made.queues[0].congestion = maker.tail_drop();
  maker.made.queues[0].drop.kind = PolicyOrder::Kind::kNewest;
  PolicyInstance policy(maker.made, rng_);
  for (std::uint32_t node = 0; node < 3; ++node) EXPECT_EQ(arrive(policy, node, frame(1)), Nodes{});
  EXPECT_EQ(arrive(policy, 3, frame(1)), (Nodes{3}));
  EXPECT_EQ(policy.counts(0).arrived, 4u);
  EXPECT_EQ(policy.counts(0).dropped, 1u);
  EXPECT_EQ(policy.counts(0).peak_bytes, 400u);  // the arrival is counted before it is judged
  EXPECT_EQ(drain(policy), (Nodes{0, 1, 2}));
  EXPECT_EQ(policy.frames(), 0u);
}

// The chapter's srpt and rsrpt: the shortest is served, the longest gives way, be it the arrival.
TEST_F(PolicyInstanceTest, PushOutDropsTheFirstOfTheDropOrder) {
  ProgramMaker maker(1, 1, 300);
  PolicyQueue& queue = maker.made.queues[0];
  queue.congestion = maker.tail_drop();
  queue.service = {PolicyOrder::Kind::kKey, maker.by(maker.packet(PacketField::kProcessing))};
  queue.drop = {PolicyOrder::Kind::kKey, maker.by(maker.packet(PacketField::kProcessing), true)};
  PolicyInstance policy(maker.made, rng_);
  arrive(policy, 0, frame(3));
  arrive(policy, 1, frame(1));
  arrive(policy, 2, frame(3));
  EXPECT_EQ(arrive(policy, 3, frame(2)), (Nodes{2})) << "of equals the newest gives way";
  EXPECT_EQ(arrive(policy, 4, frame(4)), (Nodes{4}));
  EXPECT_EQ(arrive(policy, 2, frame(3)), (Nodes{2})) << "a node may be used again";
  EXPECT_EQ(drain(policy), (Nodes{1, 3, 0}));
}

TEST_F(PolicyInstanceTest, ALargeArrivalEvictsSeveral) {
  ProgramMaker maker(1, 1, 300);
  PolicyQueue& queue = maker.made.queues[0];
  queue.congestion = maker.tail_drop();
  queue.drop.kind = PolicyOrder::Kind::kOldest;
  PolicyInstance policy(maker.made, rng_);
  for (std::uint32_t node = 0; node < 3; ++node) arrive(policy, node, frame(1));
  EXPECT_EQ(arrive(policy, 3, frame(1, 250)), (Nodes{0, 1, 2}));
  EXPECT_EQ(arrive(policy, 4, frame(1, 301)), (Nodes{4})) << "it would not fit into the empty queue";
}

// Without a condition the declared size still bounds what waits.
TEST_F(PolicyInstanceTest, TheDeclaredSizeIsAHardBound) {
  ProgramMaker maker(1, 1, 2);
  maker.made.queues[0].in_packets = true;
  PolicyInstance policy(maker.made, rng_);
  arrive(policy, 0, frame(1));
  arrive(policy, 1, frame(1));
  EXPECT_EQ(arrive(policy, 2, frame(1)), (Nodes{2}));
}

TEST_F(PolicyInstanceTest, ABufferTakesFromItsLongestQueue) {
  ProgramMaker maker(2, 1, 1000);
  PolicyBuffer& buffer = maker.made.buffers.emplace_back();
  buffer.size = 400;
  buffer.queues = {0, 1};
  buffer.drop_from = maker.by(maker.queue(QueueField::kBytes), true);
  const PolicyCode full =
      maker.code({{PolicyOp::kBuffer, 0, static_cast<std::uint8_t>(BufferField::kBytes), 0, kContextObject},
                  {PolicyOp::kBuffer, 1, static_cast<std::uint8_t>(BufferField::kSize), 0, kContextObject},
                  {PolicyOp::kLess, 2, 1, 0, 0}});
  buffer.congestion = {{full, {{.kind = PolicyAction::Kind::kDrop}}}};
  for (PolicyQueue& queue : maker.made.queues) {
    queue.buffer = 0;
    queue.drop.kind = PolicyOrder::Kind::kNewest;
  }
  PolicyInstance policy(maker.made, rng_);
  for (std::uint32_t node = 0; node < 4; ++node) arrive(policy, node, frame(1, 100, 0));
  EXPECT_EQ(arrive(policy, 4, frame(1, 100, 1)), (Nodes{3})) << "of another port's queue";
  EXPECT_EQ(arrive(policy, 5, frame(1, 100, 1)), (Nodes{2}));
  EXPECT_EQ(arrive(policy, 6, frame(1, 100, 1)), (Nodes{6})) << "its own queue is the longest now";
  policy.carry(PortId{0}, 100_B, 1);
  EXPECT_EQ(drain(policy, 1), (Nodes{4, 5}));
  EXPECT_EQ(arrive(policy, 7, frame(1, 100, 0)), Nodes{});
  EXPECT_EQ(arrive(policy, 8, frame(1, 100, 0)), (Nodes{8})) << "what another policy holds takes room";
}

TEST_F(PolicyInstanceTest, ATurnGivesEveryQueueItsQuantum) {
  ProgramMaker maker(1, 2, 10'000);
  PolicyTurn& turn = maker.made.turns.emplace_back();
  const auto add = [&](PolicyCode amount, PolicyOp op) {
    const PolicyInstruction load = maker.made.code[amount.first];
    PolicyAction action{.kind = PolicyAction::Kind::kModify, .of = PolicyAction::Of::kQueue};
    PolicyInstruction amount_in_1 = load;
    amount_in_1.to = 1;
    action.value = maker.code(
        {{PolicyOp::kQueue, 0, static_cast<std::uint8_t>(QueueField::kState), kSchedState, kContextObject},
         amount_in_1,
         {op, 0, 0, 1, 0}});
    return action;
  };
  turn.enter = {add(maker.queue(QueueField::kQuantum), PolicyOp::kAdd)};
  turn.after = {add(maker.packet(PacketField::kSize), PolicyOp::kSub)};
  turn.serve = maker.code(
      {{PolicyOp::kHead, 0, static_cast<std::uint8_t>(PacketField::kSize), 0, kContextObject},
       {PolicyOp::kQueue, 1, static_cast<std::uint8_t>(QueueField::kState), kSchedState, kContextObject},
       {PolicyOp::kLessEqual, 2, 0, 1, 0}});
  maker.made.queues[0].quantum = 200;
  maker.made.queues[1].quantum = 100;
  maker.made.ports[0].schedule.turn = 0;
  maker.made.select[0].cases[0].index = maker.packet(PacketField::kClass);
  PolicyInstance policy(maker.made, rng_);
  for (std::uint32_t node = 0; node < 8; ++node) {
    PolicyPacket packet = frame(1);
    packet.tc = Tc{static_cast<std::uint8_t>(node % 2)};
    arrive(policy, node, packet);
  }
  EXPECT_EQ(drain(policy), (Nodes{1, 0, 2, 3, 4, 6, 5, 7}));
}

TEST_F(PolicyInstanceTest, APausedLosslessClassWaits) {
  ProgramMaker maker(1, 2, 1000);
  maker.made.queues[1].lossless = true;
  maker.made.queues[1].takes = bit_of(Tc{3});
  maker.made.ports[0].schedule.order = maker.by(maker.queue(QueueField::kIndex), true);
  maker.made.select[0].cases[0].index = maker.packet(PacketField::kIn);
  PolicyInstance policy(maker.made, rng_);
  for (std::uint32_t node = 0; node < 4; ++node) {
    PolicyPacket packet = frame(1);
    packet.in = PortId{static_cast<std::uint16_t>(node % 2)};
    packet.tc = Tc{packet.in.value == 1 ? std::uint8_t{3} : std::uint8_t{0}};
    arrive(policy, node, packet);
  }
  EXPECT_EQ(drain(policy, 0, bit_of(Tc{3})), (Nodes{0, 2}));
  EXPECT_EQ(drain(policy), (Nodes{1, 3}));
}

}  // namespace
}  // namespace rocelab
