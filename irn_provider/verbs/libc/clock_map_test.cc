#include "irn_provider/verbs/libc/clock_map.h"

#include <gtest/gtest.h>

namespace rocelab::libc {
namespace {

constexpr std::int64_t kMs = 1'000'000, kSecond = 1'000 * kMs;
Time at(Duration d) { return Time::zero() + d; }

TEST(ClockMapTest, AClockGoesOnFromWhatItShowedByWholeHundredthsOfASecond) {
  for (const std::int64_t before : {0L, 1L, 5 * kSecond + 123'456'789, 400 * 86'400 * kSecond + 1})
    for (const Time opened : {Time::zero(), at(1_us), at(7_ms), at(3'600_s)}) {
      const ClockMap map = ClockMap::at_opening(before, std::nullopt, opened);
      EXPECT_EQ(map.zero_ns % (10 * kMs), 0);
      EXPECT_GE(map.shown_ns(opened), before);
      EXPECT_LE(map.shown_ns(opened), before + 20 * kMs + 1);
      EXPECT_EQ(map.shown_ns(opened + 5_us) - map.shown_ns(opened), 5'000);
    }
}

TEST(ClockMapTest, ADateIsTheSameInEveryRunUnlessTheMachinesIsLater) {
  const std::int64_t date = 2'000'000'000 * kSecond;
  EXPECT_EQ(ClockMap::at_opening(date - kSecond, date, Time::zero()).zero_ns, date);
  EXPECT_EQ(ClockMap::at_opening(std::nullopt, date, at(5_s)).zero_ns, date);
  const ClockMap late = ClockMap::at_opening(date + kSecond, date, at(5_ms));
  EXPECT_GE(late.shown_ns(at(5_ms)), date + kSecond);
}

TEST(ClockMapTest, ADeadlineFromBeforeKeepsWhatWasLeftOfIt) {
  const std::int64_t now = 1'700'000'000 * kSecond;
  const ClockMap date = ClockMap::at_opening(now, 2'000'000'000 * kSecond, at(3_ms));
  EXPECT_EQ(date.instant(now + 200 * kMs), at(203_ms));
  EXPECT_EQ(date.instant(now - kSecond), at(3_ms)) << "it has passed";
  EXPECT_EQ(date.instant(date.shown_ns(at(9_ms))), at(9_ms));
  const ClockMap interval = ClockMap::at_opening(50 * kSecond, std::nullopt, at(3_ms));
  EXPECT_NEAR(interval.instant(50 * kSecond + 200 * kMs).seconds(), 0.203, 0.020);
  EXPECT_EQ(interval.instant(0), at(3_ms));
}

TEST(ClockMapTest, ADeadlineThatIsTooFarOffIsNever) {
  const ClockMap map = ClockMap::at_opening(0, std::nullopt, Time::zero());
  EXPECT_EQ(map.instant(INT64_MAX), Time::never());
  EXPECT_FALSE(map.instant(86'400 * kSecond).is_never());
}

}  // namespace
}  // namespace rocelab::libc
