#include "verbs_app/perf/statistics.h"

#include <gtest/gtest.h>

#include "verbs_app/perf/measure.h"

namespace rocelab::app {
namespace {

TEST(StatisticsTest, MedianIsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(spread_of({5, 1, 3}).median, 3);
  EXPECT_EQ(spread_of({4, 1, 3, 2}).median, 2.5);
  EXPECT_EQ(spread_of({7}).min, 7);
  EXPECT_EQ(spread_of({7, 9}).max, 9);
  EXPECT_EQ(spread_of({7, 9, 2}).mean, 6);
}

TEST(StatisticsTest, BandwidthIsPayloadBitsPerNanosecond) {
  EXPECT_DOUBLE_EQ(gbps(1'000'000, 200'000), 40);
  EXPECT_EQ(gbps(1, 0), 0);
}

TEST(PlanTest, SurvivesTheWayToTheServer) {
  const Plan plan{.op = Op::kRead, .sizes = {1, 65'536}, .iterations = 12};
  const Plan back = Plan::decode(plan.encode());
  EXPECT_EQ(back.op, Op::kRead);
  EXPECT_EQ(back.sizes, plan.sizes);
  EXPECT_EQ(back.iterations, 12u);
  EXPECT_THROW(Plan::decode("nonsense"), std::runtime_error);
}

}  // namespace
}  // namespace rocelab::app
