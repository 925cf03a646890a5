#include "irn_provider/cc/p4qcn_rp.h"

#include <gtest/gtest.h>

#include "base/wire/controls.h"
#include "irn_provider/cc/cc_algorithm.h"

namespace rocelab {
namespace {

constexpr Time at(Duration d) { return Time::zero() + d; }

P4qcnRp make(const P4qcnRpParams& params = {}, Rate line = 64_Mbps) { return P4qcnRp(params, {line}); }

FeedbackResult fbp(P4qcnRp& rp, Time now, std::uint32_t cp = kCpNetwork + 1) {
  Packet packet;
  put_control(packet, P4qcnFbp{cp, 12, Qpn{1}});
  return rp.on_feedback(packet, now);
}
void cycle(P4qcnRp& rp, Time now) {
  for (int i = 0; i < 150; ++i) rp.on_sent(1000_B, now);
}

TEST(P4qcnRpTest, StartsAtLineRateAndStaysThereWithoutFeedback) {
  P4qcnRp rp = make();
  cycle(rp, at(1_s));
  EXPECT_EQ(rp.rate(at(1_s)), 64_Mbps);
  EXPECT_TRUE(rp.next_change().is_never());
}

// Equations 2 to 4 by hand: reduction, five cycles of fast recovery (R_c = R_t (1 - 2^-6)), active increase.
TEST(P4qcnRpTest, AFeedbackPacketHalvesAndFiveCyclesHalveTheWayBack) {
  P4qcnRp rp = make();
  const FeedbackResult result = fbp(rp, at(1_us));
  EXPECT_TRUE(result.accepted);
  EXPECT_EQ(result.rate, 32_Mbps);
  EXPECT_EQ(rp.target(), 64_Mbps);
  const Rate want[] = {48_Mbps, 56_Mbps, 60_Mbps, 62_Mbps, 63_Mbps};
  for (const Rate rate : want) {
    cycle(rp, at(2_us));
    EXPECT_EQ(rp.rate(at(2_us)), rate);
    EXPECT_EQ(rp.target(), 64_Mbps);
  }
  fbp(rp, at(3_us));  // R_t = 63 Mb/s, R_c = 31.5 Mb/s
  fbp(rp, at(3_us));  // R_t = 31.5 Mb/s, R_c = 15.75 Mb/s
  for (int i = 0; i < 5; ++i) cycle(rp, at(4_us));
  EXPECT_EQ(rp.target(), Rate::from_bps(31'500'000));
  cycle(rp, at(4_us));
  EXPECT_EQ(rp.target(), Rate::from_bps(36'500'000)) << "the sixth cycle adds R_AI";
  EXPECT_EQ(rp.rate(at(4_us)), Rate::from_bps((36'500'000 + 31'007'812 + 1) / 2));
}

// The paper caps neither rate: with R_AI = 5 Mb/s a link of 7 Mb/s would be overrun after two steps.
TEST(P4qcnRpTest, BothRatesEndAtTheLine) {
  P4qcnRp rp = make({}, 7_Mbps);
  fbp(rp, at(0_us));
  for (int i = 0; i < 40; ++i) {
    cycle(rp, at(1_us));
    EXPECT_LE(rp.rate(at(1_us)), 7_Mbps);
    EXPECT_LE(rp.target(), 7_Mbps);
  }
  EXPECT_EQ(rp.rate(at(1_us)), 7_Mbps);
}

// To the letter nothing raises a rate but what it lets through.
TEST(P4qcnRpTest, WithoutTheTimerAFlowThatIsCutOftenEnoughStarves) {
  P4qcnRp rp = make({}, 7_Mbps);
  for (int i = 0; i < 16; ++i) fbp(rp, at(0_us));
  EXPECT_EQ(rp.rate(at(60_s)), Rate::from_bps(107));  // 7 Mb/s / 2^16
  EXPECT_TRUE(rp.next_change().is_never());
  for (int i = 0; i < 100; ++i) fbp(rp, at(60_s));
  EXPECT_EQ(rp.rate(at(60_s)), 1_bps) << "never 0: a rate of 0 has no departure times";
}

TEST(P4qcnRpTest, TheTimerAndTheFloorBringItBack) {
  P4qcnRpParams params;
  params.timer = 55_us;
  params.min_rate = 1_Mbps;
  P4qcnRp rp = make(params, 8_Mbps);
  for (int i = 0; i < 16; ++i) fbp(rp, at(0_us));
  EXPECT_EQ(rp.rate(at(0_us)), 1_Mbps);
  EXPECT_EQ(rp.next_change(), at(55_us));
  EXPECT_EQ(rp.rate(at(55_us) - 1_ps), 1_Mbps);
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(rp.rate(at(55_us * i)), 1_Mbps) << "the target is the floor as well";
  EXPECT_EQ(rp.rate(at(55_us * 6)), Rate::from_bps(3'500'000)) << "R_AI";
  EXPECT_EQ(rp.rate(at(10_ms)), 8_Mbps);
  EXPECT_TRUE(rp.next_change().is_never());
}

TEST(P4qcnRpTest, BetaIsTwiceTheShareThatOneTakes) {
  P4qcnRpParams params;
  params.beta = 0.5;
  P4qcnRp rp = make(params);
  fbp(rp, at(0_us));
  EXPECT_EQ(rp.rate(at(0_us)), 48_Mbps);
}

// 4.2.4: one law in two forms.
TEST(P4qcnRpTest, WithThreePointsACnpDoesWhatAFeedbackPacketDoes) {
  P4qcnRpParams params;
  params.timer = 55_us;
  params.min_rate = 1_Mbps;
  P4qcnRp two = make(params);
  P4qcn3Rp three(params, {64_Mbps});
  for (int i = 0; i < 40; ++i) {
    const Time now = at(20_us * i);
    if (i % 9 < 2) {
      fbp(two, now);
      three.on_cnp(now);
    }
    for (CongestionControl* each :
         {static_cast<CongestionControl*>(&two), static_cast<CongestionControl*>(&three)})
      each->on_sent(40_KB, now);
    EXPECT_EQ(three.rate(now), two.rate(now)) << i;
    EXPECT_EQ(three.next_change(), two.next_change()) << i;
  }
  EXPECT_LT(two.rate(at(800_us)), 64_Mbps);
  Packet packet;
  put_control(packet, P4qcnFbp{kCpNetwork + 1, 12, Qpn{1}});
  EXPECT_FALSE(three.on_feedback(packet, at(1_ms)).accepted) << "it has its feedback from the receiver";
  const CcConfig config = cc_config("p4qcn3");
  EXPECT_EQ(config.cnp_interval(), 50_us);
}

TEST(P4qcnRpTest, FeedbackOfOthersIsRefused) {
  P4qcnRp rp = make();
  EXPECT_FALSE(fbp(rp, at(0_us), 0x0a000001).accepted) << "not a congestion point's address";
  Packet packet;
  put_control(packet, RoccFeedback(kCpNetwork + 1, 1, Qpn{1}));
  EXPECT_FALSE(rp.on_feedback(packet, at(0_us)).accepted);
  EXPECT_EQ(rp.rate(at(0_us)), 64_Mbps);
  const auto rocc = algorithm_of(cc_config("rocc"))->make(cc_config("rocc"), {40_Gbps});
  put_control(packet, P4qcnFbp{kCpNetwork + 1, 12, Qpn{1}});
  EXPECT_FALSE(rocc->on_feedback(packet, at(0_us)).accepted);
}

}  // namespace
}  // namespace rocelab
