// CoDel's decisions, frame by frame, by hand: target and interval are the caller's affair.
#include "base/codel.h"

#include <gtest/gtest.h>

#include <vector>

namespace rocelab {
namespace {

constexpr Duration kInterval = 100_ms;
Time at(Duration d) { return Time::zero() + d; }

// Frames every `gap` from 0 on; the times in ms at which they are dropped.
std::vector<std::int64_t> drops(CodelLaw& law, Duration gap, int frames, Duration from = {}) {
  std::vector<std::int64_t> dropped;
  for (int i = 0; i < frames; ++i) {
    const Time now = at(from + i * gap);
    if (law.drops(true, now, kInterval)) dropped.push_back((now - Time::zero()).ps() / 1'000'000'000);
  }
  return dropped;
}

// Above from 0 on: the first is dropped at 100 ms. Then interval / sqrt(count) apart: 200, 200 + 100 /
// sqrt(2) = 270.7,
// + 100 / sqrt(3) = 328.4, + 50 = 378.4, each at the next frame of 1 ms.
TEST(CodelTest, DropsComeFasterWhileTheDelayStaysAbove) {
  CodelLaw law;
  EXPECT_EQ(drops(law, 1_ms, 380), (std::vector<std::int64_t>{100, 200, 271, 329, 379}));
  EXPECT_TRUE(law.dropping());
}

TEST(CodelTest, OneFrameBelowTheTargetEndsIt) {
  CodelLaw law;
  EXPECT_EQ(drops(law, 1_ms, 150), (std::vector<std::int64_t>{100}));
  EXPECT_FALSE(law.drops(false, at(150_ms), kInterval));
  EXPECT_FALSE(law.dropping());
  EXPECT_TRUE(law.is_idle(at(150_ms), kInterval));
  EXPECT_EQ(drops(law, 1_ms, 200, 151_ms), (std::vector<std::int64_t>{251})) << "an interval later again";
}

// Within eight intervals the next dropping state begins with the rate of the last, less two.
TEST(CodelTest, AStateSoonAfterTheLastBeginsAtItsRate) {
  CodelLaw law;
  drops(law, 1_ms, 380);
  EXPECT_EQ(law.count(), 4u);
  EXPECT_FALSE(law.drops(false, at(380_ms), kInterval));
  EXPECT_FALSE(law.is_idle(at(380_ms), kInterval)) << "it remembers the rate";
  EXPECT_EQ(drops(law, 1_ms, 200, 381_ms), (std::vector<std::int64_t>{481, 552})) << "100 / sqrt(2) after";
  CodelLaw later;
  drops(later, 1_ms, 380);
  later.drops(false, at(380_ms), kInterval);
  EXPECT_TRUE(later.is_idle(at(1'300_ms), kInterval));
  EXPECT_EQ(drops(later, 1_ms, 210, 1'300_ms), (std::vector<std::int64_t>{1'400, 1'500}));
}

// Frames that come seldom catch up: each is judged at its own time, and several at one instant can go.
TEST(CodelTest, ABacklogAtOneInstantLosesWhatIsDue) {
  CodelLaw law;
  drops(law, 1_ms, 150);
  int dropped = 0;
  for (int i = 0; i < 20; ++i) dropped += law.drops(true, at(400_ms), kInterval);
  EXPECT_EQ(dropped, 4) << "those of 200, 271, 328 and 378 ms";
}

TEST(CodelTest, AnInterruptionAsksForAWholeIntervalAgain) {
  CodelLaw law;
  EXPECT_TRUE(drops(law, 1_ms, 90).empty());
  law.interrupt();
  EXPECT_EQ(drops(law, 1_ms, 150, 90_ms), (std::vector<std::int64_t>{190}));
}

}  // namespace
}  // namespace rocelab
