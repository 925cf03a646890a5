// BFC in the switch: queues by flow in turn, whom a long queue pauses and when, and how a switch obeys pauses
// of its own queues.
#include "base/bfc.h"
#include "ovs_patches/switch_model/mechanisms/bfc.h"
#include "ovs_patches/switch_model/mechanisms/slack.h"
#include "ovs_patches/switch_model/mechanisms/telemetry.h"
#include "ovs_patches/switch_model/network_facts.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

constexpr Bytes kFrame = 1098_B;
const Duration kGap = wire_time(kFrame, 40_Gbps);

SwitchConfig config_on(bool lossless) {
  SwitchConfig config;
  config.max_frame = kFrame;
  config.ingress_buffer = config.egress_limit = 4_MB;
  config.pfc.enabled = lossless;
  config.mechanisms.of<BfcMechanism>().enabled = true;
  return config;
}

struct BfcBench {
  explicit BfcBench(bool lossless = false) : BfcBench(config_on(lossless)) {}
  explicit BfcBench(const SwitchConfig& config)
      : node{config, std::vector<PortConfig>(4), Rng(1), pool, trace} {}
  struct Left {
    int port;
    Time at;
    std::uint32_t flow, psn;
    std::optional<int> queue;
    std::optional<BfcPause> pause;
  };
  // `queue`: at the upstream end; none: the frame names none.
  void send(Time due, std::uint32_t flow, std::uint32_t psn, std::optional<int> queue, int in = 0,
            int traffic_class = 3) {
    PacketRef packet = make_packet(pool, kFrame, traffic_class, flow, psn);
    packet->roce.dest = Qpn{flow};
    if (queue) put_bfc_queue(*packet, static_cast<std::uint8_t>(*queue));
    const PortId outs[] = {port(3)};
    node.deliver(port(in), outs, std::move(packet), due);
  }
  void pause(Time due, std::initializer_list<int> queues, int traffic_class = 3) {
    BfcPause body{tc(traffic_class), {}};
    for (const int queue : queues) body.queues.set(static_cast<std::size_t>(queue), true);
    PacketRef packet = pool.make();
    put_control(*packet, body);
    node.deliver(port(3), {}, std::move(packet), due);
  }
  void run(Time limit = Time::never()) {
    node.run_until(limit, [&](PortId p, PacketRef packet, Time departed, Time) {
      Left l{p.value, departed, packet->flow, packet->roce.psn.value(), {}, {}};
      if (packet->roce.has_bfc) l.queue = packet->roce.bfc_queue;
      if (packet->kind == kind_of<BfcPause>) l.pause = control_of<BfcPause>(*packet), l.queue.reset();
      left.push_back(l);
    });
  }
  std::vector<Left> by(int p) const {
    std::vector<Left> found;
    for (const Left& l : left)
      if (l.port == p) found.push_back(l);
    return found;
  }
  std::uint64_t counter(std::string_view name, int p) const {
    const auto names = mechanism_counter_names();
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return node.model().counters(port(p), Time::zero()).of_mechanisms[i];
    ADD_FAILURE() << name << " is no counter";
    return 0;
  }
  PacketPool pool;
  TraceLog trace;
  SwitchNode node;
  std::vector<Left> left;
};

TEST(SwitchBfcTest, FlowsShareTheLinkFrameByFrameAndNameTheirQueues) {
  BfcBench b;
  for (std::uint32_t psn = 0; psn < 4; ++psn) b.send(at(1_us), 1, psn, 200, 0);
  for (std::uint32_t psn = 0; psn < 4; ++psn) b.send(at(1_us), 2, psn, 200, 1);
  b.run();
  const auto sent = b.by(3);
  ASSERT_EQ(sent.size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(sent[i].psn, i / 2);
    ASSERT_TRUE(sent[i].queue);
    EXPECT_LT(*sent[i].queue, 32) << "not the NIC's any more";
    EXPECT_EQ(*sent[i].queue, *sent[i % 2].queue) << "each flow has one";
  }
  EXPECT_NE(sent[0].flow, sent[1].flow);
  EXPECT_NE(sent[0].queue, sent[1].queue);
}

