#include "ovs_patches/switch_model/red_ecn.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

constexpr EcnConfig kConfig{.enabled = true, .k_min = 100_KB, .k_max = 300_KB, .p_max = 0.5};

int marks_of(RedEcn& red, const EcnConfig& config, Bytes queue, int frames) {
  int marks = 0;
  for (int i = 0; i < frames; ++i) marks += red.marks(config, Ecn::kEct0, queue);
  return marks;
}

TEST(RedEcnTest, ProbabilityIsZeroAtKminLinearToPmaxAtKmaxAndOneAbove) {
  EXPECT_EQ(RedEcn::probability(kConfig, 0_B), 0);
  EXPECT_EQ(RedEcn::probability(kConfig, 100_KB), 0);
  EXPECT_EQ(RedEcn::probability(kConfig, 100'002_B), 0.5 * 2 / 200'000);
  EXPECT_EQ(RedEcn::probability(kConfig, 200_KB), 0.25);
  EXPECT_EQ(RedEcn::probability(kConfig, 300_KB), 0.5);
  EXPECT_EQ(RedEcn::probability(kConfig, 300'001_B), 1);
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
  EXPECT_FALSE(red.marks(kConfig, Ecn::kNotEct, 1_MB));
  EXPECT_FALSE(red.marks(kConfig, Ecn::kCe, 1_MB));
  EXPECT_TRUE(red.marks(kConfig, Ecn::kEct1, 1_MB));
  EcnConfig off = kConfig;
  off.enabled = false;
  EXPECT_FALSE(red.marks(off, Ecn::kEct0, 1_MB));
}

}  // namespace
}  // namespace rocelab
