#include "irn_provider/cc/rocc_rp.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/wire/rocc_cnp.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kNear = kCpNetwork + 1, kFar = kCpNetwork + 2;
constexpr Duration kTick = Duration::from_ps(1);

// 40 Gb/s, reaction delay 15 us, recovery timer 80 us.
struct Bench {
  bool cnp(std::uint32_t cp, Rate rate, Duration when) {
    return rp.on_switch_rate({cp, static_cast<std::uint32_t>(rate.bps() / 10'000'000)}, at(when)).has_value();
  }
  Rate rate(Duration when) { return rp.rate(at(when)); }
  static Time at(Duration when) { return Time::zero() + when; }
  RoccRp rp{RoccRpParams{}, {40_Gbps}};
};

TEST(RoccRpTest, BeginsAtLineRateWithoutALimiter) {
  Bench b;
  EXPECT_EQ(b.rate(0_us), 40_Gbps);
  EXPECT_FALSE(b.rp.limited());
  EXPECT_TRUE(b.rp.next_change().is_never());
}

TEST(RoccRpTest, ACnpTakesEffectOneReactionDelayAfterItsArrival) {
  Bench b;
  ASSERT_TRUE(b.cnp(kNear, 4_Gbps, 100_us));
  EXPECT_EQ(b.rp.next_change(), Bench::at(115_us));
  EXPECT_EQ(b.rate(115_us - kTick), 40_Gbps);
  EXPECT_EQ(b.rate(115_us), 4_Gbps);
  EXPECT_TRUE(b.rp.limited());
}

// Algorithm 2, line 4.
TEST(RoccRpTest, AcceptsALowerRateFromAnyAndAHigherOneOnlyFromThePointInForce) {
  Bench b;
  b.cnp(kNear, 4_Gbps, 0_us);
  b.cnp(kFar, 6_Gbps, 1_us);
  EXPECT_EQ(b.rate(20_us), 4_Gbps) << "higher, from another point";
  EXPECT_EQ(b.rp.cp(), kNear);
  b.cnp(kNear, 5_Gbps, 21_us);
  EXPECT_EQ(b.rate(36_us), 5_Gbps) << "higher, from the point in force";
  b.cnp(kFar, 5_Gbps, 37_us);
  EXPECT_EQ(b.rate(52_us), 5_Gbps);
  EXPECT_EQ(b.rp.cp(), kFar) << "no higher: that is accepted, and the point changes";
  b.cnp(kFar, 6_Gbps, 53_us);
  EXPECT_EQ(b.rate(68_us), 6_Gbps);
}

// Lines 8 to 13, at the timer - 1 ps and at the timer.
TEST(RoccRpTest, WithoutCnpsTheRateDoublesUntilBeyondLineRateAndTheLimiterGoes) {
  Bench b;
  b.cnp(kNear, 10_Gbps, 0_us);
  const Duration first = 15_us + 80_us;
  EXPECT_EQ(b.rate(first - kTick), 10_Gbps);
  EXPECT_EQ(b.rate(first), 20_Gbps);
  EXPECT_EQ(b.rate(first + 80_us - kTick), 20_Gbps);
  EXPECT_EQ(b.rate(first + 80_us), 40_Gbps) << "R_cur = R_max: not above yet";
  EXPECT_EQ(b.rate(first + 160_us), 40_Gbps) << "R_cur = 2 R_max, held by the line";
  EXPECT_TRUE(b.rp.limited());
  EXPECT_EQ(b.rate(first + 240_us), 40_Gbps);
  EXPECT_FALSE(b.rp.limited()) << "R_cur > R_max at the timer: removed";
  EXPECT_EQ(b.rp.cp(), 0u);
}

TEST(RoccRpTest, AnAcceptedCnpResetsTheTimerAndARefusedOneDoesNot) {
  Bench b;
  b.cnp(kNear, 4_Gbps, 0_us);
  b.cnp(kFar, 9_Gbps, 70_us);  // takes effect at 85 us, and is not accepted
  EXPECT_EQ(b.rate(95_us), 8_Gbps);
  b.cnp(kNear, 4_Gbps, 96_us);  // 111 us
  EXPECT_EQ(b.rate(191_us - kTick), 4_Gbps);
  EXPECT_EQ(b.rate(191_us), 8_Gbps);
}

TEST(RoccRpTest, TimersThatNobodyLookedAtAreMadeUpFor) {
  Bench b, asked_often;
  for (Bench* each : {&b, &asked_often}) each->cnp(kNear, 1_Gbps, 0_us);
  for (int i = 1; i < 300; ++i) asked_often.rate(i * 1_us);
  EXPECT_EQ(b.rate(300_us), asked_often.rate(300_us));
  EXPECT_EQ(b.rate(300_us), 8_Gbps);
}

