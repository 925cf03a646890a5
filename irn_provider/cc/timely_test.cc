#include "irn_provider/cc/timely.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace rocelab {
namespace {

constexpr Time at(Duration d) { return Time::zero() + d; }
double gbps(Rate rate) { return static_cast<double>(rate.bps()) * 1e-9; }

// Samples far apart (each weighs fully) of an application that keeps up, unless a test says otherwise.
struct Bench {
  explicit Bench(TimelyParams params = {}, Rate line = 10_Gbps) : timely(params, {line}) {}
  Rate sample(Duration rtt, Duration gap = 100_us, Bytes sent = 1_MB) {
    now = now + gap;
    timely.on_rtt({rtt, rtt + 13_us, sent}, now);
    return timely.rate(now);
  }
  Timely timely;
  Time now;
};

TimelyParams plain() {  // EWMA off: hand computation stays short
  TimelyParams params;
  params.alpha = 1;
  return params;
}

TEST(TimelyTest, StartsAtLineRateAndIsCappedThere) {
  Bench b;
  EXPECT_EQ(b.timely.rate(at(0_us)), 10_Gbps);
  EXPECT_EQ(b.sample(20_us), 10_Gbps);
}

// Above T_high: rate * (1 - 0.8 * (1 - 500/1000)) = 6 Gb/s, then at 625 us rate * (1 - 0.8 * 0.2).
TEST(TimelyTest, AboveTHighTheRateFallsByTheExcess) {
  Bench b(plain());
  EXPECT_EQ(b.sample(1000_us), 6_Gbps);
  EXPECT_EQ(b.sample(625_us), 5'040_Mbps);
}

TEST(TimelyTest, BelowTLowTheRateRisesByDeltaWhateverTheGradient) {
  Bench b(plain());
  b.sample(1000_us);  // 6 Gb/s
  EXPECT_EQ(b.sample(20_us), 6'010_Mbps);
  EXPECT_EQ(b.sample(49_us), 6'020_Mbps) << "a gradient of 1.45 does not count below T_low";
}

// Gradient zone: the RTT rises from 100 to 105 us, 5/20 of minRTT: rate * (1 - 0.8 * 0.25).
TEST(TimelyTest, ARisingRttTakesItsShareAFallingOneGivesDelta) {
  Bench b(plain());
  EXPECT_EQ(b.sample(100_us), 10_Gbps) << "the first sample has no gradient";
  EXPECT_EQ(b.sample(105_us), 8_Gbps);
  EXPECT_EQ(b.sample(105_us), 8'010_Mbps) << "a gradient of 0 is room for more";
  EXPECT_EQ(b.sample(90_us), 8'020_Mbps);
}

// alpha = 0.5: differences 8, 0 us give gradients 4/20 and 2/20.
TEST(TimelyTest, TheGradientIsSmoothed) {
  TimelyParams params;
  params.alpha = 0.5;
  Bench b(params);
  b.sample(100_us);
  EXPECT_EQ(b.sample(108_us), 8'400_Mbps);  // 10 G * (1 - 0.8 * 0.2)
  EXPECT_EQ(b.sample(108_us), 7'728_Mbps);  // 8.4 G * (1 - 0.8 * 0.1)
}

TEST(TimelyTest, TheFifthFallingRttBeginsHyperactiveIncrease) {
  Bench b(plain());
  b.sample(1000_us), b.sample(300_us);
  Rate before = b.timely.rate(b.now);  // that was the first that fell
  for (int i = 0; i < 3; ++i) {
    const Rate now = b.sample(200_us - 1_us * i);
    EXPECT_EQ(now - before, 10_Mbps);
    before = now;
  }
  EXPECT_EQ(b.sample(150_us) - before, 50_Mbps);
  before = b.timely.rate(b.now);
  EXPECT_EQ(b.sample(150_us) - before, 10_Mbps) << "an RTT that does not fall ends it";
}

// 3.4: four completions within a minimum RTT of 20 us weigh a quarter each.
TEST(TimelyTest, UpdatesAreScaledByCompletionsPerMinimumRtt) {
  Bench b(plain());
  b.sample(1000_us);  // 6 Gb/s
  for (int i = 0; i < 4; ++i) b.sample(30_us, 5_us);
  EXPECT_EQ(b.timely.rate(b.now), 6'010_Mbps);
  EXPECT_EQ(b.sample(1000_us, 5_us), Rate::from_bps(5'409'000'000));  // 6.01 G * (1 - 0.25 * 0.4)
}

// 3.4: 0.8 of 6 Gb/s over 33 us are 19,800 bytes.
TEST(TimelyTest, TheTargetDoesNotRiseUnlessTheApplicationKeepsUp) {
  Bench b(plain());
  b.sample(1000_us);
  EXPECT_EQ(b.sample(20_us, 100_us, 19'800_B), 6_Gbps);
  EXPECT_EQ(b.sample(20_us, 100_us, 19'801_B), 6'010_Mbps);
  EXPECT_LT(b.sample(900_us, 100_us, 1_B), 6_Gbps) << "but it falls";
}

TEST(TimelyTest, OneUpdateTakesAtMostHalfAndTheFloorHolds) {
  Bench b(plain());
  b.sample(100_us);
  EXPECT_EQ(b.sample(400_us), 5_Gbps) << "algorithm 1 alone would go to -110 Gb/s";
  for (int i = 0; i < 20; ++i) b.sample(100_us), b.sample(400_us);
  EXPECT_GE(b.timely.rate(b.now), 10_Mbps);
  EXPECT_LE(b.timely.rate(b.now), 30_Mbps);
}

TEST(TimelyTest, OutstandingDataIsCappedByWhatLineRateSendsInTHigh) {
  EXPECT_EQ(Timely(TimelyParams{}, {10_Gbps}).window(), 625'000 / 1024);
  TimelyParams params;
  params.max_outstanding = 100_KB;
  EXPECT_EQ(Timely(params, {10_Gbps}).window(), 97);
}

TEST(TimelyTest, ALossBacksOffOnlyWhenAskedTo) {
  Timely without(TimelyParams{}, {10_Gbps});
  without.on_loss(CcLoss::kRecovery, at(1_us));
  EXPECT_EQ(without.rate(at(1_us)), 10_Gbps);
  TimelyParams params;
  params.loss_backoff = 0.5;
  Timely with(params, {10_Gbps});
  with.on_loss(CcLoss::kTimeout, at(1_us));
  EXPECT_EQ(with.rate(at(1_us)), 5_Gbps);
}

// --- errors of measurement (3.5.1, figure 3.10)

TimelyParams noisy(Duration noise) {
  TimelyParams params = plain();
  params.rtt_noise = noise;
  return params;
}

TEST(TimelyTest, NoiseMakesRttsLongerByAtMostItself) {
  TimelyParams below = noisy(20_us), above = noisy(20_us);
  below.t_low = 60_us + 1_ps;
  above.t_low = above.t_high = 40_us;  // at 40 us neither below the one nor above the other
  Bench b(below), c(above);
  b.timely.seed(Rng(7)), c.timely.seed(Rng(7));
  b.sample(3000_us), c.sample(3000_us);  // both at half of the line's rate or less
  for (int i = 0; i < 200; ++i) {
    const Rate low = b.timely.rate(b.now), high = c.timely.rate(c.now);
    EXPECT_EQ(b.sample(40_us) - low, 10_Mbps) << "never above 60 us";
    EXPECT_LE(c.sample(40_us), high + 10_Mbps) << "never below 40 us";
  }
  EXPECT_LT(c.timely.rate(c.now), 1_Gbps) << "some 10 us above T_high on average";
}

TEST(TimelyTest, NoiseFollowsTheQueuePairsStream) {
  const auto rates = [](std::uint64_t seed) {
    Bench b(noisy(30_us));
    b.timely.seed(Rng(seed));
    std::vector<Rate> list;
    for (int i = 0; i < 20; ++i) list.push_back(b.sample(80_us));
    return list;
  };
  EXPECT_EQ(rates(1), rates(1));
  EXPECT_NE(rates(1), rates(2));
}

// --- patched TIMELY (Zhu et al., CoNEXT 2016, 4.3)

// --- patched TIMELY (Zhu et al., CoNEXT 2016, 4.3)

TimelyParams patched() {
  for (const auto& preset : Timely::presets())
    if (std::string_view(preset.name) == "patched") return preset.params;
  return {};
}

// 100 us is 100 % more than RTT_ref, which takes beta times that, weighed with half at a gradient of 0: with
// 10 Mb/s at half weight 9.965 of 10 Gb/s. A gradient of 5/20 (and more) leaves the decrease alone, -5/20 the
// increment.
TEST(TimelyTest, PatchedTheGradientWeighsTheIncrementAgainstTheDistanceFromRttRef) {
  TimelyParams params = patched();
  params.alpha = 1;
  Bench b(params);
  EXPECT_EQ(b.sample(100_us), 9'965_Mbps);
  Rate before = b.timely.rate(b.now);
  EXPECT_NEAR(gbps(b.sample(105_us)) / gbps(before), 1 - 0.008 * 1.1, 1e-9);
  before = b.timely.rate(b.now);
  EXPECT_EQ(b.sample(100_us) - before, 10_Mbps);
}

TEST(TimelyTest, PatchedBelowRttRefBothTermsRaiseTheRateIfTheApplicationKeepsUp) {
  TimelyParams params = patched();
  params.alpha = 1;
  params.t_low = 20_us;
  params.rtt_ref = 100_us;
  Bench b(params);
  for (int i = 0; i < 200; ++i) b.sample(400_us);
  const Rate before = b.timely.rate(b.now);
  b.sample(50_us);  // its gradient takes the weight from the distance
  EXPECT_NEAR(gbps(b.sample(50_us) - before), 0.01 + 0.005 + (gbps(before) + 0.01) * 0.008 * 0.5 * 0.5, 1e-6);
  const Rate idle = b.timely.rate(b.now);
  EXPECT_EQ(b.sample(50_us, 100_us, 100_B), idle);
}

// N flows through one queue of 10 Gb/s, whose lengths and rates move in steps of 5 us. Flow i begins at
// about i + 1 shares of all; each takes an RTT per segment or per 20 us.
struct FluidQueue {
  FluidQueue(const TimelyParams& params, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      flows.emplace_back(params, CcContext{10_Gbps});
      const double share = 2.0 * static_cast<double>(i + 1) / static_cast<double>(n * (n + 1));
      for (Time t; rate(i) > 10e9 * share;) flows[i].on_rtt({5_ms, 5_ms, 100_MB}, t = t + 100_us);
      next.push_back(Time::zero() + 1_s + static_cast<std::int64_t>(i) * 5_us);
    }
  }
  double rate(std::size_t i) { return static_cast<double>(flows[i].rate(now).bps()); }
  Duration rtt() const { return 4_us + Duration::from_ps(static_cast<std::int64_t>(queue * 800)); }
  void run(Duration length) {
    for (const Time end = now + length; now < end; now = now + 5_us) {
      double sum = 0;
      for (std::size_t i = 0; i < flows.size(); ++i) sum += rate(i);
      queue = std::max(0.0, queue + (sum - 10e9) / 8 * 5e-6);
      for (std::size_t i = 0; i < flows.size(); ++i) {
        if (now < next[i]) continue;
        const Duration gap = transfer_time(16_KB, flows[i].rate(now));
        flows[i].on_rtt({rtt(), rtt() + 13_us, 10_MB}, now);
        next[i] = now + std::max(gap, 20_us);
      }
    }
  }
  std::vector<Timely> flows;
  std::vector<Time> next;
  Time now = Time::zero() + 1_s;
  double queue = 0;  // bytes
};

// 4.3: R = C / N, and the queue is longer than that at RTT_ref by N delta / (beta C) of it.
TEST(TimelyTest, PatchedAllRatesComeToTheFairShareAndTheQueueToItsOnlyLength) {
  for (const std::size_t n : {2u, 5u, 10u}) {
    FluidQueue link(patched(), n);
    link.run(400_ms);
    const double excess = static_cast<double>(n) * 10e6 / (0.008 * 10e9);
    EXPECT_NEAR(link.rtt().seconds(), 50e-6 * (1 + excess), 1e-6) << n;
    for (std::size_t i = 0; i < n; ++i)
      EXPECT_NEAR(link.rate(i) * static_cast<double>(n) / 10e9, 1, 0.01) << i;
  }
}

TEST(TimelyTest, UnpatchedRatesOfTheSameQueueGrowApart) {
  TimelyParams params;
  params.hai_factor = 1;
  FluidQueue link(params, 2);
  const double before = std::max(link.rate(0), link.rate(1)) / (link.rate(0) + link.rate(1));
  link.run(400_ms);
  const double sum = link.rate(0) + link.rate(1);
  EXPECT_NEAR(sum, 10e9, 0.1e9) << "the link is full";
  EXPECT_GT(std::max(link.rate(0), link.rate(1)) / sum, before) << "and nothing makes them equal";
}

}  // namespace
}  // namespace rocelab
