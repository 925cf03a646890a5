#include "emu/gateway/lateness.h"

#include <gtest/gtest.h>

#include <limits>

namespace rocelab {
namespace {

TEST(Lateness, IsNothingWithoutFrames) {
  EXPECT_EQ(Lateness().percentile_ns(0.99), 0);
  EXPECT_EQ(Lateness().max_ns(), 0);
}

TEST(Lateness, PercentilesAreNearestRank) {
  Lateness l;
  for (int i = 1; i <= 10; ++i) l.add(i);
  EXPECT_EQ(l.percentile_ns(0.5), 5);
  EXPECT_EQ(l.percentile_ns(0.91), 10);
  EXPECT_EQ(l.percentile_ns(1), 10);
  EXPECT_EQ(l.count(), 10u);
}

TEST(Lateness, LargeValuesAreKnownWithinSevenPercentAndNotBelow) {
  for (const std::int64_t value : {17L, 1'000L, 123'456L, 5'000'000'000L, std::numeric_limits<long>::max()}) {
    Lateness l;
    l.add(value);
    l.add(std::numeric_limits<std::int64_t>::max());
    EXPECT_GE(l.percentile_ns(0.5), value);
    EXPECT_LE(static_cast<double>(l.percentile_ns(0.5)), 1.07 * static_cast<double>(value));
  }
}

TEST(Lateness, EarlyIsNotLate) {
  Lateness l;
  l.add(-5);
  EXPECT_EQ(l.max_ns(), 0);
}

}  // namespace
}  // namespace rocelab
