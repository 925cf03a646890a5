// CaPFC in whole switches: what it loses to the letter and what its fixes save, and that computed thresholds
// keep every frame.
#include <tuple>

#include "ovs_patches/switch_model/mechanisms/capfc.h"
#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/mechanisms/watchdog.h"
#include "ovs_patches/switch_model/test_net.h"

namespace rocelab {
namespace {

using namespace switch_test;

CapfcParams letter(CapfcPolicy policy) {  // thresholds: table II
  CapfcParams p;
  p.enabled = true;
  p.policy = policy;
  p.xoff = 25_KB;
  p.xon = p.warn = 20_KB;
  p.count = CapfcCount::kFrames;
  p.contributors = CapfcContributors::kArrivals;
  p.fixes = 0;
  return p;
}
CapfcParams ours(CapfcPolicy policy) {
  CapfcParams p;
  p.enabled = true;
  p.policy = policy;
  p.xoff = 25_KB;
  p.xon = p.warn = 20_KB;
  return p;
}

// `senders` hosts send to one over a switch, each as fast as its link and PFC let it.
struct Incast {
  Incast(const CapfcParams& params, int senders, Bytes egress_max, Rate rate = 1_Gbps,
         std::uint32_t frames = 250) {
    SwitchConfig config;
    config.max_frame = 1514_B;
    config.ingress_buffer = 60_KB;
    config.classes[3].egress_max = egress_max;
    config.mechanisms.of<CapfcMechanism>() = params;
    PortConfig link;
    link.rate = rate;
    link.delay = 1_us;
    const std::vector<PortConfig> ports(static_cast<std::size_t>(senders) + 1, link);
    problem = problem_of(config, ports);
    if (!problem.empty()) return;
    net.add_switch(config, ports);
    for (int i = 0; i <= senders; ++i) {
      net.add_host(0, i);
      net.route(0, i, i);
    }
    for (int i = 0; i < senders; ++i) {
      TestHost& host = net.hosts[static_cast<std::size_t>(i)];
      host.to = senders;
      host.frame = 1514_B;
      host.frames = frames;
      host.start = at(Duration::from_ps(i * 137'000));
    }
    net.run(1_us);
    sink = senders;
  }
  std::uint64_t lost() const { return net.counters(0, sink).drops_egress_max; }
  Bytes peak() const {
    return Bytes::from_count(static_cast<std::int64_t>(net.counters(0, sink).queue_peak_bytes[3]));
  }
  void expect_at_rest() {
    EXPECT_EQ(net.pool.in_use(), 0u);
    const Switch& model = net.nodes[0]->model();
    EXPECT_EQ(model.queued_frames(), 0u);
    for (int i = 0; i <= sink; ++i) {
      EXPECT_EQ(model.ingress_bytes(port(i), tc(3)), 0_B);
      const SwitchPortCounters c = net.counters(0, i);
      EXPECT_EQ(c.drops, c.drops_egress_max) << "nothing else is lost";
      EXPECT_EQ(c.lossless_drops, 0u) << "those are declared";
    }
  }
  TestNet net;
  std::string problem;
  int sink = 0;
};

TEST(SwitchCapfcTest, ToTheLetterStopMaxPausesOnePortAtATimeAndLosesFrames) {
  Incast literal(letter(CapfcPolicy::kStopMax), 7, 60_KB);
  EXPECT_GT(literal.lost(), 0u);
  literal.expect_at_rest();
  CapfcParams skips = letter(CapfcPolicy::kStopMax);
  skips.fixes = static_cast<std::uint32_t>(CapfcFix::kSkip);
  Incast fixed(skips, 7, 60_KB);
  EXPECT_EQ(fixed.lost(), 0u);
  EXPECT_EQ(fixed.net.hosts[7].received, 7u * 250);
  fixed.expect_at_rest();
}

TEST(SwitchCapfcTest, BothPoliciesWithTheFixesKeepASevenToOneIncastWithinTableTwosLimits) {
  for (const CapfcPolicy policy : {CapfcPolicy::kStopMax, CapfcPolicy::kStopCalibrate}) {
    Incast incast(ours(policy), 7, 60_KB);
    EXPECT_EQ(incast.lost(), 0u);
    EXPECT_LE(incast.peak(), 60_KB);
    EXPECT_GT(incast.peak(), 25_KB);
    EXPECT_EQ(incast.net.hosts[7].out_of_order, 0u);
    incast.expect_at_rest();
  }
}

// The bound is computed for any traffic; every count of senders, rate and policy must keep it.
TEST(SwitchCapfcTest, ComputedThresholdsKeepEveryFrame) {
  for (const CapfcPolicy policy : {CapfcPolicy::kStopMax, CapfcPolicy::kStopCalibrate})
    for (const int senders : {2, 7, 31})
      for (const Rate rate : {1_Gbps, 40_Gbps}) {
        CapfcParams params;
        params.enabled = true;
        params.policy = policy;
        const Bytes most = (rate == 1_Gbps ? 20_KB : 40_KB) * senders + 20_KB;
        Incast incast(params, senders, most, rate, 400);
        ASSERT_EQ(incast.problem, "") << senders;
        EXPECT_EQ(incast.lost(), 0u) << senders << " senders";
        EXPECT_LE(incast.peak(), most);
        EXPECT_EQ(incast.net.hosts[static_cast<std::size_t>(senders)].received,
                  static_cast<unsigned>(senders) * 400);
        incast.expect_at_rest();
      }
}

// Three hosts fill one port; a fourth sends to another. It is never paused.
TEST(SwitchCapfcTest, APortThatDoesNotContributeIsNotPaused) {
  SwitchConfig config;
  config.max_frame = 1514_B;
  config.ingress_buffer = 240_KB;
  config.mechanisms.of<CapfcMechanism>() = ours(CapfcPolicy::kStopCalibrate);
  TestNet net;
  PortConfig link;
  link.rate = 1_Gbps;
  link.delay = 1_us;
  net.add_switch(config, std::vector<PortConfig>(6, link));
  for (int i = 0; i < 6; ++i) {
    net.add_host(0, i);
    net.route(0, i, i);
    net.hosts[static_cast<std::size_t>(i)].frame = 1514_B;
  }
  for (const auto& [from, to] : {std::pair{0, 4}, {1, 4}, {2, 4}, {3, 5}}) {
    net.hosts[static_cast<std::size_t>(from)].to = to;
    net.hosts[static_cast<std::size_t>(from)].frames = 300;
  }
  net.run(1_us);
  for (int i = 0; i < 3; ++i) EXPECT_GT(net.counters(0, i).xoff_sent[3], 0u) << i;
  EXPECT_EQ(net.counters(0, 3).xoff_sent[3], 0u);
  EXPECT_EQ(net.hosts[4].received, 900u);
  EXPECT_EQ(net.hosts[5].received, 300u);
}

// A frame that the watchdog takes out of a queue counts like one that is sent.
TEST(SwitchCapfcTest, AQueueThatIsFlushedHoldsNobodyResponsible) {
  SwitchConfig config;
  config.max_frame = 1514_B;
  config.ingress_buffer = 240_KB;
  config.mechanisms.of<WatchdogMechanism>() = {20_us, WatchdogAction::kDrop};
  config.mechanisms.of<CapfcMechanism>() = ours(CapfcPolicy::kStopMax);
  Bench bench(config, std::vector<PortConfig>(3));
  bench.send_pfc(1, at(1_us), 3, 0xffff);
  for (std::uint32_t i = 0; i < 30; ++i) bench.send(0, 1, at(2_us) + 1_ns * i, 1000_B, 3, 7, i);
  bench.run_until(at(10_us));
  EXPECT_EQ(bench.counters(0).xoff_sent[3], 1u);
  EXPECT_EQ(bench.counters(0).of_mechanisms[0], 1u) << "held responsible";
  bench.run_until(at(100_us));
  EXPECT_EQ(bench.counters(1).drops_watchdog, 30u);
  EXPECT_EQ(bench.counters(0).xon_sent[3], 1u);
}

TEST(SwitchCapfcTest, WhatItCannotStandBesideIsNamed) {
  const std::vector<PortConfig> ports(8);
  const auto problem = [&](auto change) {
    SwitchConfig config;
    config.max_frame = 1514_B;
    CapfcParams params = ours(CapfcPolicy::kStopMax);
    change(config, params);
    config.mechanisms.of<CapfcMechanism>() = params;
    return problem_of(config, ports);
  };
  EXPECT_EQ(problem([](SwitchConfig&, CapfcParams&) {}), "");
  EXPECT_NE(problem([](SwitchConfig& c, CapfcParams&) { c.pfc.enabled = false; }).find("needs PFC"),
            std::string::npos);
  EXPECT_NE(problem([](SwitchConfig& c, CapfcParams&) {
              c.mechanisms.of<EscapeMechanism>().enabled = true;
            }).find("Escape"),
            std::string::npos);
  EXPECT_NE(problem([](SwitchConfig& c, CapfcParams&) {
              c.classes[3].egress_max = 25_KB;
            }).find("is not below egress_max"),
            std::string::npos);
  EXPECT_NE(problem([](SwitchConfig& c, CapfcParams& p) {
              c.classes[3].egress_max = 60_KB;
              p.xoff = kComputed;
            }).find("cannot be kept"),
            std::string::npos);
  EXPECT_NE(problem([](SwitchConfig&, CapfcParams& p) { p.xon = 30_KB; }).find("xon is more than warn"),
            std::string::npos);
}

}  // namespace
}  // namespace rocelab
