#include "ovs_patches/switch_model/p4qcn_cp.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rocelab {
namespace {

constexpr Time at(Duration d) { return Time::zero() + d; }

P4qcnPoint without_gap(std::int64_t q_min, std::int64_t q_max) {
  return {.q_min = q_min, .q_max = q_max, .gap = Duration{}};
}
bool sends(P4qcnCp& cp, std::int64_t q, std::uint64_t flow = 1, Time now = at(0_us)) {
  return cp.on_frame(q, flow, now) == P4qcnVerdict::kSend;
}

// Equation 1, and the lengths that it leaves open.
TEST(P4qcnCpTest, NoneAtQminEveryFrameFromQmaxOn) {
  P4qcnCp cp(without_gap(10, 20), Rng(1));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(sends(cp, 0));
    EXPECT_FALSE(sends(cp, 9));
    EXPECT_FALSE(sends(cp, 10)) << "Q_min";
    EXPECT_TRUE(sends(cp, 20)) << "Q_max";
    EXPECT_TRUE(sends(cp, 1'000'000)) << "also above a port's XOFF";
  }
}

TEST(P4qcnCpTest, BetweenThemTheShareIsThatOfTheSlope) {
  for (const double p_max : {1.0, 0.5})
    for (const std::int64_t q : {11, 15, 19}) {
      P4qcnPoint point = without_gap(10, 20);
      point.p_max = p_max;
      P4qcnCp cp(point, Rng(static_cast<std::uint64_t>(q)));
      const int frames = 20'000;
      int sent = 0;
      for (int i = 0; i < frames; ++i) sent += sends(cp, q);
      const double p = p_max * static_cast<double>(q - 10) / 10;
      EXPECT_NEAR(sent, frames * p, 3 * std::sqrt(frames * p * (1 - p))) << q;
    }
}

// The paper's experiments: Q_min = Q_max = 11, where the slope has no value.
TEST(P4qcnCpTest, EqualThresholdsAreAStep) {
  P4qcnCp cp(without_gap(11, 11), Rng(1));
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(sends(cp, 10));
    EXPECT_TRUE(sends(cp, 11));
  }
}

TEST(P4qcnCpTest, AFlowHasOneFeedbackInAGapAndTheNextAtItsEnd) {
  P4qcnCp cp({.gap = 50_us}, Rng(1));
  EXPECT_EQ(cp.on_frame(11, 1, at(7_us)), P4qcnVerdict::kSend);
  EXPECT_EQ(cp.on_frame(11, 1, at(7_us)), P4qcnVerdict::kWithinGap);
  EXPECT_EQ(cp.on_frame(10, 1, at(8_us)), P4qcnVerdict::kNone);
  EXPECT_EQ(cp.on_frame(11, 2, at(9_us)), P4qcnVerdict::kSend) << "another flow has its own";
  EXPECT_EQ(cp.on_frame(11, 1, at(57_us) - 1_ps), P4qcnVerdict::kWithinGap);
  EXPECT_EQ(cp.on_frame(11, 1, at(57_us)), P4qcnVerdict::kSend);
  EXPECT_EQ(cp.on_frame(11, 1, at(58_us)), P4qcnVerdict::kWithinGap) << "it begins anew";
}

TEST(P4qcnCpTest, WithTooManyFlowsTheOldestIsForgottenAndCounted) {
  P4qcnCp cp({.gap = 1_ms, .flows = 3}, Rng(1));
  for (const std::uint64_t flow : {1, 2, 3}) EXPECT_TRUE(sends(cp, 11, flow));
  EXPECT_EQ(cp.evicted(), 0u);
  EXPECT_TRUE(sends(cp, 11, 4));
  EXPECT_EQ(cp.evicted(), 1u);
  EXPECT_FALSE(sends(cp, 11, 2));
  EXPECT_TRUE(sends(cp, 11, 1)) << "too early";
  EXPECT_EQ(cp.evicted(), 2u);
  EXPECT_TRUE(sends(cp, 11, 2, at(1_ms))) << "all are forgotten in time";
  EXPECT_EQ(cp.evicted(), 2u);
}

}  // namespace
}  // namespace rocelab
