#include "ovs_patches/switch_model/red_ecn.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rocelab {
namespace {

constexpr EcnConfig kConfig{.enabled = true, .k_min = 100_KB, .k_max = 300_KB, .p_max = 0.5};

int marks_of(RedEcn& red, const EcnConfig& config, Bytes queue, int frames) {
  int marks = 0;
  for (int i = 0; i < frames; ++i) marks += red.marks(config, Ecn::kEct0, queue, 0);
  return marks;
}

TEST(RedEcnTest, ProbabilityIsZeroAtKminLinearToPmaxAtKmaxAndOneAbove) {
  EXPECT_EQ(RedEcn::probability(kConfig, 0), 0);
  EXPECT_EQ(RedEcn::probability(kConfig, 100e3), 0);
  EXPECT_EQ(RedEcn::probability(kConfig, 100'002), 0.5 * 2 / 200'000);
  EXPECT_EQ(RedEcn::probability(kConfig, 200e3), 0.25);
  EXPECT_EQ(RedEcn::probability(kConfig, 300e3), 0.5);
  EXPECT_EQ(RedEcn::probability(kConfig, 300'001), 1);
}

TEST(RedEcnTest, MarksAtTheEdgesAsThereIsNoChance) {
  RedEcn red(Rng(7));
  EXPECT_EQ(marks_of(red, kConfig, 100_KB, 10'000), 0);
  EXPECT_EQ(marks_of(red, kConfig, 300'001_B, 10'000), 10'000);
}

TEST(RedEcnTest, MarksTheShareThatTheProbabilitySays) {
  RedEcn red(Rng(7));
  // 40,000 draws: three standard deviations are 260 at p = 0.25 and 300 at p = 0.5. The seed is fixed, so
  // this is no gamble.
  EXPECT_NEAR(marks_of(red, kConfig, 200_KB, 40'000), 10'000, 260);
  EXPECT_NEAR(marks_of(red, kConfig, 300_KB, 40'000), 20'000, 300);
}

TEST(RedEcnTest, EqualThresholdsAreAStep) {
  constexpr EcnConfig step{.enabled = true, .k_min = 65_KB, .k_max = 65_KB, .p_max = 0.1};
  RedEcn red(Rng(7));
  EXPECT_EQ(marks_of(red, step, 65_KB, 100), 0);
  EXPECT_EQ(marks_of(red, step, 65'001_B, 100), 100);
}

TEST(RedEcnTest, LeavesFramesAloneThatAreNotEctOrMarked) {
  RedEcn red(Rng(7));
  EXPECT_FALSE(red.marks(kConfig, Ecn::kNotEct, 1_MB, 0));
  EXPECT_FALSE(red.marks(kConfig, Ecn::kCe, 1_MB, 0));
  EXPECT_TRUE(red.marks(kConfig, Ecn::kEct1, 1_MB, 0));
  EcnConfig off = kConfig;
  off.enabled = false;
  EXPECT_FALSE(red.marks(off, Ecn::kEct0, 1_MB, 0));
}

EcnConfig averaged(double weight) {
  EcnConfig config = kConfig;
  config.average = weight;
  return config;
}

// From 250 KB down to lengths of 199 KB the average is 199 + 51 x 0.8^n KB: above 200 KB 17 times.
TEST(RedEcnTest, AnAverageFollowsTheLengthsThatFramesFind) {
  EcnConfig step = averaged(0.2);
  step.k_min = step.k_max = 200_KB;
  RedEcn red(Rng(7));
  EXPECT_EQ(marks_of(red, step, 250_KB, 200), 200);
  EXPECT_EQ(marks_of(red, step, 199_KB, 17), 17);
  EXPECT_EQ(marks_of(red, step, 199_KB, 100), 0);
}

TEST(RedEcnTest, AQueueBeyondKmaxMarksWhateverItsAverage) {
  RedEcn red(Rng(7));
  EXPECT_FALSE(red.marks(averaged(0.01), Ecn::kEct0, 300_KB, 0));
  EXPECT_TRUE(red.marks(averaged(0.01), Ecn::kEct0, 300'001_B, 0));
}

TEST(RedEcnTest, EachQueueHasItsAverage) {
  RedEcn red(Rng(7));
  for (int i = 0; i < 100; ++i) red.marks(averaged(0.2), Ecn::kEct0, 300_KB, 5);
  int marks = 0;
  for (int i = 0; i < 100; ++i) marks += red.marks(averaged(0.2), Ecn::kEct0, 100_KB, 4);
  EXPECT_EQ(marks, 0);
}

// Floyd and Jacobson, 1993, figure 2, at a probability p: the frames from one mark to the next are uniform in
// 1 .. 1/p - 1, as the count is 1 at the first of them. In 44,000 frames that is 8,800 marks, three standard
// deviations 145.
TEST(RedEcnTest, MarksByAnAverageComeEvenly) {
  EcnConfig config = averaged(0.5);
  config.k_min = 0_B;
  config.k_max = 200_KB;
  config.p_max = 0.2;
  RedEcn red(Rng(7));
  int longest = 0, gap = 0, marks = 0;
  constexpr int kFrames = 44'000;
  for (int i = 0; i < kFrames; ++i) {
    ++gap;
    if (!red.marks(config, Ecn::kEct0, 100_KB, 0)) continue;  // p = 0.1 once the average is there
    if (i > 100) longest = std::max(longest, gap);
    gap = 0;
    ++marks;
  }
  EXPECT_EQ(longest, 9);
  EXPECT_NEAR(marks, kFrames / 5, 145);
}

}  // namespace
}  // namespace rocelab
