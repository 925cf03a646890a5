// Switches with a pipeline: what PFC_wdrop drops, what PFC_wstop stops for ever, and that the books balance.
#include "ovs_patches/switch_model/mechanisms/capfc.h"
#include "ovs_patches/switch_model/mechanisms/pipeline.h"
#include "ovs_patches/switch_model/test_net.h"
#include "ovs_patches/switch_model/test_traffic.h"

namespace rocelab {
namespace {

using namespace switch_test;

// Table II, without the latency.
SwitchConfig table_two(PipelineFull full, Duration service = 1_us) {
  SwitchConfig config;
  config.max_frame = 1514_B;
  config.ingress_buffer = 60_KB;
  config.pfc.xoff = 50_KB;
  config.pfc.xon = 40_KB;
  config.classes[3].egress_max = 60_KB;
  PipelineParams params;
  params.enabled = true;
  params.service = service;
  params.full = full;
  config.mechanisms.of<PipelineMechanism>() = params;
  return config;
}

PortConfig gigabit() {
  PortConfig link;
  link.rate = 1_Gbps;
  link.delay = 1_us;
  return link;
}

void add_star(TestNet& net, const SwitchConfig& config, int hosts) {
  ASSERT_EQ(problem_of(config, std::vector<PortConfig>(static_cast<std::size_t>(hosts), gigabit())), "");
  net.add_switch(config, std::vector<PortConfig>(static_cast<std::size_t>(hosts), gigabit()));
  for (int i = 0; i < hosts; ++i) {
    net.add_host(0, i);
    net.route(0, i, i);
    net.hosts[static_cast<std::size_t>(i)].frame = 1514_B;
  }
}

void expect_at_rest(const TestNet& net) {
  EXPECT_EQ(net.pool.in_use(), 0u);
  for (const auto& node : net.nodes) {
    EXPECT_EQ(node->model().queued_frames(), 0u);
    for (std::uint16_t p = 0; p < node->model().ports(); ++p) {
      EXPECT_EQ(node->model().ingress_bytes(PortId{p}, tc(3)), 0_B);
      EXPECT_FALSE(node->model().is_pausing(PortId{p}, tc(3)));
    }
  }
}

// One host after another sends its frames to host `hosts - 1`.
TestNet& incast(TestNet& net, const SwitchConfig& config, int senders, std::uint32_t frames) {
  add_star(net, config, senders + 1);
  for (int i = 0; i < senders; ++i) {
    TestHost& host = net.hosts[static_cast<std::size_t>(i)];
    host.to = senders;
    host.frames = frames;
    host.start = at(Duration::from_ps(i * 137'000));
  }
  net.run(1_us);
  return net;
}

// 1 Mpps is more than seven ports of full frames send: the memories before the pipeline stay empty.
TEST(SwitchPipelineTest, AFastPipelineThatDropsNeverPausesAndDrops) {
  TestNet net;
  incast(net, table_two(PipelineFull::kDrop), 7, 100);
  const SwitchPortCounters sink = net.counters(0, 7);
  EXPECT_GT(sink.drops_egress_max, 0u);
  EXPECT_EQ(sink.lossless_drops, 0u) << "they are declared";
  EXPECT_LE(sink.queue_peak_bytes[3], 60'000u);
  EXPECT_EQ(net.hosts[7].received + sink.drops_egress_max, 700u);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(net.counters(0, i).xoff_sent[3], 0u);
  expect_at_rest(net);
}

TEST(SwitchPipelineTest, APipelineThatWaitsPausesAndDropsNothing) {
  for (const PipelineFull full : {PipelineFull::kStop, PipelineFull::kSkipPort}) {
    TestNet net;
    incast(net, table_two(full), 7, 100);
    EXPECT_EQ(net.hosts[7].received, 700u);
    EXPECT_EQ(net.hosts[7].out_of_order, 0u);
    EXPECT_EQ(net.counters(0, 7).drops, 0u);
    EXPECT_LE(net.counters(0, 7).queue_peak_bytes[3], 60'000u);
    for (int i = 0; i < 7; ++i) {
      EXPECT_GT(net.counters(0, i).xoff_sent[3], 0u);
      EXPECT_LE(net.counters(0, i).ingress_peak_bytes[3], 60'000u) << "headroom suffices";
      EXPECT_EQ(net.counters(0, i).drops, 0u);
    }
    expect_at_rest(net);
  }
}

// Four hosts send to four others at 1 Gb/s each: 325 frames a millisecond, of which 250 are served.
TEST(SwitchPipelineTest, ThroughputIsThatOfThePipeline) {
  TestNet net;
  add_star(net, table_two(PipelineFull::kSkipPort, 4_us), 8);
  for (int i = 0; i < 4; ++i) {
    net.hosts[static_cast<std::size_t>(i)].to = 4 + i;
    net.hosts[static_cast<std::size_t>(i)].frames = 250;
  }
  net.run(1_us);
  Time last;
  for (int i = 4; i < 8; ++i) last = std::max(last, net.hosts[static_cast<std::size_t>(i)].last_received);
  // The first frame is there after its own wire time and delay; the last is placed 1,000 services later.
  const Duration wire = wire_time(1514_B, 1_Gbps) + 1_us;
  EXPECT_EQ(last, at(wire + 4_us * 1000 + wire));
  expect_at_rest(net);
}

// Two switches, `hosts` hosts on each, which send across both ways; port `hosts` is the trunk.
struct Dumbbell {
  explicit Dumbbell(const SwitchConfig& config, int hosts, bool both_ways, std::uint32_t frames = 1000) {
    const std::vector<PortConfig> ports(static_cast<std::size_t>(hosts) + 1, gigabit());
    for (int s = 0; s < 2; ++s) {
      net.add_switch(config, ports);
      for (int i = 0; i < hosts; ++i) net.add_host(s, i);
    }
    net.connect(0, hosts, 1, hosts);
    for (int s = 0; s < 2; ++s)
      for (int i = 0; i < hosts; ++i) {
        const int host = s * hosts + i;
        net.route(s, host, i);
        net.route(1 - s, host, hosts);
        TestHost& sender = net.hosts[static_cast<std::size_t>(host)];
        sender.frame = 1514_B;
        sender.to = (host + hosts) % (2 * hosts);
        sender.frames = s == 0 || both_ways ? frames : 0;
        sender.start = at(Duration::from_ps(host * 97'000));
      }
    net.run(1_us, at(200_ms));
  }
  std::uint32_t received() const {
    std::uint32_t sum = 0;
    for (const TestHost& host : net.hosts) sum += host.received;
    return sum;
  }
  TestNet net;
};

// Each switch's processor holds a frame for its trunk, which the other one has paused for the same reason: no
// circle of routes is needed.
TEST(SwitchPipelineTest, StopDeadlocksTwoSwitchesAndSkipPortDoesNot) {
  for (const int hosts : {2, 3, 7}) {
    Dumbbell stops(table_two(PipelineFull::kStop), hosts, true);
    EXPECT_LT(stops.received(), 2000u * static_cast<unsigned>(hosts));
    for (int s = 0; s < 2; ++s) {
      const Switch& model = stops.net.nodes[static_cast<std::size_t>(s)]->model();
      EXPECT_TRUE(model.is_paused(port(hosts), tc(3))) << "the trunk, at the end";
      EXPECT_TRUE(model.is_pausing(port(hosts), tc(3)));
    }
    Dumbbell skips(table_two(PipelineFull::kSkipPort), hosts, true);
    EXPECT_EQ(skips.received(), 2000u * static_cast<unsigned>(hosts));
    expect_at_rest(skips.net);
  }
  Dumbbell one_way(table_two(PipelineFull::kStop), 3, false);
  EXPECT_EQ(one_way.received(), 3000u);
  expect_at_rest(one_way.net);
}

TEST(SwitchPipelineTest, CapfcCompletesTheDumbbellThatStopDeadlocks) {
  SwitchConfig config = table_two(PipelineFull::kDrop);
  CapfcParams capfc;
  capfc.enabled = true;
  capfc.xoff = 25_KB;
  capfc.xon = capfc.warn = 20_KB;
  config.mechanisms.of<CapfcMechanism>() = capfc;
  Dumbbell d(config, 3, true);
  EXPECT_EQ(d.received(), 6000u);
  expect_at_rest(d.net);
}

// The frame in the processor is charged to its ingress port until it is placed, and not afterwards.
TEST(SwitchPipelineTest, IngressMemoryIsThatOfFramesBeforeTheQueue) {
  Bench bench(table_two(PipelineFull::kDrop, 5_us), std::vector<PortConfig>(3));
  bench.send_pfc(1, at(0_ps), 3, 0xffff);
  bench.send(0, 1, at(1_us), 1000_B);
  bench.send(0, 1, at(2_us), 1000_B);
  bench.run_until(at(3_us));
  EXPECT_EQ(bench.node.model().ingress_bytes(port(0), tc(3)), 2000_B);
  EXPECT_EQ(bench.node.model().queue_bytes(port(1), tc(3)), 0_B);
  bench.run_until(at(7_us));
  EXPECT_EQ(bench.node.model().ingress_bytes(port(0), tc(3)), 1000_B);
  EXPECT_EQ(bench.node.model().queue_bytes(port(1), tc(3)), 1000_B);
  bench.run_until(at(12_us));
  EXPECT_EQ(bench.node.model().ingress_bytes(port(0), tc(3)), 0_B);
  EXPECT_EQ(bench.node.model().queue_bytes(port(1), tc(3)), 2000_B);
  EXPECT_EQ(bench.counters(0).ingress_peak_bytes[3], 2000u);
}

// A queue that the PFC watchdog empties lets the processor go on, and nobody stays paused.
TEST(SwitchPipelineTest, AWatchdogThatEmptiesTheQueueEndsTheStop) {
  SwitchConfig config = table_two(PipelineFull::kStop, 100_ns);
  config.mechanisms.of<WatchdogMechanism>() = {100_us, WatchdogAction::kDrop};
  Bench bench(config, std::vector<PortConfig>(3));
  bench.send_pfc(1, at(0_ps), 3, 0xffff);
  for (std::uint32_t i = 0; i < 115; ++i) bench.send(0, 1, at(1_us) + 300_ns * i, 1000_B, 3, 7, i);
  bench.send(2, 0, at(40_us), 1000_B);
  bench.run_until(at(90_us));
  EXPECT_TRUE(bench.node.model().is_pausing(port(0), tc(3)));
  EXPECT_TRUE(bench.sent_by(0).size() == 1 && bench.sent_by(0)[0].kind == kind_of<PfcFrame>)
      << "the frame for another port waits behind the one in the processor";
  bench.run_until(at(1_ms));
  EXPECT_EQ(bench.counters(1).drops_watchdog, 115u);
  EXPECT_FALSE(bench.node.model().is_pausing(port(0), tc(3)));
  EXPECT_EQ(bench.sent_by(0).size(), 3u) << "XOFF, XON and that frame";
  EXPECT_EQ(bench.node.model().queued_frames(), 0u);
}

TEST(SwitchPipelineTest, WhatItCannotStandBesideIsNamed) {
  const auto problem = [](auto change) {
    SwitchConfig config = table_two(PipelineFull::kDrop);
    change(config);
    return problem_of(config, std::vector<PortConfig>(4, gigabit()));
  };
  EXPECT_EQ(problem([](SwitchConfig&) {}), "");
  EXPECT_NE(problem([](SwitchConfig& c) { c.shared_pool = 1_MB; }).find("memory on either side"),
            std::string::npos);
  EXPECT_NE(problem([](SwitchConfig& c) { c.classes[3].egress_max = 0_B; }).find("class 3 has no egress_max"),
            std::string::npos);
  EXPECT_NE(problem([](SwitchConfig& c) {
              c.mechanisms.of<LoopBreakerMechanism>().enabled = true;
            }).find("Loop Breaker"),
            std::string::npos);
}

}  // namespace
}  // namespace rocelab
