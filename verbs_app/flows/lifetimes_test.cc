#include "verbs_app/flows/lifetimes.h"

#include <gtest/gtest.h>

namespace rocelab::app {
namespace {

Flow flow_of(std::int64_t connect_ps, std::int64_t start_ps) {
  Flow flow;
  flow.connect_ps = connect_ps;
  flow.start_ps = start_ps;
  return flow;
}

TEST(LifetimesTest, QueuePairsAreCreatedThenConnectedAtTheStartThenDestroyed) {
  using Step = Lifetimes::Step;
  Lifetimes lifetimes;
  lifetimes.add(flow_of(7'500, 20'000), 1);
  lifetimes.add(flow_of(Flow::kNoStop, 20'000), 2);
  lifetimes.add(flow_of(0, 20'000), 3);
  EXPECT_EQ(lifetimes.next_ns(), 8) << "rounded up to a nanosecond";
  EXPECT_FALSE(lifetimes.take(7).has_value());
  EXPECT_EQ(lifetimes.take(8)->step, Step::kCreate);
  EXPECT_EQ(lifetimes.next_ns(), 20);
  EXPECT_FALSE(lifetimes.take(19).has_value());
  const auto due = lifetimes.take(20);
  EXPECT_EQ(due->slot, 1u);
  EXPECT_EQ(due->step, Step::kConnect);
  EXPECT_EQ(lifetimes.next_ns(), kNever) << "others are connected before the run";
  lifetimes.destroy_at(3, 30);
  EXPECT_EQ(lifetimes.take(30)->step, Step::kDestroy);
  EXPECT_EQ(lifetimes.next_ns(), kNever);
}

}  // namespace
}  // namespace rocelab::app
