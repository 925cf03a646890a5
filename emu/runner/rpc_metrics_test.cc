#include "emu/runner/rpc_metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "emu/runner/metrics.h"

namespace rocelab {
namespace {

RunPlan plan_of(const std::string& keys, const std::string& engine = "") {
  const Scenario s = parse_scenario(
      "transport = \"irn\"\n[topology]\nkind = \"star\"\nhosts = 2\n[engine]\n" + engine +
          "[[workload]]\nkind = \"rpc\"\nsenders = [\"h1\"]\nsize = \"1KB\"\nresponse_size = \"3KB\"\n" +
          keys,
      "t.toml");
  return make_plan(s, s.settings[0], 1);
}

// RPC i is posted at 10 i us, and its response is there 5 + i us later.
std::vector<FlowRecord> records_of(const RunPlan& plan) {
  std::vector<FlowRecord> records;
  for (const Flow& flow : plan.flows) {
    const Time begin = Time::zero() + flow.request * 10_us, end = begin + 5_us + flow.request * 1_us;
    const Time posted = flow.step == 0 ? begin : begin + 2_us, placed = flow.step == 0 ? begin + 2_us : end;
    records.push_back({flow.id, posted, placed, placed + 1_us});
  }
  return records;
}

TEST(RpcMetricsTest, AClosedLoopsLatenciesAndRateAreThoseOfTheRecords) {
  const RunPlan plan = plan_of("requests = 4\n");
  const RpcSums sums = rpcs_of(plan, records_of(plan), nullptr);
  ASSERT_EQ(sums.latency_s.size(), 4u);
  EXPECT_DOUBLE_EQ(mean(sums.latency_s), 6.5e-6);
  EXPECT_DOUBLE_EQ(percentile(sums.latency_s, 100), 8e-6);
  EXPECT_TRUE(sums.wait_s.empty());
  EXPECT_TRUE(std::isnan(sums.offered_bps));
  EXPECT_DOUBLE_EQ(sums.accepted_bps, 3 * 4'000 * 8 / 38e-6)
      << "the last response ends the loop: it is not in it";
}

TEST(RpcMetricsTest, AnOpenLoopOffersWhatComesAndAcceptsWhatIsAnswered) {
  const RunPlan plan = plan_of("every = \"100us\"\nduration = \"10ms\"\n");
  std::vector<FlowRecord> records;
  std::uint64_t requests = 0, answered = 0;
  for (const Flow& flow : plan.flows) {
    const Flow& request = flow.step == 0 ? flow : plan.flows[flow.after[0].flow - 1];
    const Time posted = request.due + 7_us, placed = posted + 11_us;
    requests += flow.step == 0;
    if (flow.step == 1 && flow.request % 2 == 1) {
      records.push_back({flow.id});  // not answered
      continue;
    }
    if (flow.step == 1) answered += placed < Time::zero() + 10_ms;
    records.push_back({flow.id, posted, placed, placed});
  }
  const RpcSums sums = rpcs_of(plan, records, nullptr);
  ASSERT_GT(requests, 50u);
  EXPECT_EQ(sums.wait_s.size(), requests);
  EXPECT_EQ(sums.latency_s.size(), (requests + 1) / 2);
  EXPECT_DOUBLE_EQ(percentile(sums.wait_s, 100), 7e-6);
  EXPECT_DOUBLE_EQ(percentile(sums.latency_s, 1), 11e-6);
  EXPECT_DOUBLE_EQ(sums.offered_bps, static_cast<double>(requests) * 4'000 * 8 / 10e-3);
  EXPECT_DOUBLE_EQ(sums.accepted_bps, static_cast<double>(answered) * 4'000 * 8 / 10e-3);
}

TEST(RpcMetricsTest, RequestsOutsideTheMeasuringWindowDoNotCount) {
  const RunPlan plan = plan_of("requests = 6\n", "warmup = \"15us\"\nmeasure = \"20us\"\n");
  const RpcSums sums = rpcs_of(plan, records_of(plan), nullptr);
  ASSERT_EQ(sums.latency_s.size(), 2u) << "those posted at 20 and 30 us";
  EXPECT_DOUBLE_EQ(percentile(sums.latency_s, 100), 8e-6);
  EXPECT_DOUBLE_EQ(sums.accepted_bps, 2 * 4'000 * 8 / 20e-6) << "completed at 16 and 27 us";
}

TEST(RpcMetricsTest, OtherWorkloadsHaveNone) {
  const RunPlan plan =
      plan_of("requests = 2\n[[workload]]\nname = \"other\"\nkind = \"permutation\"\nsize = \"1KB\"\n");
  const std::string other = "other";
  const RpcSums sums = rpcs_of(plan, records_of(plan), &other);
  EXPECT_TRUE(sums.latency_s.empty());
  EXPECT_TRUE(std::isnan(sums.accepted_bps));
  EXPECT_EQ(rpcs_of(plan, records_of(plan), nullptr).latency_s.size(), 2u);
}

// A closed loop beside an open one has latencies, and no part in what was accepted of what was offered.
TEST(RpcMetricsTest, WhatIsAcceptedIsOfTheLoopsThatOffer) {
  const RunPlan plan = plan_of(
      "requests = 40\n[[workload]]\nname = \"open\"\nkind = \"rpc\"\nevery = \"100us\"\nduration = \"10ms\"\n"
      "size = \"1KB\"\n");
  std::vector<FlowRecord> records;
  for (const Flow& flow : plan.flows) {
    const Flow& request = flow.step == 0 ? flow : plan.flows[flow.after[0].flow - 1];
    const Time posted = request.due.is_never() ? Time::zero() + flow.request * 10_us : request.due;
    records.push_back({flow.id, posted, posted + 3_us, posted + 3_us});
  }
  const std::string open = "open";
  const RpcSums all = rpcs_of(plan, records, nullptr), one = rpcs_of(plan, records, &open);
  EXPECT_GT(all.latency_s.size(), one.latency_s.size());
  EXPECT_GT(one.accepted_bps, 0);
  EXPECT_LE(one.accepted_bps, one.offered_bps);
  EXPECT_DOUBLE_EQ(all.accepted_bps, one.accepted_bps);
  EXPECT_DOUBLE_EQ(all.offered_bps, one.offered_bps);
}

}  // namespace
}  // namespace rocelab
