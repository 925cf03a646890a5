// RoCC's fair rate computed at the host (Menikkumbura, 3.3.6), against the law itself.
#include "irn_provider/cc/rocc_host.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/wire/rocc_cnp.h"
#include "irn_provider/cc/rocc_rp.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kNear = kCpNetwork + 1, kFar = kCpNetwork + 2, kFull = 4000;

RoccReport report(std::uint32_t period, std::uint32_t q_cur) { return {RoccForm::kQueue, period, q_cur, {}}; }

struct HostBench {
  RoccHost::Computed on(std::uint32_t cp, std::uint32_t period, std::uint32_t q_cur) {
    return host.on_report(cp, kFull, report(period, q_cur), values, Time::zero() + 40_us * now++);
  }
  RoccValues values = rocc_values(RoccParams{});
  RoccHost host;
  int now = 0;
};

TEST(RoccHostTest, ComputesWhatTheSwitchWould) {
  Rng rng(3);
  HostBench b;
  RoccLaw law(b.values);
  for (std::uint32_t period = 1; period < 5000; ++period) {
    const auto q_cur = static_cast<std::uint32_t>(rng.below(rng.bernoulli(0.1) ? 800 : 400));
    const bool was_unlimited = law.unlimited();
    law.update(q_cur);
    const RoccHost::Computed got = b.on(kNear, period, q_cur);
    ASSERT_EQ(got.rate, law.units()) << period;
    ASSERT_EQ(got.news, !was_unlimited || !law.unlimited()) << period;
  }
}

TEST(RoccHostTest, ACopyAndAnOlderReportAreNotCountedAgain) {
  HostBench b;
  EXPECT_EQ(b.on(kNear, 7, 250).rate, 3625u);  // 4000 - 1.5 * 250
  EXPECT_FALSE(b.on(kNear, 7, 250).news);
  EXPECT_FALSE(b.on(kNear, 6, 900).news);
  EXPECT_EQ(b.on(kNear, 6, 900).rate, 3625u);
  EXPECT_EQ(b.on(kNear, 8, 250).rate, 3625u) << "at Q_ref and flat";
}

TEST(RoccHostTest, PeriodNumbersWrap) {
  HostBench b;
  b.on(kNear, 0xffffffff, 250);
  EXPECT_TRUE(b.on(kNear, 0, 300).news);
  EXPECT_FALSE(b.on(kNear, 0xffffffff, 300).news);
}

// A wrong number from somewhere must not silence a point for good.
TEST(RoccHostTest, ANumberFromFarAheadSilencesNobody) {
  HostBench b;
  b.on(kNear, 7, 250);
  b.on(kNear, 7 + 1'000'000, 250);
  EXPECT_TRUE(b.on(kNear, 8, 300).news);
  EXPECT_FALSE(b.on(kNear, 8, 300).news);
  EXPECT_FALSE(b.on(kNear, 8 - 1023, 300).news);
}

// The terms of growth add up over periods that were missed: only those of the distance to Q_ref are lost.
TEST(RoccHostTest, GrowthOverMissedPeriodsIsCountedOnce) {
  HostBench all, some;
  all.values.alpha = some.values.alpha = 0;
  for (std::uint32_t period = 1; period <= 9; ++period) {
    const RoccHost::Computed got = all.on(kNear, period, 10 * period);
    if (period % 3 == 0) {
      EXPECT_EQ(some.on(kNear, period, 10 * period).rate, got.rate);
    }
  }
}

TEST(RoccHostTest, PointsAreKeptApart) {
  HostBench b;
  EXPECT_EQ(b.on(kNear, 1, 250).rate, 3625u);
  EXPECT_EQ(b.on(kFar, 1, 100).rate, 3895u);  // 4000 + 0.3 * 150 - 1.5 * 100
  EXPECT_EQ(b.on(kNear, 2, 250).rate, 3625u);
}

TEST(RoccHostTest, OtherValuesOfAPointBeginAnew) {
  HostBench b;
  b.on(kNear, 100, 250);
  b.values.q_ref = 300;
  EXPECT_EQ(b.on(kNear, 1, 0).rate, kFull) << "whatever number it has";
}

// Addresses come from the network: no sender of CNPs can make a host keep more than so many.
TEST(RoccHostTest, ForgetsThePointThatWasHeardLeastRecently) {
  HostBench b;
  for (std::uint32_t i = 0; i < 1000; ++i) b.on(kCpNetwork + i, 1, 250);
  EXPECT_EQ(b.host.points(), RoccHost::kMostPoints);
  EXPECT_FALSE(b.on(kCpNetwork + 999, 1, 250).news) << "known: a copy";
  EXPECT_TRUE(b.on(kCpNetwork + 1, 1, 250).news) << "forgotten: begins again";
}

