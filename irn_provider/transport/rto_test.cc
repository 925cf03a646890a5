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

// RFC 6298, 2: R = 200 us: 200 + 4 * 100 = 600. Then R = 120 us: RTTVAR = (3 * 100 + 80) / 4 = 95,
// SRTT = (7 * 200 + 120) / 8 = 190: 570.
TEST(RtoTest, ADynamicTimerFollowsTheRttAndBeginsWithRtoHigh) {
  Rto rto(RtoParams{.dynamic = true});
  EXPECT_EQ(rto.computed(), 320_us);
  rto.on_rtt(200_us);
  EXPECT_EQ(rto.computed(), 600_us);
  rto.on_rtt(120_us);
  EXPECT_EQ(rto.computed(), 570_us);
  for (int i = 0; i < 100; ++i) rto.on_rtt(20_us);
  EXPECT_EQ(rto.computed(), 100_us) << "not below RTO_low";
  rto.restart(kStart);
  EXPECT_EQ(rto.on_timeout(kStart + 100_us - 1_ps, 50), RtoExpiry::kNone);
  EXPECT_EQ(rto.on_timeout(kStart + 100_us, 50), RtoExpiry::kHigh);
  EXPECT_EQ(rto.computed(), 200_us) << "doubled by a firing";
  EXPECT_EQ(rto.deadline(), kStart + 300_us);
  rto.on_rtt(20_us);
  EXPECT_EQ(rto.computed(), 100_us) << "until the next sample";
}

TEST(RttTimerTest, TimesOnePacketAtATimeAndNoneThatWasResent) {
  RttTimer timer;
  timer.on_sent(5, kStart);
  timer.on_sent(6, kStart + 1_us);
  EXPECT_FALSE(timer.on_ack(5, kStart + 9_us));
  EXPECT_EQ(timer.on_ack(6, kStart + 10_us), 10_us);
  EXPECT_FALSE(timer.on_ack(7, kStart + 11_us));
  timer.on_sent(8, kStart);
  timer.on_resent(8);
  EXPECT_FALSE(timer.on_ack(9, kStart + 10_us));
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
