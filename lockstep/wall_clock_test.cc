#include "lockstep/wall_clock.h"

#include <gtest/gtest.h>

#include "lockstep/coordinator.h"
#include "lockstep/test_segment.h"
#include "lockstep/vf_end.h"

namespace rocelab::lockstep {
namespace {

TEST(WallClock, IsAtZeroBeforeItsEpochAndWithoutOne) {
  Header header;
  EXPECT_EQ(wall_time(header, 5'000'000), Time::zero());
  header.dilation = 1;
  EXPECT_EQ(wall_time(header, 5'000'000), Time::zero());
  header.wall_epoch_ns.store(6'000'000);
  EXPECT_EQ(wall_time(header, 5'000'000), Time::zero());
}

TEST(WallClock, RunsSlowerByTheDilation) {
  Header header;
  header.dilation = 4;
  header.wall_epoch_ns.store(1'000);
  EXPECT_EQ(wall_time(header, 1'000 + 8'000), Time::zero() + 2_us);
  EXPECT_EQ(wall_ns_of(header, Time::zero() + 2_us), 1'000 + 8'000);
}

TEST(WallClock, RoundTripsAfterAWeek) {
  Header header;
  header.dilation = 1;
  header.wall_epoch_ns.store(123'456'789);
  const std::int64_t week = 7 * 24 * 3600 * std::int64_t{1'000'000'000};
  EXPECT_NEAR(static_cast<double>(wall_ns_of(header, wall_time(header, week)) - week), 0, 200);
}

// One host under the wall clock. The test lets the machine's time pass by moving the epoch.
class WallClockRun : public ::testing::Test {
 protected:
  WallClockRun() { claim_vf(*segment_, 0); }

  void park(Time promise) {
    segment_->vfs()[0].promise_ps.store(promise.ps());
    segment_->vfs()[0].hold.store(0);
  }
  void machine_goes_on(Duration d) { header().wall_epoch_ns.fetch_sub(d / 1_ns); }
  Header& header() { return segment_->header(); }
  Time committed() { return Time::from_ps(header().committed_ps.load()); }

  static SegmentPlan plan() {
    SegmentPlan plan = plain_plan(1);
    plan.dilation = 1;
    plan.expected_participants = 1;
    return plan;
  }
  TestSegment segment_{plan()};
  Coordinator coordinator_{*segment_};
};

TEST_F(WallClockRun, DoesNotRunAheadOfTheMachinesClock) {
  const Time due = Time::zero() + 3600_s;
  park(due);
  EXPECT_EQ(coordinator_.next_step(Time::never()).turn, Turn::kNobody);
  EXPECT_LT(committed(), due);
  machine_goes_on(3600_s);
  const Step step = coordinator_.next_step(Time::never());
  EXPECT_EQ(step.turn, Turn::kHosts);
  EXPECT_GT(step.end, due);
}

TEST_F(WallClockRun, FollowsItWhereNothingHappens) {
  park(Time::never());
  coordinator_.next_step(Time::never());
  machine_goes_on(10_s);
  coordinator_.next_step(Time::never());
  EXPECT_GE(committed(), Time::zero() + 10_s);
  EXPECT_LT(committed(), Time::zero() + 3600_s);
}

TEST_F(WallClockRun, NeverPassesWhatIsStillToDo) {
  const Time due = Time::zero() + 5_s;
  park(due);
  coordinator_.next_step(Time::never());  // the epoch
  machine_goes_on(5050_ms);               // the machine did not keep up
  EXPECT_EQ(coordinator_.next_step(Time::never()).turn, Turn::kHosts);
  EXPECT_LE(committed(), due + 1_ms);
  EXPECT_EQ(header().wall_slips.load(), 0u);
}

TEST_F(WallClockRun, SlipsWhenTheMachineHasLostTouch) {
  const Time due = Time::zero() + 5_s;
  park(due);
  coordinator_.next_step(Time::never());
  machine_goes_on(10_s);
  EXPECT_EQ(coordinator_.next_step(Time::never()).turn, Turn::kHosts);
  EXPECT_EQ(header().wall_slips.load(), 1u);
  EXPECT_LT(wall_time(header()), due + 1_s);
}

}  // namespace
}  // namespace rocelab::lockstep