// Through the reaction point: as RoccRpTest, 40 Gb/s, reaction delay 15 us, timer 80 us.
struct RpBench {
  explicit RpBench(RoccForm form, Rate line = 40_Gbps) : rp(params(form), {line}) {}
  static RoccRpParams params(RoccForm form) {
    RoccRpParams p;
    p.form = form;
    p.max_feedback = 100_Gbps;
    for (const Rate link : {40_Gbps, 100_Gbps})
      p.registry.sets[p.registry.used++] = rocc_values(rocc_params_for(link));
    return p;
  }
  // In Delta^F.
  std::optional<std::uint32_t> on(std::uint32_t f, const RoccReport& r, Duration when) {
    const std::optional<Rate> rate = rp.on_switch_rate({kNear, f, r}, Time::zero() + when);
    return rate ? std::optional(static_cast<std::uint32_t>(rate->bps() / 10'000'000)) : std::nullopt;
  }
  RoccRp rp;
};

TEST(RoccHostTest, BothFormsGiveTheSameRateAndItTakesEffectAfterTheReactionDelay) {
  for (const RoccForm form : {RoccForm::kQueue, RoccForm::kValues}) {
    RpBench b(form);
    const RoccReport r{form, 1, 250, form == RoccForm::kValues ? rocc_values(RoccParams{}) : RoccValues{}};
    EXPECT_EQ(b.on(4000, r, 40_us), 3625u);
    EXPECT_EQ(b.rp.rate(Time::zero() + 55_us - Duration::from_ps(1)), 40_Gbps);
    EXPECT_EQ(b.rp.rate(Time::zero() + 55_us), 36'250_Mbps);
  }
}

TEST(RoccHostTest, TheRegistryIsAskedByF) {
  RpBench b(RoccForm::kQueue);
  EXPECT_EQ(b.on(10'000, report(1, 500), 40_us), 8875u) << "100 Gb/s: 10000 - 2.25 * 500";
  EXPECT_EQ(b.on(5'000, report(2, 500), 80_us), std::nullopt) << "no link has this F";
}

TEST(RoccHostTest, AnIdleQueueInstallsNoLimiter) {
  RpBench b(RoccForm::kQueue);
  EXPECT_EQ(b.on(4000, report(1, 0), 40_us), 4000u);
  EXPECT_TRUE(b.rp.next_change().is_never());
}

TEST(RoccHostTest, WhenTheLimiterGoesSoDoesWhatWasComputedForIt) {
  RpBench b(RoccForm::kQueue);
  b.on(4000, report(1, 600), 0_us);  // beyond Q_max: F_min
  EXPECT_EQ(b.on(4000, report(2, 600), 40_us), 2u + 8u) << "F_min is the floor";
  EXPECT_EQ(b.rp.rate(Time::zero() + 2_ms), 40_Gbps);
  ASSERT_FALSE(b.rp.limited());
  EXPECT_EQ(b.on(4000, report(60, 250), 2400_us), 3625u) << "from the beginning";
}

TEST(RoccHostTest, WhatCannotBeRightIsRefused) {
  const RoccValues good = rocc_values(RoccParams{});
  RpBench values(RoccForm::kValues), registry(RoccForm::kQueue), rates(RoccForm::kRate);
  const auto with = [&](RoccValues v) { return RoccReport{RoccForm::kValues, 1, 250, v}; };
  EXPECT_EQ(registry.on(4000, with(good), 1_us), std::nullopt) << "a form that was not agreed on";
  EXPECT_EQ(values.on(4000, report(1, 250), 1_us), std::nullopt);
  EXPECT_EQ(rates.on(4000, report(1, 250), 1_us), std::nullopt);
  EXPECT_EQ(values.on(9, with(good), 1_us), std::nullopt) << "F below F_min";
  EXPECT_EQ(values.on(4001, with(good), 1_us), std::nullopt) << "F above F_max";
  RoccValues bad = good;
  bad.f_max = RoccValues::whole(10'001);
  EXPECT_EQ(values.on(4000, with(bad), 1_us), std::nullopt) << "above the network's fastest link";
  bad = good;
  bad.f_min = 0;
  EXPECT_EQ(values.on(4000, with(bad), 1_us), std::nullopt) << "a flow could stop for good";
  EXPECT_EQ(values.rp.on_switch_rate({0x0a000001, 4000, with(good)}, Time::zero() + 1_us), std::nullopt);
  for (RpBench* b : {&values, &registry, &rates}) EXPECT_TRUE(b->rp.next_change().is_never());
}

TEST(RoccHostTest, AnySequenceKeepsTheRateBetweenFminAndTheLine) {
  Rng rng(17);
  RpBench b(RoccForm::kValues);
  Duration now{};
  for (int i = 0; i < 20'000; ++i) {
    now += Duration::from_ps(static_cast<std::int64_t>(rng.below(60'000'000)));
    RoccValues v = rocc_values(rocc_params_for(40_Gbps));
    if (rng.bernoulli(0.05)) v.beta = static_cast<std::int64_t>(rng.below(std::uint64_t{1} << 48));
    const auto any = [&] { return static_cast<std::uint32_t>(rng.below(std::uint64_t{1} << rng.below(33))); };
    b.rp.on_switch_rate({kCpNetwork + static_cast<std::uint32_t>(rng.below(30)),
                         10 + any(),
                         {RoccForm::kValues, any(), any(), v}},
                        Time::zero() + now);
    const Rate rate = b.rp.rate(Time::zero() + now);
    ASSERT_GE(rate, 100_Mbps) << "step " << i;
    ASSERT_LE(rate, 40_Gbps) << "step " << i;
  }
}

}  // namespace
}  // namespace rocelab
