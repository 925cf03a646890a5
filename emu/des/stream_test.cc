// Streams and planned stops in virtual time, with exact numbers.
#include <gtest/gtest.h>

#include "emu/des/test_runs.h"
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
      EXPECT_LE(std::abs(flow.delivered.latency_max_ns - alone_ns), 1) << label << " " << op;
      EXPECT_LE(std::abs(flow.delivered.latency_sum_ns - 98 * alone_ns), 98) << label << " " << op;
      EXPECT_LE(std::abs((flow.placed - Time::zero()).ps() / 1'000 - (97 * 102'400 + alone_ns)), 1);
    }
}

TEST(StreamTest, ABurstBeginsWhenTheClockSays) {
  DesRun run(
      plan_of("rate = \"8Gb/s\"\nmessage_size = \"1KB\"\nstop = \"39us\"\non = \"3us\"\noff = \"7us\"\n"),
      {});
  const FlowOutcome flow = first_flow(run);
  EXPECT_EQ(flow.delivered.messages, 12u);
  const std::int64_t latency_ns = flow.delivered.latency_max_ns;
  EXPECT_LE(std::abs(flow.delivered.latency_sum_ns - 12 * latency_ns), 12);
  EXPECT_LE(std::abs((flow.placed - Time::zero()).ps() / 1'000 - (32'000 + latency_ns)), 1)
      << "the last is due at 32 us";
}

// 60 Gb/s for 50 us over 40 Gb/s: a third of it waits in the program, and counts from its time.
TEST(StreamTest, WhatALinkCannotCarryWaitsAndCountsFromItsTime) {
  DesRun run(plan_of("rate = \"60Gb/s\"\nmessage_size = \"3KB\"\nstop = \"100us\"\non = \"50us\"\noff = "
                     "\"50us\"\n"),
             {});
  const FlowOutcome flow = first_flow(run);
  ASSERT_TRUE(run.complete());
  EXPECT_EQ(flow.sent, 125u);
  EXPECT_EQ(flow.delivered.messages, 125u);
  const double wire_s = 125 * 3000 * 8 * 1.09 / 40e9;  // with headers
  EXPECT_NEAR(static_cast<double>(flow.delivered.latency_max_ns) * 1e-9, wire_s - 50e-6 + 5e-6, 2e-6);
}

constexpr char kTwo[] = R"(
transport = ["roce"]
[topology]
kind = "star"
hosts = 3
rate = "40Gb/s"
delay = "2us"
[[workload]]
name = "stopped"
kind = "list"
message_size = "100KB"
jitter = "0us"
stop = "1ms"
  [[workload.flow]]
  src = "h1"
  dst = "h3"
  size = "100MB"
  [[workload.flow]]
  src = "h2"
  dst = "h1"
  size = "1MB"
  [[workload.flow]]
  src = "h2"
  dst = "h1"
  size = "1MB"
  start = "2ms"
  stop = "3ms"
)";

TEST(StopTest, WhatIsUnsentThenIsNotSentAndTheFlowIsStopped) {
  for (const char* label : {"roce", "roce+pfc", "irn"})
    for (const char* op : {"send", "write"}) {
      const std::string name = std::string(label) + " " + op;
      const Scenario scenario = parse_scenario(
          kTwo, "test.toml",
          {{"transport", std::string("[\"") + label + "\"]"}, {"workload.stopped.flow.0.op", op}});
      const RunPlan plan = make_plan(scenario, scenario.settings.front(), 1);
      DesRun run(plan, {});
      const FlowOutcome flow = first_flow(run);
      ASSERT_TRUE(run.complete()) << name;
      EXPECT_EQ(flow.status, 0) << name;
      EXPECT_TRUE(flow.stopped && flow.settled) << name;
      EXPECT_TRUE(flow.placed.is_never() && flow.cqe.is_never()) << name;
      // 1 ms at 40 Gb/s carries 5 MB with headers: 46 messages; the one under way is sent to its end.
      EXPECT_NEAR(static_cast<double>(flow.delivered.messages), 46, 1) << name;
      EXPECT_EQ(flow.bytes, flow.delivered.messages * 100'000) << name;
      for (std::size_t i = 1; i < 3; ++i) {
        EXPECT_FALSE(run.flows()[i].stopped) << name << " flow " << i + 1;
        EXPECT_FALSE(run.flows()[i].placed.is_never()) << name;
      }
      const std::uint64_t sent = run.network().port_counters(0, run.now()).rx_bytes;
      EXPECT_NEAR(static_cast<double>(sent), 40e9 / 8 * 1e-3, 0.12e6) << name << ": nothing leaves behind it";
      EXPECT_LT(run.now(), Time::zero() + 13_ms);
    }
}

TEST(StopTest, AStreamThatCannotKeepUpEndsAtItsStop) {
  DesRun run(plan_of("rate = \"80Gb/s\"\nmessage_size = \"10KB\"\nstop = \"1ms\"\noverload = true\n"), {});
  const FlowOutcome flow = first_flow(run);
  ASSERT_TRUE(run.complete());
  EXPECT_TRUE(flow.stopped);
  EXPECT_NEAR(static_cast<double>(flow.delivered.messages), 40e9 / 8 * 1e-3 / 10'870, 3);
  EXPECT_GE(flow.delivered.messages, flow.sent) << "some acknowledgements were on their way";
}

}  // namespace
}  // namespace rocelab::des
