#include "ovs_patches/switch_model/rcp_cp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>

namespace rocelab {
namespace {

// 1 Gb/s, T = 10 ms, d = 40 ms: T / d = 1/4. A full slot is 1,250,000 B.
constexpr RcpLaw kLaw{.rtt = 40_ms, .min_rate = Rate::from_bps(128'000)};
constexpr Bytes kFull = 1'250'000_B;

double mbps(const RcpCp& cp) { return static_cast<double>(cp.rate().bps()) / 1e6; }

TEST(RcpCpTest, FollowsAHandComputedTrace) {
  RcpCp cp(kLaw, 1_Gbps);
  EXPECT_NEAR(mbps(cp), 50, 1e-5) << "a twentieth of the link";
  cp.end_slot(0_B);  // 1 + 0.4 / 4
  EXPECT_NEAR(mbps(cp), 55, 1e-5);
  cp.on_frame(kFull / 2, {});  // 1 + 0.4 (1 - 0.5) / 4
  cp.end_slot(0_B);
  EXPECT_NEAR(mbps(cp), 57.75, 1e-5);
  cp.on_frame(kFull, {});  // 500,000 B in 40 ms are a tenth of the link: 1 - 0.4 x 0.1 / 4
  cp.end_slot(500'000_B);
  EXPECT_NEAR(mbps(cp), 57.1725, 1e-5);
  cp.on_frame(kFull, {}), cp.on_frame(kFull, {});  // 1 + 0.4 (1 - 2) / 4
  cp.end_slot(0_B);
  EXPECT_NEAR(mbps(cp), 51.45525, 1e-5);
}

TEST(RcpCpTest, ThePartsOfTheLawAreWeighedByTheirGains) {
  RcpCp cp({.alpha = 0.1, .beta = 1, .gamma = 0.8, .rtt = 40_ms, .min_rate = 1_Mbps}, 1_Gbps);
  cp.on_frame(kFull / 2, {});  // 1 + (0.1 (800 - 500) - 1 x 4 Mbit / 40 ms) / 4 / 800, in Mb/s
  cp.end_slot(500'000_B);
  EXPECT_NEAR(mbps(cp), 50 * (1 + (0.1 * 300 - 100) / 4 / 800), 1e-5);
  for (int i = 0; i < 1'000; ++i) cp.end_slot(0_B);
  EXPECT_NEAR(mbps(cp), 800, 1e-5) << "at the most gamma of the link";
}

TEST(RcpCpTest, TheRateStaysBetweenItsFloorAndTheLink) {
  RcpCp cp(kLaw, 1_Gbps);
  for (int i = 0; i < 100; ++i) cp.end_slot(0_B);
  EXPECT_EQ(cp.rate(), 1_Gbps);
  cp.end_slot(100'000'000_B);  // more than there is to take away
  EXPECT_EQ(cp.rate(), Rate::from_bps(128'000));
  for (int i = 0; i < 1'000; ++i) cp.end_slot(0_B);
  EXPECT_EQ(cp.rate(), 1_Gbps) << "and comes back";
  RcpCp narrow(kLaw, 1_Mbps / 10);
  EXPECT_EQ(narrow.rate(), 1_Mbps / 10) << "a floor above the link is the link";
}

// Longer round trips count by T / d, shorter ones by R / C (mean / d) T / d; by bytes within a slot.
TEST(RcpCpTest, TheMeanRoundTripMovesWithWhatDataTells) {
  RcpCp cp(kLaw, 1_Gbps);
  cp.on_frame(1'000_B, 80_ms);
  cp.end_slot(0_B);
  EXPECT_NEAR(cp.rtt().seconds(), 0.050, 1e-9);
  EXPECT_NEAR(mbps(cp), 50 * (1 + 0.4 / 5), 1e-2) << "the new mean is the one that counts";
  RcpCp other(kLaw, 1_Gbps);
  other.on_frame(3'000_B, 16_ms), other.on_frame(1'000_B, 32_ms);  // 20 ms
  other.on_frame(9'000_B, {});                                     // an acknowledgement tells nothing
  other.end_slot(0_B);
  EXPECT_NEAR(other.rtt().seconds(), 0.040 - 0.05 * 0.5 * 0.25 * 0.020, 1e-9);
  const Duration before = other.rtt();
  other.on_frame(9'000_B, {});
  other.end_slot(0_B);
  EXPECT_EQ(other.rtt(), before) << "a slot that tells nothing moves nothing";
}

TEST(RcpCpTest, ASlotIsNoLongerThanTheMeanRoundTrip) {
  RcpCp cp({.rtt = 4_ms, .min_rate = 1_Mbps}, 1_Gbps);
  EXPECT_EQ(cp.slot(), 4_ms);
  cp.end_slot(0_B);
  EXPECT_NEAR(mbps(cp), 70, 1e-5) << "1 + 0.4 T / d, T = d";
  for (int i = 0; i < 100; ++i) {
    cp.on_frame(1'000_B, 40_ms);
    cp.end_slot(0_B);
  }
  EXPECT_EQ(cp.slot(), 10_ms);
}

// Updates that are made up for later give what they would have given.
TEST(RcpCpTest, SlotsWithoutTrafficAreMadeUpFor) {
  for (const int slots : {0, 1, 7, 200}) {
    RcpCp watched(kLaw, 1_Gbps), resting(kLaw, 1_Gbps);
    Time end = Time::zero() + watched.slot();
    for (int i = 0; i < slots; ++i) end = end + watched.end_slot(0_B);
    EXPECT_EQ(resting.pass_idle(Time::zero() + 10_ms, end - 1_ps), end) << slots;
    EXPECT_EQ(resting.rate(), watched.rate()) << slots;
  }
  RcpCp cp(kLaw, 1_Gbps);
  EXPECT_EQ(cp.pass_idle(Time::zero() + 10_ms, Time::zero() + 100'000_s), Time::zero() + 100'000_s + 10_ms)
      << "at once: nothing changes any more";
}

// N flows that follow R a round trip later, over a queue: R comes to C / N, and the queue to nothing.
TEST(RcpCpTest, FlowsShareTheLinkAndTheQueueDrains) {
  for (const int flows : {1, 2, 3, 10, 50}) {
    RcpCp cp(kLaw, 1_Gbps);
    std::deque<double> sent(4, 50e6);  // of the last round trip, bit/s
    double queue = 0, longest = 0;     // bytes
    for (int i = 0; i < 2'000; ++i) {
      const double bytes = flows * sent.front() * 0.010 / 8;
      queue = std::max(0.0, queue + bytes - 1'250'000);
      longest = std::max(longest, queue);
      cp.on_frame(Bytes::from_count(std::llround(bytes)), 40_ms);
      cp.end_slot(Bytes::from_count(std::llround(queue)));
      sent.pop_front(), sent.push_back(static_cast<double>(cp.rate().bps()));
    }
    EXPECT_NEAR(static_cast<double>(cp.rate().bps()) * flows, 1e9, 1e6) << flows;
    EXPECT_LT(queue, 1) << flows;
    EXPECT_EQ(longest > 1'000'000, flows == 50) << "50 flows at a twentieth each were too many at first";
  }
}

}  // namespace
}  // namespace rocelab
