#include "irn_provider/cc/rate_stages.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

constexpr Time at(Duration d) { return Time::zero() + d; }

RateStagesLaw qcn() {
  return {.byte_counter = 150_KB,
          .timer = 15_ms,
          .fast_recovery = 5,
          .ai = 5_Mbps,
          .hai = 50_Mbps,
          .growing_hai = true,
          .shortens = true,
          .later_share = 0.5};
}

// Stages by time alone.
void pass(RateStages& stages, int timers) {
  for (int i = 0; i < timers; ++i) stages.on_timer();
}

TEST(RateStagesTest, BeyondFastRecoveryBothLimitsAreThatShareOfWhatTheyWere) {
  RateStages stages(qcn(), 10_Gbps);
  stages.cut(5e9, false, at(0_ms));
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(stages.timer_at(), at(15_ms * i));
    stages.on_timer();
  }
  EXPECT_EQ(stages.timer_at(), at(75_ms + 7'500_us));
  stages.cut(5e9, false, at(100_ms));
  for (int i = 0; i < 5; ++i) stages.on_sent(150_KB);
  const Rate before = stages.target_rate();
  stages.on_sent(74'999_B);
  EXPECT_EQ(stages.target_rate(), before);
  stages.on_sent(1_B);
  EXPECT_EQ(stages.target_rate(), before + 5_Mbps) << "the sixth stage: active increase";
}

TEST(RateStagesTest, TheNthStageOfHyperIncreaseTakesNSteps) {
  RateStages stages(qcn(), 10_Gbps);
  stages.cut(3e9, false, at(0_ms));
  stages.cut(1e9, false, at(0_ms));  // target 3 Gb/s
  pass(stages, 8);                   // three of them active
  EXPECT_EQ(stages.target_rate(), 3'015_Mbps);
  for (int i = 0; i < 5; ++i) stages.on_sent(150_KB);
  EXPECT_EQ(stages.target_rate(), 3'015_Mbps + 5_Mbps * 5) << "as long as bytes are in fast recovery: active";
  stages.on_sent(75_KB);
  EXPECT_EQ(stages.target_rate(), 3'090_Mbps) << "the sixth by bytes: one step";
  stages.on_sent(75_KB);
  EXPECT_EQ(stages.target_rate(), 3'190_Mbps) << "two";
  stages.on_sent(75_KB);
  EXPECT_EQ(stages.target_rate(), 3'340_Mbps) << "three";
  stages.on_sent(75_KB);
  EXPECT_EQ(stages.target_rate(), 3'490_Mbps) << "time has come three times only";
}

TEST(RateStagesTest, TheFirstStageBringsAFarTargetNearer) {
  RateStages stages(qcn(), 10_Gbps);
  stages.cut(0.5e9, false, at(0_ms));
  stages.on_timer();
  EXPECT_EQ(stages.target_rate(), 1'250_Mbps);
  EXPECT_EQ(stages.rate(), 875_Mbps);
  stages.cut(1e9, true, at(1_ms));
  stages.cut(1e9, false, at(2_ms));
  EXPECT_EQ(stages.target_rate(), 1_Gbps);
  stages.start();
  stages.cut(1e9, false, at(3_ms));
  stages.on_timer();
  EXPECT_EQ(stages.target_rate(), 10_Gbps) << "ten times is not above ten times";
}

TEST(RateStagesTest, JitterStaysWithinItsShareAndFillsIt) {
  RateStagesLaw law = qcn();
  law.jitter = 0.15;
  RateStages stages(law, 10_Gbps);
  stages.seed(Rng(7));
  Duration least = 1_s, most;
  for (int i = 0; i < 2000; ++i) {
    stages.cut(1e9, false, at(0_ms));
    const Duration limit = stages.timer_at() - at(0_ms);
    least = std::min(least, limit), most = std::max(most, limit);
  }
  EXPECT_GE(least, 12'750_us);
  EXPECT_LE(most, 17'250_us);
  EXPECT_LT(least, 12'800_us);
  EXPECT_GT(most, 17'200_us);
}

TEST(RateStagesTest, AtTheLineItEnds) {
  RateStages stages(qcn(), 10_Gbps);
  stages.cut(5e9, false, at(0_ms));
  int timers = 0;
  for (; !stages.timer_at().is_never(); ++timers) stages.on_timer();
  EXPECT_EQ(stages.rate(), 10_Gbps);
  EXPECT_FALSE(stages.limited());
  EXPECT_EQ(timers, 33) << "5 Gb/s are halved until less than 1 b/s is left";
  stages.on_sent(10_MB);
  EXPECT_EQ(stages.rate(), 10_Gbps);
}

}  // namespace
}  // namespace rocelab
