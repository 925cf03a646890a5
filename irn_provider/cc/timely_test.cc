#include "irn_provider/cc/timely.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

constexpr Time at(Duration d) { return Time::zero() + d; }

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

}  // namespace
}  // namespace rocelab
