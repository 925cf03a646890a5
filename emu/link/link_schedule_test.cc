#include "emu/link/link_schedule.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

Time at(std::int64_t us) { return Time::zero() + us * 1_us; }
constexpr Duration kPs = Duration::from_ps(1);

TEST(LinkScheduleTest, WithoutEventsALinkIsUp) {
  const LinkSchedule schedule;
  EXPECT_TRUE(schedule.always_up());
  EXPECT_FALSE(schedule.down_within(at(0), at(1000)));
}

TEST(LinkScheduleTest, AFrameThatMeetsTheDownTimeIsLost) {
  LinkSchedule schedule;
  schedule.change(at(10), false);
  schedule.change(at(20), true);
  EXPECT_FALSE(schedule.down_within(at(5), at(10) - kPs));  // in time
  EXPECT_TRUE(schedule.down_within(at(5), at(10)));         // its last bit comes at the failure
  EXPECT_TRUE(schedule.down_within(at(5), at(30)));         // down for a while on its way
  EXPECT_TRUE(schedule.down_within(at(12), at(13)));
  EXPECT_TRUE(schedule.down_within(at(20) - kPs, at(21)));
  EXPECT_FALSE(schedule.down_within(at(20), at(21)));  // up again
}

TEST(LinkScheduleTest, ALinkMayFailAgainAndForEver) {
  LinkSchedule schedule;
  schedule.change(at(10), false);
  schedule.change(at(11), false);  // nothing new
  schedule.change(at(20), true);
  schedule.change(at(21), true);
  schedule.change(at(30), false);
  EXPECT_FALSE(schedule.down_within(at(20), at(30) - kPs));
  EXPECT_TRUE(schedule.down_within(at(15), at(16)));
  EXPECT_TRUE(schedule.down_within(at(1'000'000), at(1'000'001)));
}

}  // namespace
}  // namespace rocelab
