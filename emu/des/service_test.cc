// Flows over UC and UD in virtual time.
#include <gtest/gtest.h>

#include "emu/des/test_runs.h"
#include "emu/runner/scenario.h"

namespace rocelab::des {
namespace {

constexpr char kList[] = R"(
transport = ["roce"]
[topology]
kind = "star"
hosts = 3
rate = "40Gb/s"
delay = "2us"
[[workload]]
name = "w"
kind = "list"
jitter = "0us"
settle = "1ms"
service = "SERVICE"
message_size = "SIZE"
  [[workload.flow]]
  src = "h1"
  dst = "h3"
  size = "100KB"
)";

RunPlan plan_of(std::string service, std::string op, std::string message,
                std::vector<Override> overrides = {}) {
  std::string text = kList;
  text.replace(text.find("SERVICE"), 7, service);
  text.replace(text.find("SIZE"), 4, message);
  overrides.push_back({"workload.w.flow.0.op", op});
  const Scenario scenario = parse_scenario(text, "test.toml", overrides);
  return make_plan(scenario, scenario.settings.front(), 1);
}

struct Case {
  const char *service, *op, *message;
  std::uint64_t messages;
};
// Datagrams: 2 of each 1500 bytes, and of the last 1000 bytes one.
constexpr Case kCases[] = {{"uc", "write", "7KB", 15},
                           {"uc", "send", "7KB", 15},
                           {"ud", "send", "1500B", 66 * 2 + 1},
                           {"ud", "send", "100KB", 98}};

TEST(ServiceTest, AloneAFlowIsCompleteAndTakesTheTimeOfTheClosedFormula) {
  for (const char* label : {"roce", "roce+pfc", "irn"})
    for (const Case& c : kCases) {
      const std::string name = std::string(label) + " " + c.service + " " + c.op + " " + c.message;
      const RunPlan plan =
          plan_of(c.service, c.op, c.message, {{"transport", std::string("[\"") + label + "\"]"}});
      DesRun run(plan, {});
      const FlowOutcome flow = first_flow(run);
      ASSERT_TRUE(run.complete()) << name;
      EXPECT_EQ(flow.delivered.messages, c.messages) << name;
      EXPECT_EQ(flow.sent, c.messages) << name;
      EXPECT_EQ(plan.flows[0].messages(), static_cast<std::int64_t>(c.messages)) << name;
      EXPECT_EQ(flow.bytes, 100'000u) << name;
      EXPECT_FALSE(flow.settled) << name;
      EXPECT_EQ(flow.placed - flow.posted, plan.flows[0].alone) << name;
      EXPECT_EQ(run.network().host(2).nic().counters().out_of_buffer, 0u) << name;
    }
}

// The third frame towards the switch is lost: of UC the message to which it belongs, of UD one datagram.
TEST(ServiceTest, ALostFrameTakesItsMessageAlong) {
  for (const Case& c : kCases) {
    const std::string name = std::string(c.service) + " " + c.op + " " + c.message;
    std::string text = kList;
    text.replace(text.find("SERVICE"), 7, c.service);
    text.replace(text.find("SIZE"), 4, c.message);
    text += "[[fault]]\nfrom = \"h1\"\nto = \"s1\"\ndrop_list = [3]\n";
    const Scenario scenario = parse_scenario(text, "test.toml", {{"workload.w.flow.0.op", c.op}});
    DesRun run(make_plan(scenario, scenario.settings.front(), 1), {});
    const FlowOutcome flow = first_flow(run);
    ASSERT_TRUE(run.complete()) << name;
    EXPECT_EQ(flow.sent, c.messages) << name;
    EXPECT_EQ(flow.delivered.messages, c.messages - 1) << name;
    EXPECT_TRUE(flow.placed.is_never()) << name;
    EXPECT_TRUE(flow.settled) << name;
    EXPECT_FALSE(flow.stopped) << name;
    EXPECT_EQ(flow.status, 0) << name;
    const std::uint64_t lost = std::string(c.service) == "uc" ? 7'000 : 1'024;
    EXPECT_EQ(flow.bytes, 100'000u - lost) << name;
    // It waits for 1 ms after the last arrival.
    EXPECT_GE(run.now(), Time::from_ps(flow.delivered.last_ns * 1'000) + 1_ms) << name;
    EXPECT_LT(run.now(), Time::from_ps(flow.delivered.last_ns * 1'000) + 1_ms + 10_us) << name;
  }
}

}  // namespace
}  // namespace rocelab::des
