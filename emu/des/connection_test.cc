// Queue pairs that flows share, and that come and go with them, in virtual time.
#include <gtest/gtest.h>

#include <stdexcept>

#include "emu/des/des_run.h"
#include "emu/runner/scenario.h"

namespace rocelab::des {
namespace {

// The second flow begins while the first one is under way, the third one when both are over.
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
message_size = "30KB"
  [[workload.flow]]
  src = "h1"
  dst = "h3"
  size = "200KB"
  [[workload.flow]]
  src = "h1"
  dst = "h3"
  size = "90KB"
  start = "10us"
  [[workload.flow]]
  src = "h1"
  dst = "h3"
  size = "90KB"
  start = "500us"
  [[workload.flow]]
  src = "h1"
  dst = "h2"
  size = "1KB"
  start = "500us"
)";

struct Result {
  RunPlan plan;
  std::vector<FlowOutcome> flows;
  bool complete = false;
  std::vector<bool> left = {},
                    left_at_sinks = {};  // by flow: its first queue pair exists when the run is over
  Duration fct(std::size_t flow) const { return flows[flow].placed - flows[flow].posted; }
};

Result run_of(const std::string& queue_pairs, const std::string& label, std::vector<Override> overrides = {},
              const std::string& more = "") {
  overrides.push_back({"transport", "[\"" + label + "\"]"});
  overrides.push_back({"workload.w.queue_pairs", queue_pairs});
  const Scenario scenario = parse_scenario(kList + more, "test.toml", overrides);
  Result result{make_plan(scenario, scenario.settings.front(), 1), {}};
  DesRun run(result.plan, {});
  while (!run.advance(1000)) {
  }
  result.flows = run.flows();
  result.complete = run.complete();
  for (const Flow& flow : result.plan.flows) {
    const FlowOutcome& outcome = result.flows[result.left.size()];
    const auto exists = [&](std::uint32_t host, std::uint32_t qpn) {
      return run.network().host(host).nic().query_qp(Qpn{qpn}) != nullptr;
    };
    result.left.push_back(exists(flow.src, outcome.src_qpns.at(0)));
    result.left_at_sinks.push_back(exists(flow.dst, outcome.dst_qpns.at(0)));
  }
  return result;
}

std::vector<Override> all_of(const std::string& op) {
  std::vector<Override> overrides;
  for (int flow = 0; flow < 4; ++flow)
    overrides.push_back({"workload.w.flow." + std::to_string(flow) + ".op", op});
  return overrides;
}

TEST(ConnectionTest, FlowsOfAPairShareQueuePairsAndAreServedInTheOrderOfTheirStarts) {
  for (const char* label : {"roce", "roce+pfc", "irn"})
    for (const char* op : {"send", "write", "read"})
      for (const char* qps : {"1", "3"}) {
        const std::string name = std::string(label) + " " + op + " " + qps;
        std::vector<Override> overrides = all_of(op);
        overrides.push_back({"workload.w.qps", qps});
        const Result ahead = run_of("ahead", label, overrides),
                     shared = run_of("persistent", label, overrides);
        ASSERT_TRUE(ahead.complete && shared.complete) << name;
        EXPECT_NE(ahead.flows[0].src_qpns, ahead.flows[1].src_qpns) << name;
        EXPECT_EQ(shared.flows[0].src_qpns, shared.flows[1].src_qpns) << name;
        EXPECT_EQ(shared.flows[0].dst_qpns, shared.flows[2].dst_qpns) << name;
        EXPECT_NE(shared.flows[0].src_qpns, shared.flows[3].src_qpns) << name << ": another pair";
        if (std::string(qps) == "1" && std::string(op) != "read") {
          EXPECT_EQ(shared.fct(0), shared.plan.flows[0].alone) << name << ": nobody overtakes the first";
        }
        EXPECT_GT(ahead.fct(0), shared.fct(0)) << name;
        EXPECT_GT(shared.flows[1].placed, shared.flows[0].placed) << name;
        EXPECT_LT(ahead.flows[1].placed, ahead.flows[0].placed) << name << ": with its own it overtakes";
        EXPECT_EQ(shared.flows[1].bytes, 90'000u) << name;
      }
}

// Messages that have begun go on to their end; those that wait for their turn never leave, and their flow is
// stopped.
TEST(ConnectionTest, ItsFlowsStopTogether) {
  for (const char* label : {"roce", "roce+pfc", "irn"})
    for (const char* op : {"send", "write"})
      for (const char* qps : {"1", "3"}) {
        const std::string name = std::string(label) + " " + op + " " + qps;
        std::vector<Override> overrides = all_of(op);
        overrides.push_back({"workload.w.qps", qps});
        const auto stopped_at = [&](const char* stop) {
          std::vector<Override> with = overrides;
          with.push_back({"workload.w.stop", stop});
          return run_of("persistent", label, with);
        };
        const Result early = stopped_at("30us"), late = stopped_at("55us"), behind = stopped_at("400us"),
                     later = stopped_at("600us");
        ASSERT_TRUE(early.complete && late.complete && behind.complete) << name;
        ASSERT_EQ(late.flows.size(), 2u) << name << ": the others would begin behind it";
        EXPECT_EQ(early.flows[0].src_qpns, early.flows[1].src_qpns) << name;
        EXPECT_TRUE(early.flows[0].stopped && early.flows[1].stopped) << name;
        EXPECT_GT(early.flows[0].bytes, 0u) << name;
        EXPECT_LT(early.flows[0].bytes, 200'000u) << name;
        EXPECT_EQ(early.flows[0].bytes % 30'000, 0u) << name << ": whole messages";
        EXPECT_EQ(early.flows[1].bytes, 0u) << name << ": its turn had not come";
        if (std::string(qps) == "1") {  // over several all have begun by then
          EXPECT_FALSE(late.flows[0].stopped) << name;
          EXPECT_EQ(late.flows[0].bytes, 200'000u) << name;
          EXPECT_TRUE(late.flows[1].stopped) << name;
          EXPECT_LT(late.flows[1].bytes, 90'000u) << name;
        }
        for (std::size_t flow = 0; flow < 2; ++flow) {
          EXPECT_FALSE(behind.flows[flow].stopped) << name;
          EXPECT_EQ(behind.flows[flow].placed, later.flows[flow].placed) << name << ": what stops nothing";
        }
      }
}

// TCP's slow start is over when the third flow begins.
TEST(ConnectionTest, CongestionControlGoesOnFromFlowToFlow) {
  const Result ahead = run_of("ahead", "iwarp"), shared = run_of("persistent", "iwarp");
  ASSERT_TRUE(ahead.complete && shared.complete);
  EXPECT_LT(shared.fct(2), ahead.fct(2));
  EXPECT_EQ(shared.fct(3), ahead.fct(3)) << "the first flow of its connection";
}

TEST(ConnectionTest, AQueuePairThatFailsTakesAllItsFlowsAlong) {
  const std::string fault =
      "[[fault]]\nfrom = \"h1\"\nto = \"s1\"\ndrop_rate = 1.0\n[timers]\nverbs_timeout = 1\n";
  const Result shared = run_of("persistent", "roce", {{"timers.timeouts", "off"}}, fault);
  EXPECT_FALSE(shared.complete);
  for (std::size_t flow = 0; flow < 3; ++flow)
    EXPECT_EQ(shared.flows[flow].status, 12) << "IBV_WC_RETRY_EXC_ERR of flow " << flow;
}

// Each flow's queue pairs are there for its time only, and nothing else differs: not even their numbers.
TEST(ConnectionTest, QueuePairsMayBeCreatedForAFlowAndDestroyedBehindItsEnd) {
  for (const char* label : {"roce", "irn", "irn+aimd"})
    for (const char* op : {"send", "write"}) {
      std::vector<Override> overrides = all_of(op);
      overrides.push_back({"workload.w.qps", "2"});
      const Result ahead = run_of("ahead", label, overrides);
      overrides.push_back({"workload.w.settle", "100us"});
      const Result made = run_of("per-flow", label, overrides);
      ASSERT_TRUE(made.complete) << label << " " << op;
      for (std::size_t flow = 0; flow < 4; ++flow) {
        EXPECT_EQ(made.flows[flow].posted, ahead.flows[flow].posted);
        EXPECT_EQ(made.flows[flow].placed, ahead.flows[flow].placed);
        EXPECT_EQ(made.flows[flow].cqe, ahead.flows[flow].cqe);
        EXPECT_EQ(made.flows[flow].src_qpns, ahead.flows[flow].src_qpns);
        EXPECT_EQ(made.flows[flow].dst_qpns, ahead.flows[flow].dst_qpns);
      }
      EXPECT_EQ(made.left, (std::vector<bool>{false, false, false, false})) << "sources destroy at once";
      EXPECT_EQ(made.left_at_sinks, (std::vector<bool>{false, false, true, true}))
          << "after settle, which is not over when the run is";
      EXPECT_EQ(ahead.left, (std::vector<bool>{true, true, true, true}));
    }
}

// Nothing is sent again over UC and UD: both ends destroy theirs with the last message.
TEST(ConnectionTest, WithoutAcknowledgementsASinkDestroysItsQueuePairsAtOnce) {
  for (const char* service : {"uc", "ud"}) {
    std::vector<Override> overrides = all_of("send");
    overrides.push_back({"workload.w.service", service});
    const Result ahead = run_of("ahead", "roce", overrides), made = run_of("per-flow", "roce", overrides);
    ASSERT_TRUE(made.complete) << service;
    for (std::size_t flow = 0; flow < 4; ++flow) {
      EXPECT_EQ(made.flows[flow].posted, ahead.flows[flow].posted);
      EXPECT_EQ(made.flows[flow].placed, ahead.flows[flow].placed);
    }
    EXPECT_EQ(made.left, (std::vector<bool>{false, false, false, false})) << service;
    EXPECT_EQ(made.left_at_sinks, (std::vector<bool>{false, false, false, false})) << service;
  }
}

TEST(ConnectionTest, OnlyFlowsOfATimeNeedQueuePairs) {
  const std::vector<Override> few = {{"nic.max_qps", "2"}, {"workload.w.settle", "100us"}};
  EXPECT_TRUE(run_of("per-flow", "roce", few).complete);
  EXPECT_THROW(run_of("ahead", "roce", {{"nic.max_qps", "2"}}), std::runtime_error);
  EXPECT_THROW(run_of("per-flow", "roce", {{"nic.max_qps", "1"}, {"workload.w.settle", "100us"}}),
               std::runtime_error)
      << "the first two overlap";
}

}  // namespace
}  // namespace rocelab::des
