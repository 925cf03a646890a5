// CaPFC in rings of switches: it only adds waits, so that a circle of them stands still as with PFC; and what
// ends a circle, Loop Breaker or the PFC watchdog, leaves nobody paused before an empty queue.
#include <string>

#include "ovs_patches/switch_model/mechanisms/capfc.h"
#include "ovs_patches/switch_model/mechanisms/loop_breaker.h"
#include "ovs_patches/switch_model/mechanisms/watchdog.h"
#include "ovs_patches/switch_model/switch_core.h"
#include "ovs_patches/switch_model/test_ring.h"

namespace rocelab {
namespace {

using namespace switch_test;

constexpr std::uint32_t kFrames = 5000;

SwitchConfig capfc(CapfcPolicy policy, bool letter) {
  SwitchConfig config = config_of(kOff);
  CapfcParams& params = config.mechanisms.of<CapfcMechanism>();
  params.enabled = true;
  params.policy = policy;
  if (letter) {
    params.count = CapfcCount::kFrames;
    params.contributors = CapfcContributors::kArrivals;
    params.fixes = 0;
  }
  return config;
}

class SwitchCapfcLoopTest : public ::testing::TestWithParam<std::tuple<CapfcPolicy, bool>> {
 protected:
  static SwitchConfig config() { return capfc(std::get<0>(GetParam()), std::get<1>(GetParam())); }
  static void expect_nobody_paused(const RingNet& ring) {
    EXPECT_EQ(ring.net.pool.in_use(), 0u);
    for (const auto& node : ring.net.nodes) {
      const Switch& model = node->model();
      EXPECT_EQ(model.queued_frames(), 0u);
      for (int p = 0; p < 3; ++p) {
        EXPECT_FALSE(model.is_pausing(port(p), tc(3)));
        EXPECT_EQ(model.mechanism<CapfcMechanism>()->asking(port(p), tc(3)), 0);
        EXPECT_EQ(model.ingress_bytes(port(p), tc(3)), 0_B);
      }
    }
    EXPECT_EQ(ring.received() + ring.total(&SwitchPortCounters::drops), 3 * kFrames);
    EXPECT_EQ(ring.total(&SwitchPortCounters::lossless_drops), 0u) << "what is dropped is deliberate";
  }
};

TEST_P(SwitchCapfcLoopTest, ARingStandsStill) {
  RingNet ring(config(), 3, 2, kFrames);
  ring.net.run(2_us, at(100_ms));
  EXPECT_LT(ring.received(), 3 * kFrames);
  EXPECT_EQ(ring.ring_ports_paused(), 3);
}

TEST_P(SwitchCapfcLoopTest, LoopBreakerEndsItAndLeavesNobodyPaused) {
  for (const LoopBreakerDrop drop : {LoopBreakerDrop::kQueue, LoopBreakerDrop::kToXon}) {
    SwitchConfig breaks = config();
    breaks.mechanisms.of<LoopBreakerMechanism>() = {
        .enabled = true, .drop = drop, .interval = 100_us, .period = 20_us};
    RingNet ring(breaks, 3, 2, kFrames);
    ring.net.run(2_us, at(2_s));
    EXPECT_GT(ring.total(&SwitchPortCounters::loops_broken), 0u);
    EXPECT_EQ(ring.total(&SwitchPortCounters::drops), ring.total(&SwitchPortCounters::drops_loop_breaker));
    expect_nobody_paused(ring);
  }
}

TEST_P(SwitchCapfcLoopTest, TheWatchdogEndsItAndLeavesNobodyPaused) {
  SwitchConfig watched = config();
  watched.mechanisms.of<WatchdogMechanism>() = {100_us, WatchdogAction::kDrop};
  RingNet ring(watched, 3, 2, kFrames);
  ring.net.run(2_us, at(2_s));
  EXPECT_GT(ring.total(&SwitchPortCounters::drops_watchdog), 0u);
  expect_nobody_paused(ring);
}

INSTANTIATE_TEST_SUITE_P(
    Policies, SwitchCapfcLoopTest,
    ::testing::Combine(::testing::Values(CapfcPolicy::kStopMax, CapfcPolicy::kStopCalibrate),
                       ::testing::Bool()),
    [](const auto& each) {
      return std::string(std::get<0>(each.param) == CapfcPolicy::kStopMax ? "Max" : "Calibrate") +
             (std::get<1>(each.param) ? "ToTheLetter" : "");
    });

}  // namespace
}  // namespace rocelab
