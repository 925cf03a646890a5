#include "emu/runner/collective_metrics.h"

#include <gtest/gtest.h>

#include "emu/runner/metrics.h"

namespace rocelab {
namespace {

RunPlan plan_of(const std::string& keys, const std::string& engine = "") {
  const Scenario s =
      parse_scenario("transport = \"irn\"\n[topology]\nkind = \"star\"\nhosts = 4\n[engine]\n" + engine +
                         "[[workload]]\nkind = \"collective\"\nsize = \"40KB\"\njitter = \"0us\"\n" + keys,
                     "t.toml");
  return make_plan(s, s.settings[0], 1);
}

// Step i of iteration k lasts from 100 k + 10 i us on for 8 us, and where rank 2 sends for 12 us.
std::vector<FlowRecord> records_of(const RunPlan& plan) {
  std::vector<FlowRecord> records;
  for (const Flow& flow : plan.flows) {
    const Time posted = Time::zero() + flow.request * 100_us + flow.step * 10_us,
               placed = posted + (flow.src == 2 ? 12_us : 8_us);
    records.push_back({flow.id, posted, placed, placed + 1_us});
  }
  return records;
}

TEST(CollectiveMetricsTest, TimesAndBandwidthsAreThoseOfTheRecords) {
  const RunPlan plan = plan_of("operation = \"all-reduce\"\niterations = 2\n");
  const auto results = collectives_of(plan, records_of(plan), nullptr);
  ASSERT_EQ(results.size(), 2u);
  for (std::uint32_t i = 0; i < 2; ++i) {
    const CollectiveResult& c = results[i];
    EXPECT_EQ(c.iteration, i);
    EXPECT_EQ(c.begin, Time::zero() + i * 100_us);
    EXPECT_DOUBLE_EQ(c.completion_s(), 62e-6) << "six steps; rank 2 ends last";
    EXPECT_DOUBLE_EQ(c.all_steps().mean_s(), 9e-6);
    EXPECT_EQ(c.all_steps().longest, 12_us);
    EXPECT_DOUBLE_EQ(c.algorithm_bps(), 40'000 * 8 / 62e-6);
    EXPECT_DOUBLE_EQ(c.bus_bps(), 1.5 * 40'000 * 8 / 62e-6);
    EXPECT_EQ(c.straggler, 2u);
    EXPECT_DOUBLE_EQ(c.straggler_ratio, 12.0 / 9);
  }
  const auto steps = sum_steps(results);
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_EQ(steps[3].ranks, 8u);
}

TEST(CollectiveMetricsTest, GroupsAreCollectivesOfTheirOwn) {
  const RunPlan plan = plan_of("operation = \"all-to-all\"\ngroups = 2\niterations = 2\n");
  const auto results = collectives_of(plan, records_of(plan), nullptr);
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[1].group, 1u);
  EXPECT_EQ(results[1].iteration, 0u);
  EXPECT_EQ(results[2].iteration, 1u);
  EXPECT_EQ(results[0].facts.ranks, 2u);
  const std::string other = "other";
  EXPECT_TRUE(collectives_of(plan, records_of(plan), &other).empty());
}

TEST(CollectiveMetricsTest, WhatIsNotCompleteOrNotMeasuredIsLeftOut) {
  const RunPlan plan = plan_of("operation = \"all-gather\"\niterations = 3\n", "warmup = \"50us\"\n");
  auto records = records_of(plan);
  records.back().status = 12;
  const auto results = collectives_of(plan, records, nullptr);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].iteration, 1u) << "the first one is in the warm-up, the last one failed";
}

}  // namespace
}  // namespace rocelab
