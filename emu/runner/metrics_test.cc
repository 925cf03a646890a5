#include "emu/runner/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string_view>
#include <variant>

namespace rocelab {
namespace {

// Two flows into h3 and a victim that watches them.
RunPlan small_plan() {
  const Scenario s = parse_scenario(R"(transport = "roce+pfc"
[topology]
kind = "star"
hosts = 4
[[workload]]
name = "incast"
kind = "incast"
senders = ["h1", "h2"]
receiver = "h3"
size = "1MB"
jitter = "0us"
[[workload]]
name = "victim"
kind = "list"
during = "incast"
jitter = "0us"
[[workload.flow]]
src = "h4"
dst = "h1"
size = "3MB"
)",
                                    "t.toml");
  return make_plan(s, s.settings[0], 1);
}

Time at(Duration d) { return Time::zero() + d; }

RunInput small_input() {
  RunInput input;
  input.flows = {{3, at(0_us), at(800_us), at(900_us), 0},
                 {1, at(1_us), at(401_us), at(402_us), 0},
                 {2, at(0_us), at(400_us), at(401_us), 0}};
  input.ports.resize(4);
  return input;
}

double value(const std::vector<NamedValue>& values, std::string_view name) {
  for (const NamedValue& v : values)
    if (v.name == name) return std::visit([](auto each) { return static_cast<double>(each); }, v.value);
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

TEST(MetricsTest, FlowFieldsFollowTheirDefinitions) {
  const RunPlan plan = small_plan();
  const RunMetrics m = measure(plan, small_input());
  EXPECT_EQ(value(m.values, "flows"), 3);
  EXPECT_EQ(value(m.values, "completed"), 3);
  EXPECT_DOUBLE_EQ(value(m.values, "rct_s"), 800e-6);  // first start to last end
  EXPECT_DOUBLE_EQ(value(m.values, "goodput_bps"), 5e6 * 8 / 800e-6);
  EXPECT_DOUBLE_EQ(value(m.values, "avg_fct_s"), (400e-6 + 400e-6 + 800e-6) / 3);
  EXPECT_DOUBLE_EQ(value(m.values, "p99_fct_s"), 800e-6);
  const auto slowdown = [&](std::size_t flow, double fct) { return fct / plan.flows[flow].alone.seconds(); };
  EXPECT_NEAR(value(m.values, "avg_slowdown"),
              (slowdown(0, 400e-6) + slowdown(1, 400e-6) + slowdown(2, 800e-6)) / 3, 1e-12);
  EXPECT_EQ(value(m.values, "delivered_data_packets"), 977 + 977 + 2930);
}

TEST(MetricsTest, IncompleteAndFailedFlowsCountAsStartedOnly) {
  RunInput input = small_input();
  input.flows[0].placed = Time::never();
  input.flows[1].status = 12;
  const RunMetrics m = measure(small_plan(), input);
  EXPECT_EQ(value(m.values, "flows"), 3);
  EXPECT_EQ(value(m.values, "completed"), 1);
  EXPECT_DOUBLE_EQ(value(m.values, "avg_fct_s"), 400e-6);
  input.flows.clear();
  const RunMetrics none = measure(small_plan(), input);
  EXPECT_EQ(value(none.values, "completed"), 0);
  EXPECT_TRUE(std::isnan(value(none.values, "avg_fct_s")));
  EXPECT_EQ(value(none.values, "goodput_bps"), 0);
}

TEST(MetricsTest, OnlyFlowsThatStartInTheWindowAreMeasured) {
  RunPlan plan = small_plan();
  plan.measure_from = at(1_us);
  EXPECT_EQ(value(measure(plan, small_input()).values, "flows"), 1);
  plan.measure_from = at(0_us);
  plan.measure_until = at(1_us);  // the end is not part of it
  EXPECT_EQ(value(measure(plan, small_input()).values, "flows"), 2);
}

TEST(MetricsTest, VictimIsMeasuredWhileTheIncastRuns) {
  RunInput input = small_input();  // the incast lasts from 0 to 401 us
  input.progress = {{3, at(0_us), 999_KB},
                    {3, at(100_us), 500_KB},
                    {3, at(401_us), 500_KB},
                    {3, at(402_us), 500_KB},
                    {1, at(50_us), 77_KB}};
  const RunMetrics m = measure(small_plan(), input);
  ASSERT_EQ(m.groups.size(), 2u);
  EXPECT_EQ(m.groups[0].name, "incast");
  EXPECT_DOUBLE_EQ(value(m.groups[0].values, "rct_s"), 401e-6);
  EXPECT_EQ(m.groups[1].during, "incast");
  EXPECT_DOUBLE_EQ(m.groups[1].goodput_during_bps, 1e6 * 8 / 401e-6);
}

TEST(MetricsTest, CountersAddUpOverNicsPortsAndLinks) {
  RunInput input = small_input();
  input.nics.resize(2);
  input.nics[0].retransmitted_packets = 5;
  input.nics[1].retransmitted_packets = 7;
  input.nics[1].rto_low_timeouts = 1;
  input.nics[1].rto_high_timeouts = 2;
  input.nics[1].rx_icrc_encapsulated = 3;
  input.nics[0].rx_pause_duration_ns = 500;
  input.ports[0].port.drops = 10;
  input.ports[0].port.data_drops = 9;
  input.ports[2].port.xoff_sent[3] = 4;
  input.ports[2].port.paused_ps[3] = 2'000'000;
  input.ports[1].in.lost_frames = 2;
  input.ports[1].in.lost_data_frames = 1;
  input.ports[1].out.lost_frames = 1;
  const RunMetrics m = measure(small_plan(), input);
  EXPECT_EQ(value(m.values, "retransmitted_packets"), 12);
  EXPECT_EQ(value(m.values, "timeouts"), 3);
  EXPECT_EQ(value(m.values, "corrupted_frames"), 3);
  EXPECT_EQ(value(m.values, "drops"), 10 + 3 + 2 + 1);
  EXPECT_EQ(value(m.values, "data_drops"), 10);
  EXPECT_EQ(value(m.values, "pfc_pause_frames"), 4);
  EXPECT_DOUBLE_EQ(value(m.values, "pfc_paused_s"), 2.5e-6);
}

TEST(MetricsTest, LongestPauseIsTheLongestOfAnyPortAndClass) {
  RunInput input = small_input();
  input.ports[0].port.longest_pause_ps[3] = 2'000'000;
  input.ports[2].port.longest_pause_ps[1] = 3'000'000;
  EXPECT_DOUBLE_EQ(value(measure(small_plan(), input).values, "pfc_longest_pause_s"), 3e-6);
}

TEST(MetricsTest, EveryMetricHasOneNameAndIsOfFlowsOrOfTheRun) {
  std::set<std::string_view> names;
  for (const Metric& metric : metric_table()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_FALSE(metric.of_flows != nullptr && metric.of_run != nullptr) << metric.name;
    EXPECT_FALSE(metric.title.empty() || metric.text.empty()) << metric.name;
  }
}

TEST(MetricsTest, BottleneckCountsPreambleAndGap) {
  RunInput input = small_input();
  input.ports[2].port.tx_frames = 1000;
  input.ports[2].port.tx_bytes = 1000 * 1082;
  const RunMetrics m = measure(small_plan(), input);
  EXPECT_EQ(m.bottleneck_port, "s1-eth3");
  EXPECT_NEAR(value(m.values, "bottleneck_utilization"), 1000 * (1082 + 24) * 8 / (40e9 * 800e-6), 1e-12);
}

TEST(StatisticsTest, PercentilesAreNearestRank) {
  const std::vector<double> values{15, 20, 35, 40, 50};
  EXPECT_EQ(percentile(values, 5), 15);
  EXPECT_EQ(percentile(values, 30), 20);
  EXPECT_EQ(percentile(values, 40), 20);
  EXPECT_EQ(percentile(values, 50), 35);
  EXPECT_EQ(percentile(values, 99), 50);
  EXPECT_EQ(percentile(values, 100), 50);
  EXPECT_TRUE(std::isnan(percentile({}, 50)));
}

TEST(StatisticsTest, StudentTMatchesTheTables) {
  EXPECT_NEAR(student_t_975(1), 12.7062, 1e-4);
  EXPECT_NEAR(student_t_975(2), 4.3027, 1e-4);
  EXPECT_NEAR(student_t_975(4), 2.7764, 1e-4);
  EXPECT_NEAR(student_t_975(9), 2.2622, 1e-4);
  EXPECT_NEAR(student_t_975(30), 2.0423, 1e-4);
  EXPECT_NEAR(student_t_975(1000), 1.9623, 1e-4);
}

TEST(StatisticsTest, EstimateOfFiveSeeds) {
  const Estimate e = estimate({1, 2, 3, 4, 10});
  EXPECT_DOUBLE_EQ(e.mean, 4);
  EXPECT_DOUBLE_EQ(e.median, 3);
  EXPECT_NEAR(e.ci95, 2.7764 * std::sqrt(12.5 / 5), 1e-3);
  EXPECT_TRUE(std::isnan(estimate({1}).ci95));
  EXPECT_DOUBLE_EQ(estimate({1, 2}).median, 1.5);
}

TEST(TraceHashTest, DependsOnTheOrderOfNodes) {
  Digest a{}, b{};
  b[0] = std::byte{1};
  EXPECT_EQ(trace_hash({a, b}).size(), 64u);
  EXPECT_NE(trace_hash({a, b}), trace_hash({b, a}));
}

}  // namespace
}  // namespace rocelab
