#include "emu/runner/workloads/collective.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/flow_file.h"
#include "emu/runner/plan.h"
#include "emu/runner/workload.h"

namespace rocelab {
namespace {

std::string text_of(const std::string& keys, int hosts = 4) {
  return "transport = \"roce\"\n[topology]\nkind = \"star\"\nhosts = " + std::to_string(hosts) +
         "\n[[workload]]\nkind = \"collective\"\n" + keys;
}

std::vector<Flow> flows_of(const std::string& keys, int hosts = 4, std::uint64_t seed = 1) {
  return draw_flows(parse_scenario(text_of(keys, hosts), "t.toml").settings.at(0), Rng(seed));
}

std::string complaint(const std::string& keys, int hosts = 4) {
  const std::string said = complaint_of([&] { parse_scenario(text_of(keys, hosts), "t.toml"); });
  return said.starts_with("t.toml:") ? said.substr(said.find(' ') + 1) : said;
}

constexpr char kReduce[] = "operation = \"all-reduce\"\njitter = \"0us\"\nsize = \"400KB\"\n";
constexpr char kExchange[] = "operation = \"all-to-all\"\njitter = \"0us\"\nsize = \"400KB\"\n";

std::vector<std::uint32_t> ids(const std::vector<FlowEnd>& ends) {
  std::vector<std::uint32_t> list;
  for (const FlowEnd& end : ends) list.push_back(end.flow);
  return list;
}

TEST(CollectiveTest, ARingsFlowsWaitForWhatTheirSourceReceivedInTheStepBefore) {
  const auto flows = flows_of(kReduce);
  ASSERT_EQ(flows.size(), 24u);
  std::map<std::uint32_t, const Flow*> by_id;
  for (const Flow& flow : flows) by_id[flow.id] = &flow;
  for (const Flow& flow : flows) {
    EXPECT_EQ(flow.dst, (flow.src + 1) % 4);
    EXPECT_EQ(flow.size, 100_KB);
    EXPECT_EQ(flow.connection != 0, true);
    EXPECT_EQ(flow.after_count, flow.after.size());
    if (flow.step == 0) {
      EXPECT_TRUE(flow.after.empty());
      continue;
    }
    ASSERT_EQ(flow.after.size(), 1u);
    const Flow& before = *by_id.at(flow.after[0].flow);
    EXPECT_EQ(before.dst, flow.src);
    EXPECT_EQ(before.step, flow.step - 1);
    EXPECT_LT(before.id, flow.id) << "both ends know the order of a connection's flows";
  }
}

TEST(CollectiveTest, ConnectionsAreSharedByAllStepsAndIterations) {
  std::set<std::uint32_t> connections;
  for (const Flow& flow : flows_of(std::string(kReduce) + "iterations = 3\n"))
    connections.insert(flow.connection);
  EXPECT_EQ(connections.size(), 4u) << "one from each rank to its right";
}

TEST(CollectiveTest, AnIterationBeginsAGapAfterTheRanksLastOne) {
  const auto flows = flows_of(std::string(kReduce) + "iterations = 2\ngap = \"7us\"\nstep_gap = \"300ns\"\n");
  ASSERT_EQ(flows.size(), 48u);
  for (const Flow& flow : flows) {
    const std::size_t data = flow.step == 0 ? 0 : 1;
    ASSERT_EQ(flow.after.size(), data + (flow.request == 1 && flow.step == 0 ? 2 : 0));
    if (data == 1) {
      EXPECT_EQ(flow.after[0].delay, 300_ns);
    }
    for (std::size_t i = data; i < flow.after.size(); ++i) {  // the rank's last send and its last receive
      const Flow& last = flows[flow.after[i].flow - 1];
      EXPECT_EQ(flow.after[i].delay, 7_us);
      EXPECT_EQ(last.step, 5u);
      EXPECT_EQ(last.request, 0u);
      EXPECT_TRUE(last.src == flow.src || last.dst == flow.src);
    }
  }
}

TEST(CollectiveTest, PiecesOfAnIterationAreBehindThoseOfTheOneBefore) {
  const auto flows = flows_of(
      "operation = \"all-reduce\"\nsize = \"400KB\"\n"
      "iterations = 3\nchunk = \"30KB\"\njitter = \"9us\"\n");
  std::map<std::uint32_t, std::uint32_t> iteration;  // by connection
  for (const Flow& flow : flows) {
    EXPECT_GE(flow.request, iteration[flow.connection]);
    iteration[flow.connection] = flow.request;
  }
}

TEST(CollectiveTest, AStepThatWaitsForAllOfTheOneBeforeAlsoWaitsForTheRanksOwnSends) {
  const auto flows = flows_of(std::string(kReduce) + "dependencies = \"steps\"\n");
  for (const Flow& flow : flows) {
    if (flow.step == 0) continue;
    ASSERT_EQ(flow.after.size(), 2u);
    EXPECT_NE(flows[flow.after[0].flow - 1].src, flows[flow.after[1].flow - 1].src);
    EXPECT_EQ(flows[flow.after[0].flow - 1].step, flow.step - 1);
    EXPECT_EQ(flows[flow.after[1].flow - 1].step, flow.step - 1);
  }
}

TEST(CollectiveTest, PiecesGoOnIndependently) {
  const auto flows = flows_of(std::string(kReduce) + "chunk = \"30KB\"\n");
  ASSERT_EQ(flows.size(), 24u * 4);
  for (const Flow& flow : flows) EXPECT_LE(flow.size, 30_KB);
  const auto waiting = std::ranges::find_if(flows, [](const Flow& f) { return f.step == 1; });
  ASSERT_EQ(waiting->after.size(), 1u);
  EXPECT_EQ(flows[waiting->after[0].flow - 1].size, waiting->size);
}

TEST(CollectiveTest, SizesThatRanksDoNotDivideDifferByAByteAtMost) {
  const auto flows = flows_of("operation = \"all-gather\"\nsize = \"1003B\"\n");
  std::int64_t received = 0;
  for (const Flow& flow : flows) {
    EXPECT_TRUE(flow.size == 250_B || flow.size == 251_B) << flow.size.count();
    received += flow.size.count();
  }
  EXPECT_EQ(received, 3 * 1003);
}

TEST(CollectiveTest, GroupsAreNeighboursOrEveryNthRank) {
  const auto pairs = [](const std::string& grouping) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> found;
    for (const Flow& flow :
         flows_of(std::string(kExchange) + "groups = 2\ngrouping = \"" + grouping + "\"\n"))
      found.insert({flow.src, flow.dst});
    return found;
  };
  using Pairs = std::set<std::pair<std::uint32_t, std::uint32_t>>;
  EXPECT_EQ(pairs("consecutive"), (Pairs{{0, 1}, {1, 0}, {2, 3}, {3, 2}}));
  EXPECT_EQ(pairs("strided"), (Pairs{{0, 2}, {2, 0}, {1, 3}, {3, 1}}));
}

TEST(CollectiveTest, RanksAreTheHostsInTheOrderThatIsWritten) {
  const auto flows = flows_of(
      "operation = \"broadcast\"\nsize = \"1KB\"\nranks = [\"h3\", \"h1\", \"h4\"]\nroot = \"h1\"\n");
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(std::pair(flows[0].src, flows[0].dst), std::pair(0u, 3u));
  EXPECT_EQ(std::pair(flows[1].src, flows[1].dst), std::pair(3u, 2u));
}

TEST(CollectiveTest, ASkewedExchangeLoadsOneRankMostAndKeepsTheSum) {
  std::map<std::uint32_t, std::int64_t> received;
  std::map<std::uint32_t, std::int64_t> sent;
  for (const Flow& flow : flows_of(std::string(kExchange) + "skew = 1\n", 8)) {
    received[flow.dst] += flow.size.count();
    sent[flow.src] += flow.size.count();
    EXPECT_GT(flow.size.count(), 0);
  }
  std::vector<std::int64_t> loads;
  for (const auto& [rank, bytes] : received) loads.push_back(bytes / 7);
  std::ranges::sort(loads, std::greater());
  const double harmonic = 1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4 + 1.0 / 5 + 1.0 / 6 + 1.0 / 7 + 1.0 / 8;
  for (std::size_t k = 0; k < loads.size(); ++k)
    EXPECT_NEAR(static_cast<double>(loads[k]), 400e3 / harmonic / static_cast<double>(k + 1), 4);
  for (const auto& [rank, bytes] : sent)
    EXPECT_EQ(bytes + received[rank] / 7, 400'000) << "its own part stays";
}

TEST(CollectiveTest, TheMostLoadedRankIsDrawnForEachIterationAndSeed) {
  std::set<std::uint32_t> most;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> received;
    for (const Flow& flow : flows_of(std::string(kExchange) + "skew = 2\niterations = 4\n", 8, seed))
      received[{flow.request, flow.dst}] += flow.size.count();
    for (const auto& [key, bytes] : received)
      if (bytes > 1'000'000) most.insert(key.second);
  }
  EXPECT_GT(most.size(), 4u);
}

TEST(CollectiveTest, RanksEnterWithJitterAndSendNothingBefore) {
  const auto flows = flows_of(
      "operation = \"all-reduce\"\nalgorithm = \"halving-doubling\"\nsize = \"4KB\"\njitter = \"50us\"\n");
  std::map<std::uint32_t, Time> enters;
  for (const Flow& flow : flows)
    if (flow.step == 0) enters[flow.src] = flow.start;
  std::set<Time> different;
  for (const auto& [rank, time] : enters) different.insert(time);
  EXPECT_EQ(different.size(), 4u);
  for (const Flow& flow : flows) EXPECT_GE(flow.start, enters[flow.src]);
}

TEST(CollectiveTest, TheFlowListSaysWhatWaitsForWhat) {
  const Scenario s = parse_scenario(text_of(std::string(kReduce) + "step_gap = \"1500ps\"\n"), "t.toml");
  const RunPlan plan = make_plan(s, s.settings[0], 1);
  const Flow& second = plan.flows[4];
  ASSERT_EQ(second.step, 1u);
  EXPECT_NE(flow_lines(plan).find(" collective 1/" + std::to_string(second.after[0].flow) + "+2 connection="),
            std::string::npos);
  EXPECT_EQ(ids(plan.flows[0].after), std::vector<std::uint32_t>{});
}

TEST(CollectiveTest, MistakesAreNamedWhereTheyStand) {
  const std::string reduce = kReduce;
  EXPECT_EQ(complaint(reduce), "none");
  EXPECT_EQ(
      complaint("operation = \"all-redce\"\nsize = \"1KB\"\n"),
      "workload.collective.operation = \"all-redce\" is none of all-reduce, all-gather, reduce-scatter, "
      "all-to-all, broadcast; did you mean \"all-reduce\"?");
  EXPECT_EQ(complaint(reduce + "algorithm = \"tree\"\n"),
            "workload.collective.algorithm = \"tree\" is none of ring, halving-doubling");
  EXPECT_EQ(
      complaint(reduce + "algorithm = \"halving-doubling\"\n", 6),
      "workload.collective.algorithm = halving-doubling needs a power of two of ranks, not 6: use \"ring\"");
  EXPECT_EQ(complaint(reduce + "ranks = [\"h1\"]\n"),
            "workload.collective.ranks leaves a collective of 1 rank: it needs at least two");
  EXPECT_EQ(complaint(reduce + "groups = 4\n"),
            "workload.collective.groups leaves a collective of 1 rank: it needs at least two");
  EXPECT_EQ(complaint(reduce + "groups = 3\n"), "workload.collective.groups = 3 does not divide the 4 ranks");
  EXPECT_EQ(complaint(reduce + "ranks = [\"h1\", \"h2\", \"h1\"]\n"),
            "workload.collective.ranks names \"h1\" twice");
  EXPECT_NE(complaint(reduce + "ranks = [\"h1\", \"h9\"]\n").find("ranks names no host: \"h9\""),
            std::string::npos);
  EXPECT_EQ(complaint("operation = \"all-gather\"\nsize = \"3B\"\n"),
            "workload.collective.size is less than a byte for each of the 4 ranks");
  EXPECT_EQ(complaint(reduce + "service = \"uc\"\n"),
            "workload.collective.service must be \"rc\": a collective loses nothing");
  EXPECT_EQ(complaint(reduce + "op = \"read\"\n"),
            "workload.collective.op must be \"write\" or \"send\": a rank that reads does not know when the "
            "data is there");
  EXPECT_EQ(complaint(reduce + "queue_pairs = \"ahead\"\n"),
            "workload.collective.queue_pairs must be \"persistent\": a rank keeps its queue pairs through "
            "all steps");
  EXPECT_EQ(complaint(reduce + "stop = \"1ms\"\n"),
            "workload.collective.stop is not for collectives: give it fewer iterations");
  EXPECT_EQ(complaint(reduce + "skew = 1\n"),
            "workload.collective.skew is that of operation = \"all-to-all\"");
  EXPECT_EQ(complaint(std::string(kExchange) + "skew = 0.7\n"),
            "workload.collective.skew must be a multiple of 0.5");
  EXPECT_EQ(complaint(reduce + "root = \"h1\"\n"),
            "workload.collective.root is that of operation = \"broadcast\"");
  EXPECT_EQ(complaint("operation = \"broadcast\"\nsize = \"1KB\"\nranks = [\"h1\", \"h2\"]\nroot = \"h3\"\n"),
            "workload.collective.root is none of the ranks");
  EXPECT_EQ(complaint(reduce + "chunk = \"1B\"\niterations = 100\n"),
            "workload.collective.chunk makes more than 10000000 flows");
  EXPECT_EQ(complaint(std::string(kExchange) + "iterations = 1000\n", 64),
            "workload.collective.iterations of so many ranks wait for one another too often for "
            "one run: lower it");
  EXPECT_NE(complaint("operation = \"all-gather\"\n").find("needs the key \"size\""), std::string::npos);
}

}  // namespace
}  // namespace rocelab
