// P4QCN in the switch: which frames draw feedback, whom it goes to, and what is refused.
#include "base/wire/p4qcn_fbp.h"
#include "ovs_patches/switch_model/headroom.h"
#include "ovs_patches/switch_model/mechanisms/p4qcn.h"
#include "ovs_patches/switch_model/test_feedback.h"

namespace rocelab {
namespace {

using namespace switch_test;
using FbpBench = FeedbackBench<P4qcnFbp>;

SwitchConfig config_of(P4qcnParams params = {}) {
  params.enabled = true;
  SwitchConfig config = feedback_config();
  config.mechanisms.of<P4qcnMechanism>() = params;
  return config;
}

// Two hosts at line rate: each pair of frames leaves one in the queue. Of pair k the first finds k - 2 there
// (the one that is being sent is not counted), the second one more.
TEST(SwitchP4qcnTest, TheFrameThatFindsTheThresholdDrawsFeedbackToItsSource) {
  FbpBench b(config_of({.gap = 0_us}));
  b.stream(0, 40, at(0_us));
  b.stream(1, 40, at(1_ns));
  b.run_until(at(1_ms));
  ASSERT_FALSE(b.sent.empty());
  const FbpBench::Sent& first = b.sent.front();
  EXPECT_EQ(first.body.depth, 11u);
  EXPECT_EQ(first.body.cp, kCpNetwork + 1 + FbpBench::kSink) << "the congested port";
  EXPECT_EQ(first.from, NodeId{FbpBench::kSink});
  EXPECT_EQ(first.dscp, 48);
  std::uint64_t told = 0;
  for (const FbpBench::Sent& each : b.sent) {
    EXPECT_GE(each.body.depth, 11u);
    EXPECT_EQ(each.to, NodeId{static_cast<std::uint16_t>(each.port)}) << "by the way that its frames came";
    EXPECT_EQ(each.body.dest, (Qpn{static_cast<std::uint32_t>(100 + each.port)}));
    ++told;
  }
  EXPECT_EQ(b.counter(FbpBench::kSink, "p4qcn_feedback"), told);
  EXPECT_EQ(b.counter(FbpBench::kSink, "p4qcn_within_gap"), 0u);
  EXPECT_EQ(b.others, 80) << "the data goes on";
}

TEST(SwitchP4qcnTest, WithinTheGapAFlowIsToldOnce) {
  FbpBench b(config_of({.gap = 1_ms}));
  b.stream(0, 40, at(0_us));
  b.stream(1, 40, at(1_ns));
  b.run_until(at(1_ms));
  EXPECT_EQ(b.sent.size(), 2u);
  EXPECT_EQ(b.counter(FbpBench::kSink, "p4qcn_feedback"), 2u);
  EXPECT_GT(b.counter(FbpBench::kSink, "p4qcn_within_gap"), 10u);
}

// Two queue pairs of each of two hosts: the paper's flows are pairs of addresses.
TEST(SwitchP4qcnTest, TheGapMayBeThatOfTwoHosts) {
  for (const P4qcnFlow flow : {P4qcnFlow::kConnection, P4qcnFlow::kHosts}) {
    FbpBench b(config_of({.gap = 1_ms, .flow = flow}));
    for (int i = 0; i < 40; ++i)
      for (const int in : {0, 1}) {
        PacketRef packet = b.frame(in);
        packet->roce.dest = Qpn{static_cast<std::uint32_t>(100 + i % 2)};
        b.arrive(std::move(packet), in, at(FbpBench::gap() * (i + 1)));
      }
    b.run_until(at(1_ms));
    EXPECT_EQ(b.sent.size(), flow == P4qcnFlow::kHosts ? 2u : 4u);
  }
}

TEST(SwitchP4qcnTest, FlowsThatAreForgottenTooEarlyAreCounted) {
  FbpBench b(config_of({.gap = 1_ms, .flows = 1}));
  b.stream(0, 40, at(0_us));
  b.stream(1, 40, at(1_ns));
  b.run_until(at(1_ms));
  EXPECT_GT(b.sent.size(), 10u);
  EXPECT_EQ(b.counter(FbpBench::kSink, "p4qcn_flows_evicted"), b.sent.size() - 1);
}

// Acknowledgements, notifications and feedback stand in queues, too.
TEST(SwitchP4qcnTest, OnlyDataWithPayloadDrawsFeedback) {
  FbpBench b(config_of({.gap = 0_us}));
  int delivered = 0;
  for (int i = 0; i < 40; ++i)
    for (const int in : {0, 1}) {
      PacketRef packet = b.frame(in);
      switch (i % 4) {
        case 0:
          packet->kind = PacketKind::kAck;
          break;
        case 1:
          packet->payload_length = 0;
          break;
        case 2:
          packet->dst = kNoNode;
          break;
        default:
          put_control(*packet, P4qcnFbp{kCpNetwork + 1, 99, Qpn{5}});
          packet->frame_length = 1098;
          packet->tc = tc(3);
      }
      if (is_feedback(packet->kind)) continue;  // a host's is dropped as forged before it would be queued
      ++delivered;
      b.arrive(std::move(packet), in, at(FbpBench::gap() * (i + 1)));
    }
  b.run_until(at(1_ms));
  EXPECT_EQ(b.others, delivered);
  EXPECT_TRUE(b.sent.empty());
}

TEST(SwitchP4qcnTest, FeedbackOfAHostIsDropped) {
  FbpBench b(config_of());
  PacketRef packet = b.pool.make();
  put_control(*packet, P4qcnFbp{kCpNetwork + 1, 99, Qpn{5}});
  b.arrive(std::move(packet), 0, at(1_us));
  b.run_until(at(1_ms));
  EXPECT_EQ(b.counters(0).drops_forged, 1u);
  EXPECT_TRUE(b.sent.empty());
}

// 4.2.4: the congestion point marks the frames for which it would send feedback, whatever the gap.
TEST(SwitchP4qcnTest, WithThreePointsTheSameFramesAreMarked) {
  const auto run = [](bool marks, Ecn ecn) {
    FbpBench b(config_of({.marks = marks, .gap = 0_us}));
    for (int i = 1; i <= 40; ++i)
      for (const int in : {0, 1}) {
        PacketRef packet = b.frame(in);
        packet->ecn = ecn;
        b.arrive(std::move(packet), in, at(1_ns * in) + FbpBench::gap() * i);
      }
    b.run_until(at(1_ms));
    return std::pair(b.sent.size(), b.counters(FbpBench::kSink).ecn_marked);
  };
  const auto [sent, unmarked] = run(false, Ecn::kEct0);
  EXPECT_GT(sent, 10u);
  EXPECT_EQ(unmarked, 0u);
  EXPECT_EQ(run(true, Ecn::kEct0), std::pair(std::size_t{0}, std::uint64_t{sent}));
  EXPECT_EQ(run(true, Ecn::kNotEct), std::pair(std::size_t{0}, std::uint64_t{0}))
      << "of no transport with ECN";
}

TEST(SwitchP4qcnTest, FeedbackMayBeAsLongAsTheFrameThatDrewIt) {
  for (const P4qcnSize size : {P4qcnSize::kHeaders, P4qcnSize::kFrame}) {
    FbpBench b(config_of({.gap = 0_us, .feedback_size = size}));
    b.stream(0, 40, at(0_us));
    b.stream(1, 40, at(1_ns));
    b.run_until(at(1_ms));
    ASSERT_FALSE(b.sent.empty());
    const std::uint32_t bytes = b.frame(0)->frame_length;
    for (const FbpBench::Sent& each : b.sent)
      EXPECT_EQ(each.body.frame_bytes(), size == P4qcnSize::kFrame ? bytes & ~1u : 60u);
  }
}

// `depth = "port"`: a frame of an idle class meets what other classes have left.
TEST(SwitchP4qcnTest, ThePortsDepthIsThatOfAllItsQueues) {
  for (const P4qcnDepth depth : {P4qcnDepth::kQueue, P4qcnDepth::kPort}) {
    FbpBench b(config_of({.frames_min = 45, .frames_max = 45, .gap = 0_us, .depth = depth}));
    b.stream(0, 60, at(0_us), 3);
    b.stream(1, 60, at(1_ns), 4);
    b.run_until(at(1_ms));
    EXPECT_EQ(b.sent.empty(), depth == P4qcnDepth::kQueue);
  }
}

// 3.2.2: Q_P4QCN = Q_PFC - Q_flight.
TEST(SwitchP4qcnTest, ByLinkTheThresholdIsXoffLessTheLinksFlight) {
  const SwitchConfig config = feedback_config();
  PortConfig link;
  const P4qcnPoint point = P4qcnMechanism::point({.count = P4qcnCount::kBytes}, config, link);
  const Bytes flight = headroom_for(link, config.longest_frame(), response_time_of(config, link));
  EXPECT_EQ(point.q_max, (thresholds_for(config, link).xoff - flight).count());
  EXPECT_EQ(point.q_min, point.q_max);
  const P4qcnPoint given =
      P4qcnMechanism::point({.count = P4qcnCount::kBytes, .q_min = 5_KB, .q_max = 200_KB}, config, link);
  EXPECT_EQ(given.q_min, 5'000);
  EXPECT_EQ(given.q_max, 200'000);
  SwitchConfig small = config;
  small.ingress_buffer = 40_KB;
  EXPECT_EQ(P4qcnMechanism::point({.count = P4qcnCount::kBytes}, small, link).q_max,
            (thresholds_for(small, link).xoff / 2).count())
      << "where the flight leaves less";
}

TEST(SwitchP4qcnTest, WhatCannotWorkIsRefused) {
  const std::vector<PortConfig> ports = FbpBench::ports();
  EXPECT_EQ(problem_of(config_of(), ports), "");
  EXPECT_NE(problem_of(config_of({.dscp = 24}), ports).find("lossless class 3"), std::string::npos);
  SwitchConfig small = config_of({.count = P4qcnCount::kBytes});
  small.ingress_buffer = 40_KB;
  EXPECT_EQ(problem_of(small, ports), "");
  EXPECT_NE(problem_of(config_of({.count = P4qcnCount::kBytes, .q_min = 899_KB}), ports), "");
  EXPECT_EQ(P4qcnMechanism::problem_of({.frames_min = 12})->key, "frames_min");
  EXPECT_EQ(P4qcnMechanism::problem_of({.q_min = 2_KB, .q_max = 1_KB})->key, "q_min");
  EXPECT_FALSE(P4qcnMechanism::problem_of({.q_min = 2_KB}));
}

}  // namespace
}  // namespace rocelab