TEST(RoccRpTest, WhatCannotBeRightIsRefusedAndChangesNothing) {
  RoccRpParams params;
  params.max_feedback = 100_Gbps;
  RoccRp rp(params, {40_Gbps});
  const Time now = Time::zero();
  EXPECT_FALSE(rp.on_switch_rate({kNear, 0}, now)) << "rate 0 would stop the flow for good";
  EXPECT_FALSE(rp.on_switch_rate({kNear, 10'001}, now)) << "above every link";
  EXPECT_FALSE(rp.on_switch_rate({kNear, 0xffffffff}, now));
  EXPECT_FALSE(rp.on_switch_rate({0x0a000003, 400}, now)) << "a host's address";
  EXPECT_FALSE(rp.on_switch_rate({0, 400}, now));
  EXPECT_TRUE(rp.next_change().is_never());
  EXPECT_TRUE(rp.on_switch_rate({kNear, 10'000}, now)) << "a 100 Gb/s link may allow more than ours has";
  EXPECT_EQ(rp.rate(Time::zero() + 20_us), 40_Gbps);
}

// A copy says what was said: the rate stays, and what would have come later comes no earlier.
TEST(RoccRpTest, ACopyChangesNothingButTheTimer) {
  Bench once, twice;
  for (Bench* b : {&once, &twice}) b->cnp(kNear, 4_Gbps, 0_us);
  twice.cnp(kNear, 4_Gbps, 0_us);
  for (Duration t = 0_us; t < 400_us; t += 1_us) ASSERT_EQ(once.rate(t), twice.rate(t)) << to_string(t);
  twice.cnp(kNear, 4_Gbps, 401_us);
  twice.cnp(kNear, 4_Gbps, 403_us);
  EXPECT_EQ(twice.rate(418_us + 80_us - kTick), 4_Gbps);
  EXPECT_EQ(twice.rate(418_us + 80_us), 8_Gbps) << "one period after the later one";
}

// Of two CNPs of one point that change places the older one is in force until the next: one period T.
TEST(RoccRpTest, AnOldRateThatComesLateHoldsUntilTheNextOne) {
  Bench b;
  b.cnp(kNear, 4_Gbps, 40_us);
  b.cnp(kNear, 5_Gbps, 41_us);
  EXPECT_EQ(b.rate(60_us), 5_Gbps);
  b.cnp(kNear, 4'200_Mbps, 80_us);
  EXPECT_EQ(b.rate(100_us), 4'200_Mbps);
}

// A lost CNP: the present rate holds for two periods, so that a single one doubles nothing.
TEST(RoccRpTest, OneLostCnpDoublesNoRate) {
  Bench b;
  for (int period = 0; period < 20; ++period) {
    if (period % 2 == 0) b.cnp(kNear, 4_Gbps, 40_us * period);
    EXPECT_EQ(b.rate(40_us * period + 39_us), 4_Gbps) << period;
  }
}

TEST(RoccRpTest, StartForgetsEverything) {
  Bench b;
  b.cnp(kNear, 1_Gbps, 0_us);
  b.cnp(kNear, 2_Gbps, 10_us);
  ASSERT_EQ(b.rate(15_us), 1_Gbps);
  b.rp.start(Bench::at(20_us));
  EXPECT_EQ(b.rate(30_us), 40_Gbps);
  EXPECT_FALSE(b.rp.limited());
}

TEST(RoccRpTest, AnySequenceKeepsTheRateBetweenTheLowestThatWasSaidAndTheLine) {
  Rng rng(11);
  Bench b;
  Duration now{};
  for (int i = 0; i < 20'000; ++i) {
    now += Duration::from_ps(static_cast<std::int64_t>(rng.below(60'000'000)));
    if (rng.bernoulli(0.7))
      b.rp.on_switch_rate({kCpNetwork + static_cast<std::uint32_t>(rng.below(3)),
                           static_cast<std::uint32_t>(10 + rng.below(6000))},
                          Bench::at(now));
    const Rate rate = b.rate(now);
    ASSERT_GE(rate, 100_Mbps) << "step " << i;
    ASSERT_LE(rate, 40_Gbps) << "step " << i;
    ASSERT_GT(b.rp.next_change(), Bench::at(now)) << "step " << i;
  }
}

}  // namespace
}  // namespace rocelab
