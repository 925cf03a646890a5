// RPCs in virtual time: closed forms of an idle network, bounds on what is under way, accepted load.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "emu/des/test_runs.h"
#include "emu/runner/rpc_metrics.h"

namespace rocelab::des {
namespace {

struct Result : FinishedRun {
  using FinishedRun::FinishedRun;
  RpcSums sums() const { return rpcs_of(plan, records, nullptr); }
};

Result run_of(const std::string& keys, const std::string& label = "roce+pfc") {
  return Result("transport = \"" + label +
                "\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"10Gb/s\"\n"
                "delay = \"2us\"\n[engine]\nlimit = \"1s\"\n[[workload]]\n"
                "kind = \"rpc\"\njitter = \"0us\"\n" +
                keys);
}

std::string one_client(const std::string& keys) {
  return "senders = [\"h1\"]\nreceivers = [\"h2\"]\nsize = \"4KB\"\nresponse_size = \"16KB\"\n" + keys;
}

// Both ways alone, and what the server computes. A server looks at its clock of 1 ns.
TEST(RpcRunTest, AnRpcTakesTheTimeOfBothMessagesOnAnIdleNetwork) {
  for (const char* label : {"roce", "roce+pfc", "irn"}) {
    const Result result =
        run_of(one_client("requests = 5\nservice_time = \"9us\"\nthink = \"50us\"\n"), label);
    ASSERT_TRUE(result.complete) << label;
    const RpcSums sums = result.sums();
    ASSERT_EQ(sums.latency_s.size(), 5u);
    const Duration alone = result.plan.flows[0].alone + 9_us + result.plan.flows[1].alone;
    for (const double latency : sums.latency_s) EXPECT_NEAR(latency, alone.seconds(), 1e-9) << label;
  }
}

TEST(RpcRunTest, AClosedLoopAcceptsARequestPerLatencyAndThinkTime) {
  const Result result =
      run_of(one_client("requests = 200\nthink = \"20us\"\nthink_times = \"constant\"\noutstanding = 3\n"));
  ASSERT_TRUE(result.complete);
  const RpcSums sums = result.sums();
  const double expected = 3 * 20'000 * 8 / (mean(sums.latency_s) + 20e-6);
  EXPECT_NEAR(sums.accepted_bps / expected, 1, 0.01);
}

TEST(RpcRunTest, APairHasAtMostSoManyRpcsUnderWay) {
  const Result result =
      run_of("size = \"16KB\"\nload = 0.8\noverload = true\nduration = \"2ms\"\noutstanding = 2\n");
  ASSERT_TRUE(result.complete);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::pair<Time, int>>> steps;
  for (const Flow& flow : result.plan.flows) {
    const FlowRecord& record = result.records.at(flow.id - 1);
    ASSERT_EQ(record.id, flow.id);
    if (flow.step == 0)
      steps[{flow.src, flow.dst}].push_back({record.posted, 1});
    else
      steps[{flow.dst, flow.src}].push_back({record.placed, -1});
  }
  int most = 0;
  for (auto& [pair, of] : steps) {
    std::ranges::sort(of);  // of one instant the response first
    int under_way = 0;
    for (const auto& [at, step] : of) most = std::max(most, under_way += step);
  }
  EXPECT_EQ(most, 2);
  EXPECT_GT(percentile(result.sums().wait_s, 50), 0) << "more came than the links carry";
}

TEST(RpcRunTest, WhatIsOfferedIsAcceptedUntilLinksAreFull) {
  const auto share = [](const char* load) {
    const Result result =
        run_of(std::string("size = \"16KB\"\noverload = true\nduration = \"20ms\"\nload = ") + load + "\n");
    EXPECT_TRUE(result.complete);
    return result.sums().accepted_bps / result.sums().offered_bps;
  };
  EXPECT_NEAR(share("0.2"), 1, 0.01);
  EXPECT_LT(share("0.8"), 0.75) << "requests and responses take 160 % of each link";
}

TEST(RpcRunTest, RequestsOfOnePairAreAnsweredInOrder) {
  const Result result = run_of(one_client("every = \"20us\"\nduration = \"3ms\"\nqps = 2\nop = \"send\"\n"));
  ASSERT_TRUE(result.complete);
  Time last;
  std::size_t responses = 0;
  for (const Flow& flow : result.plan.flows) {
    if (flow.step == 0) continue;
    const FlowRecord &response = result.records.at(flow.id - 1),
                     &request = result.records.at(flow.after[0].flow - 1);
    EXPECT_GE(response.posted, request.placed);
    EXPECT_GE(response.posted, last);
    last = response.posted;
    ++responses;
  }
  EXPECT_GT(responses, 80u);
}

}  // namespace
}  // namespace rocelab::des
