#include "irn_provider/transport/rto.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

constexpr Time kStart = Time::from_ps(7'000'000);

TEST(RtoTest, FiresAtRtoLowExactlyWhenAtMostNPacketsAreInFlight) {
  for (const std::int64_t in_flight : {1, 2, 3}) {
    Rto rto(RtoParams{});
    rto.restart(kStart);
    EXPECT_EQ(rto.on_timeout(kStart + 100_us - 1_ps, in_flight), RtoExpiry::kNone);
    EXPECT_EQ(rto.on_timeout(kStart + 100_us, in_flight), RtoExpiry::kLow) << in_flight;
  }
}

TEST(RtoTest, ExtendsToRtoHighFromTheStartWhenMoreThanNAreInFlight) {
  Rto rto(RtoParams{});
  rto.restart(kStart);
  EXPECT_EQ(rto.on_timeout(kStart + 100_us, 4), RtoExpiry::kNone);
  EXPECT_EQ(rto.deadline(), kStart + 320_us);
  EXPECT_EQ(rto.on_timeout(kStart + 320_us - 1_ps, 4), RtoExpiry::kNone);
  EXPECT_EQ(rto.on_timeout(kStart + 320_us, 4), RtoExpiry::kHigh);
}

TEST(RtoTest, AnExtendedTimerFiresAtRtoHighHoweverFewAreInFlightThen) {
  Rto rto(RtoParams{});
  rto.restart(kStart);
  rto.on_timeout(kStart + 100_us, 4);
  EXPECT_EQ(rto.on_timeout(kStart + 200_us, 1), RtoExpiry::kNone);
  EXPECT_EQ(rto.on_timeout(kStart + 320_us, 1), RtoExpiry::kHigh);
}

TEST(RtoTest, AFiringStartsItAgainWithRtoLow) {
  Rto rto(RtoParams{});
  rto.restart(kStart);
  rto.on_timeout(kStart + 100_us, 4);
  rto.on_timeout(kStart + 320_us, 4);
  EXPECT_EQ(rto.deadline(), kStart + 420_us);
}

TEST(RtoTest, ProgressMovesTheDeadlineAndAnEarlyCallChangesNothing) {
  Rto rto(RtoParams{});
  rto.restart(kStart);
  rto.restart(kStart + 60_us);
  EXPECT_EQ(rto.on_timeout(kStart + 100_us, 1), RtoExpiry::kNone);
  EXPECT_EQ(rto.on_timeout(kStart + 100_us, 1), RtoExpiry::kNone);
  EXPECT_EQ(rto.deadline(), kStart + 160_us);
}

TEST(RtoTest, ALateCallWithManyInFlightFiresOnceAsRtoHigh) {
  Rto rto(RtoParams{});
  rto.restart(kStart);
  EXPECT_EQ(rto.on_timeout(kStart + 500_us, 50), RtoExpiry::kHigh);
  EXPECT_EQ(rto.on_timeout(kStart + 500_us, 50), RtoExpiry::kNone);
}

TEST(RtoTest, StoppedOrDisabledItNeverFires) {
  Rto stopped(RtoParams{});
  stopped.restart(kStart);
  stopped.stop();
  EXPECT_EQ(stopped.on_timeout(kStart + 10_s, 1), RtoExpiry::kNone);
  Rto disabled(RtoParams{.enabled = false});
  disabled.restart(kStart);
  EXPECT_TRUE(disabled.deadline().is_never());
  EXPECT_EQ(disabled.on_timeout(kStart + 10_s, 1), RtoExpiry::kNone);
}

TEST(RtoTest, AnRtoLowAboveRtoHighIsRtoHigh) {
  Rto rto(RtoParams{.low = 500_us, .high = 320_us});
  rto.restart(kStart);
  EXPECT_EQ(rto.deadline(), kStart + 320_us);
}

}  // namespace
}  // namespace rocelab