TEST(SwitchBfcTest, AFrameThatTelemetryMakesLongerLeavesAsItJoined) {
  SwitchConfig config = config_on(false);
  config.mechanisms.of<TelemetryMechanism>().enabled = true;
  BfcBench b(config);
  for (std::uint32_t psn = 0; psn < 6; ++psn) b.send(at(1_us), psn % 2, psn, 200, static_cast<int>(psn % 3));
  b.run();
  EXPECT_EQ(b.by(3).size(), 6u);
  EXPECT_EQ(b.node.model().queued_frames(), 0u);
}

// Acknowledgements and all else that names no queue.
TEST(SwitchBfcTest, FramesThatNameNoQueueComeFirst) {
  BfcBench b;
  for (std::uint32_t psn = 0; psn < 3; ++psn) b.send(at(1_us), 1, psn, 9);
  b.send(at(1_us) + 1_ps, 2, 77, std::nullopt, 1);
  b.run();
  ASSERT_EQ(b.by(3).size(), 4u);
  EXPECT_EQ(b.by(3)[1].psn, 77u);
  EXPECT_EQ(b.by(3)[1].queue, std::nullopt);
}

// 1.5 * 40 Gb/s * (2 * 2 us + 223 ns): 31,674 bytes, or 28 frames. Two inputs at line rate.
TEST(SwitchBfcTest, ALongQueuePausesTheQueuesThatItsFramesCameFrom) {
  BfcBench b;
  for (int i = 0; i < 100; ++i) {
    b.send(at(1_us) + kGap * i, 1, static_cast<std::uint32_t>(i), 200, 0);
    b.send(at(1_us) + kGap * i, 1, static_cast<std::uint32_t>(100 + i), 17, 1);
  }
  b.run();
  BfcQueues first, second;
  first.set(200, true);
  second.set(17, true);
  for (const auto& [p, queues] : {std::pair{0, first}, {1, second}}) {
    const auto told = b.by(p);
    ASSERT_EQ(told.size(), 2u);
    ASSERT_TRUE(told[0].pause && told[1].pause);
    EXPECT_EQ(told[0].pause->queues, queues);
    EXPECT_EQ(told[0].pause->tc, tc(3));
    EXPECT_EQ(told[1].pause->queues, BfcQueues());
    EXPECT_EQ((told[0].at - Time::zero()).ps() % (1_us).ps(), 0) << "at the end of a period";
    // 28 frames wait at about 1 us + 28 gaps; the last one that pauses leaves with the queue.
    EXPECT_GT(told[0].at, at(1_us) + kGap * 27);
    EXPECT_LE(told[0].at, at(1_us) + kGap * 29 + 1_us);
    EXPECT_GT(told[1].at, at(1_us) + kGap * 190);
    EXPECT_EQ(b.counter("bfc_pauses_sent", p), 2u);
  }
  EXPECT_EQ(b.by(3).size(), 200u);
  EXPECT_GT(b.counter("bfc_frames_pausing", 3), 100u);
  EXPECT_TRUE(b.node.next_event().is_never()) << "and no timer is left";
}

TEST(SwitchBfcTest, APausedQueueWaitsAndOthersGoOn) {
  BfcBench b;
  for (std::uint32_t psn = 0; psn < 3; ++psn) b.send(at(1_us), 1, psn, 9, 0);
  b.run(at(1_us) + kGap);
  ASSERT_EQ(b.by(3).size(), 1u);
  const int queue = *b.by(3)[0].queue;
  b.pause(at(1_us) + kGap, {queue});
  b.run(at(50_us));
  ASSERT_EQ(b.by(3).size(), 1u) << "nothing may leave";
  EXPECT_FALSE(b.node.model().has_more(port(3)));
  b.send(at(60_us), 2, 7, 9, 1);
  b.send(at(70_us), 3, 8, std::nullopt, 1);
  b.run(at(90_us));
  ASSERT_EQ(b.by(3).size(), 3u);
  EXPECT_EQ(b.by(3)[1].at, at(60_us));
  EXPECT_EQ(b.by(3)[2].at, at(70_us));
  b.pause(at(100_us), {});
  b.run();
  ASSERT_EQ(b.by(3).size(), 5u);
  EXPECT_EQ(b.by(3)[3].at, at(100_us));
  EXPECT_EQ(b.by(3)[4].psn, 2u);
  EXPECT_EQ(b.counter("bfc_pauses_received", 3), 2u);
}

