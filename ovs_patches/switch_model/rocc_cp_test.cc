#include "ovs_patches/switch_model/rocc_cp.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace rocelab {
namespace {

// Brings F to `units` of Delta^F exactly, the queue at Q_ref: with alpha = 0 and beta = 1 each Delta^Q of
// growth takes one Delta^F times the region's share, so the tests that need a given F set it by a parameter.
RoccCp resting_at(Rate rate, RoccParams params = {}) {
  // F_min = F_max = rate for one period would change the regions; instead let F_max be the start and drain.
  RoccCp cp(params);
  cp.update(params.q_max);  // F_min, and Q_old = Q_max
  for (int i = 0; i < 100'000 && cp.rate() < rate; ++i) cp.update(params.q_ref - params.delta_q);
  cp.update(params.q_ref - params.delta_q);
  return cp;
}

TEST(RoccCpTest, FollowsHandComputedTrace) {
  struct Step {
    Bytes q_cur;
    Rate want;
  };
  RoccCp cp(RoccParams{});
  for (auto [q_cur, want] : {Step{150_KB, 36'250_Mbps},  // +250 dQ < Q_mid: 40 G - 10 M * 1.5 * 250
                             Step{150_KB, 36'250_Mbps},  // at Q_ref and flat: holds
                             Step{450_KB, 100_Mbps},     // beyond Q_max: F_min
                             Step{0_B, 480_Mbps}})       // drained: 47.5 by the 1/32 gain, 48 on the wire
    EXPECT_EQ(cp.rate().bps() == 0 ? Rate{} : (cp.update(q_cur), cp.rate()), want);
}

// github.com/danushkam/rocc: currentRate(0). F_min after the first T, and up from there.
TEST(RoccCpTest, FMayBeginWithNothing) {
  RoccParams params;
  params.f_first = 0_bps;
  RoccCp cp(params);
  EXPECT_FALSE(cp.unlimited());
  EXPECT_EQ((cp.update(0_B), cp.rate()), 100_Mbps);
  EXPECT_EQ((cp.update(0_B), cp.rate()), 120_Mbps);  // + 0.3 / 32 of 250 dQ: 2.34 dF
  for (int i = 0; i < 1'000; ++i) cp.update(0_B);
  EXPECT_TRUE(cp.unlimited());
}

TEST(RoccCpTest, AGrowthOfQmidHalvesAndOneUnitLessDoesNot) {
  RoccCp halved(RoccParams{}), steered(RoccParams{});
  halved.update(300_KB);
  EXPECT_EQ(halved.rate(), 20_Gbps);
  steered.update(300_KB - 600_B);  // 499 dQ: 4000 - 0.3 * 249 - 1.5 * 499 = 3176.8
  EXPECT_EQ(steered.rate(), 31'770_Mbps);
}

TEST(RoccCpTest, AtQmaxTheRateFallsToFminAtOnce) {
  RoccCp cp(RoccParams{});
  cp.update(360_KB);
  EXPECT_EQ(cp.rate(), 100_Mbps);
}

// Both decreases need F > F_max / 8 (lines 2 and 4): below, the PI law works however long the queue is.
TEST(RoccCpTest, BelowAnEighthOfFmaxNeitherDecreaseHappens) {
  for (const Bytes queue : {360_KB, 600_KB}) {
    RoccCp cp = resting_at(4'000_Mbps);
    ASSERT_LE(cp.rate(), 5'000_Mbps);
    const Rate before = cp.rate();
    cp.update(queue);
    // Region [F_max/16, F_max/8): an eighth of the gains.
    const double q = static_cast<double>(queue / 600_B);
    const double want = static_cast<double>(before.bps()) / 1e7 - (0.3 * (q - 250) + 1.5 * (q - 249)) / 8;
    EXPECT_NEAR(static_cast<double>(cp.rate().bps()) / 1e7, want, 1) << to_string(queue);
  }
}

// Six regions: each halving of F below F_max/2 halves the gains, down to 1/32.
TEST(RoccCpTest, GainsFallWithTheFairRateOverSixRegions) {
  struct Region {
    Rate rate;
    double ratio;
  };
  for (const auto& [rate, ratio] :
       {Region{30_Gbps, 1}, Region{15_Gbps, 2}, Region{7'500_Mbps, 4}, Region{3'750_Mbps, 8},
        Region{1'875_Mbps, 16}, Region{900_Mbps, 32}, Region{400_Mbps, 32}}) {
    RoccCp cp = resting_at(rate);
    const std::uint32_t before = cp.units();
    RoccParams p;
    cp.update(p.q_ref - p.delta_q - 60_KB);  // 100 dQ less: + (0.3 * 101 + 1.5 * 100) / ratio
    EXPECT_NEAR(static_cast<double>(cp.units() - before), (0.3 * 101 + 1.5 * 100) / ratio, 1.01)
        << to_string(rate);
  }
}

TEST(RoccCpTest, RegionsBeginExactlyAtTheirBounds) {
  // line 17: while F < F_max / level. At F = F_max / 2 the gains are whole.
  RoccParams p;
  p.alpha = 0;
  p.beta = 1;
  RoccCp cp(p);
  cp.update(300_KB);  // growth of Q_mid: F = F_max / 2
  ASSERT_EQ(cp.units(), 2000u);
  cp.update(300_KB - 600_B);  // + 1 * 1
  EXPECT_EQ(cp.units(), 2001u);
  cp.update(300_KB + 600_B);  // - 2 * 1: F = 1999, below the bound
  EXPECT_EQ(cp.units(), 1999u);
  cp.update(300_KB - 1200_B);    // + 3 * 1 / 2 = 2000.5
  EXPECT_EQ(cp.units(), 2001u);  // rounded
}

// At F_max / 100 a standing error of one Delta^Q moves F by 0.3 / 32 of a unit: without fraction bits it
// would never move, with 8 of them after a while.
TEST(RoccCpTest, FractionsOfARateUnitAddUp) {
  RoccCp cp = resting_at(400_Mbps);
  RoccParams p;
  const std::uint32_t before = cp.units();
  for (int i = 0; i < 107; ++i) cp.update(p.q_ref - p.delta_q);  // 107 * 0.3 / 32 = 1.003
  EXPECT_EQ(cp.units(), before + 1);
}

TEST(RoccCpTest, AnEmptyQueueBringsTheRateBackToFmaxAndKeepsItThere) {
  RoccCp cp(RoccParams{});
  cp.update(400_KB);
  int periods = 0;
  while (!cp.unlimited() && periods < 1000) cp.update(0_B), ++periods;
  EXPECT_TRUE(cp.unlimited());
  EXPECT_EQ(cp.rate(), 40_Gbps);
  EXPECT_LT(periods, 200);  // 8 ms
  cp.update(0_B);
  EXPECT_TRUE(cp.unlimited());
}

TEST(RoccCpTest, StaysBetweenItsBoundsWhateverTheQueueDoes) {
  Rng rng(5);
  RoccCp cp(RoccParams{});
  for (int i = 0; i < 20'000; ++i) {
    const auto bits = static_cast<int>(rng.below(62));
    cp.update(Bytes::from_count(static_cast<std::int64_t>(rng.below(std::uint64_t{1} << bits))));
    ASSERT_GE(cp.rate(), 100_Mbps);
    ASSERT_LE(cp.rate(), 40_Gbps);
  }
}

TEST(RoccCpTest, ThePapersSetsGoWithTheirLinks) {
  const RoccParams slow = rocc_params_for(10_Gbps), middle = rocc_params_for(40_Gbps),
                   fast = rocc_params_for(100_Gbps);
  EXPECT_EQ(slow.q_ref, 75_KB);
  EXPECT_EQ(slow.f_max, 10_Gbps);
  EXPECT_EQ(middle.q_ref, 150_KB);
  EXPECT_EQ(middle.alpha, 0.3);
  EXPECT_EQ(fast.q_max, 660_KB);
  EXPECT_EQ(fast.beta, 2.25);
  EXPECT_EQ(rocc_params_for(25_Gbps).q_ref, 150_KB);
  EXPECT_EQ(rocc_params_for(25_Gbps).f_max, 25_Gbps);
}

}  // namespace
}  // namespace rocelab
