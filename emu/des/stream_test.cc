// Streams in virtual time, with exact numbers.
#include <gtest/gtest.h>

#include "emu/des/des_run.h"
#include "emu/runner/formula.h"
#include "emu/runner/scenario.h"

namespace rocelab::des {
namespace {

constexpr char kStar[] = R"(
transport = ["roce"]
[topology]
kind = "star"
hosts = 3
rate = "40Gb/s"
delay = "2us"
[engine]
limit = "20ms"
[[workload]]
kind = "stream"
senders = ["h1"]
receivers = ["h3"]
jitter = "0us"
)";

RunPlan plan_of(const std::string& keys, const std::vector<Override>& overrides = {}) {
  const Scenario scenario = parse_scenario(kStar + keys, "test.toml", overrides);
  return make_plan(scenario, scenario.settings.front(), scenario.seeds.front());
}

FlowOutcome first_flow(DesRun& run) {
  while (!run.advance(1000)) {
  }
  return run.flows().at(0);
}

TEST(StreamTest, OnAnIdleLinkAllMessagesArriveAndTakeTheTimeOfOneAlone) {
  for (const char* label : {"roce", "roce+pfc", "irn"})
    for (const char* op : {"send", "write"}) {
      const RunPlan plan =
          plan_of("rate = \"5Gb/s\"\nmessage_size = \"64KB\"\nstop = \"10ms\"\n",
                  {{"transport", std::string("[\"") + label + "\"]"}, {"workload.0.op", op}});
      DesRun run(plan, {});
      const FlowOutcome flow = first_flow(run);
      ASSERT_TRUE(run.complete()) << label;
      EXPECT_EQ(flow.sent, 98u) << "one every 102.4 us, the first at 0";
      EXPECT_EQ(flow.delivered.messages, 98u);
      EXPECT_EQ(flow.bytes, 98u * 64'000);
      FlowShape one{plan.settings.nic.config.mode, plan.flows[0].op, 64_KB, {}, 1, 1024, plan.bdp_cap, true};
      const Path path(2, {40_Gbps, 2_us});
      const std::int64_t alone_ns = fct_alone(one, path, path).ps() / 1'000;
      EXPECT_EQ(flow.delivered.latency_max_ns, alone_ns) << label << " " << op;
      EXPECT_EQ(flow.delivered.latency_sum_ns, 98 * alone_ns) << label << " " << op;
      EXPECT_EQ((flow.placed - Time::zero()).ps() / 1'000, 97 * 102'400 + alone_ns);
    }
}

TEST(StreamTest, ABurstBeginsWhenTheClockSays) {
  DesRun run(
      plan_of("rate = \"8Gb/s\"\nmessage_size = \"1KB\"\nstop = \"35us\"\non = \"3us\"\noff = \"7us\"\n"),
      {});
  const FlowOutcome flow = first_flow(run);
  EXPECT_EQ(flow.sent, 12u);
  const std::int64_t latency_ns = flow.delivered.latency_max_ns;
  EXPECT_EQ(flow.delivered.latency_sum_ns, 12 * latency_ns);
  EXPECT_EQ((flow.placed - Time::zero()).ps() / 1'000, 32'000 + latency_ns) << "the last is due at 32 us";
}

// 80 Gb/s over 40 Gb/s: half of the messages wait in the program; their latency grows until the last.
TEST(StreamTest, WhatALinkCannotCarryWaitsAndCountsFromItsTime) {
  DesRun run(plan_of("rate = \"80Gb/s\"\nmessage_size = \"10KB\"\nstop = \"1ms\"\noverload = true\n"), {});
  const FlowOutcome flow = first_flow(run);
  ASSERT_TRUE(run.complete());
  EXPECT_EQ(flow.sent, 1'000u);
  EXPECT_EQ(flow.delivered.messages, 1'000u);
  const double wire_s = 10e6 * 8 * 1.09 / 40e9;  // with headers
  EXPECT_NEAR(static_cast<double>(flow.delivered.latency_max_ns) * 1e-9, wire_s - 1e-3, 0.02e-3);
  EXPECT_NEAR(static_cast<double>(flow.delivered.latency_sum_ns) * 1e-12, (wire_s - 1e-3) / 2, 0.02e-3);
}

}  // namespace
}  // namespace rocelab::des