TEST(SwitchBfcTest, APauseOfAnotherClassHoldsNothing) {
  BfcBench b;
  b.pause(at(1_us), {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                     16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31},
          2);
  b.send(at(2_us), 1, 0, 9);
  b.run();
  EXPECT_EQ(b.by(3)[0].at, at(2_us));
}

// The two pauses do not know of one another.
TEST(SwitchBfcTest, PfcPausesTheClassBesideIt) {
  BfcBench b(true);
  b.send(at(1_us), 1, 0, 9);
  b.run(at(2_us));
  const int queue = *b.by(3)[0].queue;
  b.pause(at(2_us), {queue});
  b.node.deliver(port(3), {}, make_pfc(b.pool, 3, 0xffff), at(3_us));
  b.send(at(4_us), 1, 1, 9);
  b.node.deliver(port(3), {}, make_pfc(b.pool, 3, 0), at(20_us));
  b.run(at(30_us));
  EXPECT_EQ(b.by(3).size(), 1u) << "the queue is paused still";
  b.pause(at(40_us), {});
  b.run();
  ASSERT_EQ(b.by(3).size(), 2u);
  EXPECT_EQ(b.by(3)[1].at, at(40_us));
}

TEST(SwitchBfcTest, ASwitchWithoutItTakesAPauseForNothing) {
  SwitchConfig config = config_on(false);
  config.mechanisms.of<BfcMechanism>().enabled = false;
  Bench b(config, std::vector<PortConfig>(4));
  PacketRef packet = b.pool.make();
  put_control(*packet, BfcPause{tc(3), {}});
  b.node.deliver(port(0), {}, std::move(packet), at(1_us));
  b.run();
  EXPECT_EQ(b.pool.in_use(), 0u);
}

TEST(SwitchBfcTest, WhatDoesNotGoTogetherIsRefused) {
  const BfcSwitchParams params;
  SwitchConfig config;
  EXPECT_FALSE(BfcMechanism::problem_beside(params, config));
  config.classes[3].order = QueueOrder::kFair;
  EXPECT_TRUE(BfcMechanism::problem_beside(params, config));
  config = {};
  config.queue_order = QueueOrder::kRoundRobin;
  EXPECT_TRUE(BfcMechanism::problem_beside(params, config));
  config = {};
  config.classes[3].full = FullRule::kPushOutLast;
  EXPECT_TRUE(BfcMechanism::problem_beside(params, config));
  config = {};
  config.mechanisms.of<SlackMechanism>().enabled = true;  // its ranks are not numbers of queues
  EXPECT_TRUE(BfcMechanism::problem_beside(params, config));
  NetworkFacts facts;
  EXPECT_FALSE(BfcMechanism::problem_of_network(params, config, facts));
  facts.wall_clock = true;
  EXPECT_TRUE(BfcMechanism::problem_of_network(params, config, facts));
  facts = {};
  facts.link_events = true;
  EXPECT_TRUE(BfcMechanism::problem_of_network(params, config, facts));
}

TEST(SwitchBfcTest, TheLawFollowsTheLink) {
  SwitchConfig config;
  config.max_frame = 1'000_B;
  PortConfig link;
  link.rate = 100_Gbps, link.delay = 1_us;
  const BfcLaw law = BfcMechanism::law({}, config, link);
  const Duration rtt = 2_us + wire_time(1'000_B, 100_Gbps);
  EXPECT_EQ(law.hysteresis, rtt * 3);
  EXPECT_NEAR(static_cast<double>(law.pause_bytes.count()), 1.5 * 100e9 / 8 * rtt.seconds(), 1);
  BfcSwitchParams given;
  given.hop_rtt = 2_us;
  EXPECT_EQ(BfcMechanism::law(given, config, link).pause_bytes, 37'500_B) << "the authors' 2 us";
}

}  // namespace
}  // namespace rocelab
