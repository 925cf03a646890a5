#include "ovs_patches/switch_model/pi_marking.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

struct Step {
  std::int64_t units;       // of 624 bytes: the queue's length
  double integral, direct;  // probabilities
};
// alpha (q - 200) + beta (q - q_old), by hand; at most 0.5, at least 0, and 0.5 beyond 400 units.
constexpr Step kSteps[] = {
    {10, 0.005, 0.005},    // -0.095 + 0.1
    {20, 0.015, 0.01},     // -0.09 + 0.1
    {20, 0, 0},            // -0.09
    {45, 0.1725, 0.1725},  // -0.0775 + 0.25
    {45, 0.095, 0},        // -0.0775
    {245, 0.5, 0.5},       // 0.0225 + 2
    {245, 0.5, 0.0225},    // 0.0225: at the ceiling nothing is kept beyond it
    {241, 0.4805, 0},      // 0.0205 - 0.04
    {401, 0.5, 0.5},       // longer than q_max
    {400, 0.5, 0.09},      // 0.1 - 0.01
    {0, 0, 0},             // -0.1 - 4
};

TEST(PiMarkingTest, FollowsHandComputedSteps) {
  for (const PiForm form : {PiForm::kIntegral, PiForm::kDirect}) {
    PiMarking pi({.form = form});
    EXPECT_TRUE(pi.rests());
    for (const Step& step : kSteps)
      EXPECT_NEAR(pi.update(624_B * step.units), form == PiForm::kIntegral ? step.integral : step.direct,
                  1e-12)
          << step.units;
    EXPECT_TRUE(pi.rests()) << "empty, and nothing is marked";
  }
}

// The integral: a queue that stays beyond q_ref is marked more from period to period.
TEST(PiMarkingTest, OnlyTheIntegralGrowsWhileAQueueStandsBeyondItsReference) {
  PiMarking integral({}), direct({.form = PiForm::kDirect});
  for (PiMarking* pi : {&integral, &direct}) {
    for (std::int64_t units = 1; units <= 210; ++units) pi->update(624_B * units);
    for (int i = 0; i < 20; ++i) pi->update(624_B * 210);
  }
  // Up to 180 units a step is at most 0; to 210 they add 30 x 0.01 - 135 x 0.0005, and then 20 x 0.005.
  EXPECT_NEAR(integral.probability(), 0.3325, 1e-12);
  EXPECT_NEAR(direct.probability(), 0.005, 1e-12);
}

TEST(PiMarkingTest, DoesNotRestWhileAProbabilityOrAQueueIsLeft) {
  PiMarking pi({.alpha = 0.0001});
  EXPECT_NEAR(pi.update(624_B * 10), 0.081, 1e-12);
  EXPECT_FALSE(pi.rests());
  pi.update(0_B);  // -0.02 - 0.1
  EXPECT_TRUE(pi.rests());
  pi.update(624_B * 1);  // -0.0199 + 0.01
  EXPECT_EQ(pi.probability(), 0);
  EXPECT_FALSE(pi.rests()) << "the next growth is counted from here";
}

}  // namespace
}  // namespace rocelab
