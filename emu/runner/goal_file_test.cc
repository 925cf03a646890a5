#include "emu/runner/goal_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/connection_matrix.h"
#include "emu/runner/plan.h"
#include "emu/runner/written_flows.h"

namespace rocelab {
namespace {

std::vector<ListedFlow> flows_of(const std::string& text) {
  return parse_goal(text, "s.goal", FlowOp::kWrite, make_star(4, {}));
}

std::string complaint(const std::string& text) {
  return complaint_of([&] { flows_of(text); });
}

std::string complaint_in_rank(const std::string& lines) {
  return complaint("num_ranks 2\nrank 0 {\n" + lines + "}\nrank 1 {\nrecv 5b from 0\n}\n");
}

RunPlan plan_of(const std::string& workload) {
  const Scenario s = parse_scenario(
      "transport = \"irn\"\n[topology]\nkind = \"star\"\nhosts = 4\n[[workload]]\njitter = \"0us\"\n" +
          workload,
      "t.toml");
  return make_plan(s, s.settings[0], 1);
}

constexpr char kRing[] =
    "kind = \"collective\"\noperation = \"all-reduce\"\nsize = \"40KB\"\niterations = 2\n";

// Two ends of flows, and what waits for what, in words that do not depend on numbers.
template <class Flows, class At>
std::vector<std::string> edges(const Flows& flows, At&& at) {
  const auto name = [](const auto& f) {
    return std::to_string(f.src) + ">" + std::to_string(f.dst) + "/" + std::to_string(f.size.count());
  };
  std::vector<std::string> list;
  for (const auto& flow : flows) {
    std::vector<std::string> others;
    for (const FlowEnd& end : flow.after)
      others.push_back(name(at(end.flow)) + "+" + std::to_string(end.delay.ps()));
    std::ranges::sort(others);
    std::string line = name(flow) + " " + std::to_string(flow.after_count) + ":";
    for (const std::string& other : others) line += " " + other;
    list.push_back(line);
  }
  std::ranges::sort(list);
  return list;
}

std::vector<std::string> edges_of(const RunPlan& plan) {
  return edges(plan.flows, [&](std::uint32_t id) -> const Flow& { return plan.flows[id - 1]; });
}
std::vector<std::string> edges_of(const std::vector<ListedFlow>& flows) {
  return edges(flows, [&](std::uint32_t place) -> const ListedFlow& { return flows[place]; });
}

TEST(GoalFileTest, ASendBeginsBehindWhatItRequiresAndTheTimesBetween) {
  const auto flows = flows_of(
      "num_ranks 3 // three\nrank 0 {\n/* rank 0\n starts */ l1: calc 1500\nl2: send 4096b to 1 tag 7 cpu 0\n"
      "l2 requires l1\n}\nrank 1 {\na: recv 4096b from 0 tag 7\nc: calc 300\nc requires a\nd: calc 50\n"
      "b: send 10b to 2 nic 1\nb requires c\nb requires d\n}\nrank 2 {\nrecv 10b from 1\n}\n");
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].start, 1500_ns);
  EXPECT_EQ(flows[0].size, 4096_B);
  EXPECT_TRUE(flows[0].after.empty());
  EXPECT_EQ(std::pair(flows[1].src, flows[1].dst), std::pair(1u, 2u));
  EXPECT_EQ(flows[1].after, (std::vector<FlowEnd>{{0, 300_ns}}));
  EXPECT_EQ(flows[1].after_count, 1u);
  EXPECT_EQ(flows[1].start, 50_ns) << "and not before d";
}

TEST(GoalFileTest, IrequiresIsBehindTheBeginAndASendIsCompleteWithItsAcknowledgement) {
  const auto flows = flows_of(
      "num_ranks 2\nrank 0 {\nx: send 1b to 1 tag 1\ny: send 1b to 1 tag 2\nz: send 0b to 1 tag 3\n"
      "y requires x\nz irequires y\n}\nrank 1 {\nrecv 1b from 0 tag 2\nrecv 1b from 0 tag 1\nrecv 0b from 0 "
      "tag 3\n}\n");
  ASSERT_EQ(flows.size(), 3u);
  EXPECT_EQ(flows[1].after, (std::vector<FlowEnd>{{0}}));
  EXPECT_EQ(flows[2].after, (std::vector<FlowEnd>{{0}})) << "z begins with y";
  EXPECT_EQ(flows[2].size, 1_B) << "a flow has a byte at least";
}

TEST(GoalFileTest, MistakesAreNamedByLine) {
  EXPECT_EQ(complaint_in_rank("send 5b to 1\n"), "none");
  EXPECT_EQ(complaint_in_rank("send 5b to 2\n"),
            "s.goal:3: the rank must be a whole number up to 1, not \"2\": num_ranks says 2");
  EXPECT_EQ(complaint_in_rank("send 5b to 0\n"), "s.goal:3: the message goes to its own rank");
  EXPECT_EQ(complaint_in_rank("send 6b to 1\n"), "s.goal:3: sends 6 bytes, and the recv in line 6 takes 5");
  EXPECT_EQ(complaint_in_rank("send 5b to 1 tag 2\n"), "s.goal:3: no recv of rank 1 takes this message");
  EXPECT_EQ(complaint_in_rank("calc 5\n"), "s.goal:6: no send goes to this recv");
  EXPECT_EQ(complaint_in_rank("send 5b to 1\nrecv 5b from -1\n"),
            "s.goal:4: a recv from any rank is not supported: name the rank");
  EXPECT_EQ(complaint_in_rank("a: send 5b to 1\na requires b\n"),
            "s.goal:4: no operation of rank 0 above is called \"b\"");
  EXPECT_EQ(complaint_in_rank("a: send 5b to 1\nb: calc 1\na requires b\nb requires a\n"),
            "s.goal:3: the operation requires itself, by way of others");
  EXPECT_EQ(complaint_in_rank("a: send 5b to 1\na: calc 1\n"), "s.goal:4: label \"a\" is used twice");
  EXPECT_EQ(complaint_in_rank("a: put 5b to 1\n"),
            "s.goal:3: an operation is calc NS, send Nb to RANK or recv Nb from RANK, behind its label, or A "
            "requires B");
  EXPECT_EQ(complaint("num_ranks 5\n"),
            "s.goal:1: num_ranks must be a whole number up to 4, not \"5\": the topology has 4 hosts");
  EXPECT_EQ(complaint("rank 0 {\n"), "s.goal:1: num_ranks must stand before the ranks");
  EXPECT_EQ(complaint("num_ranks 2\nrank 0 {\nsend 5b to 1\n"), "s.goal:3: rank 0 has no closing }");
  EXPECT_EQ(complaint("num_ranks 2\nrank 0 {\na: send 1b to 1\nb: recv 1b from 1\na requires b\n}\n"
                      "rank 1 {\na: send 1b to 0\nb: recv 1b from 0\na requires b\n}\n"),
            "s.goal:3: the message is never sent: it waits for ranks that wait for it");
}

TEST(GoalFileTest, CollectivesComeBackAsTheyWereWritten) {
  for (const std::string& workload :
       {std::string(kRing) + "gap = \"3us\"\nstep_gap = \"200ns\"\n",
        std::string(kRing) + "algorithm = \"halving-doubling\"\ngap = \"1us\"\n",
        std::string(
            "kind = \"collective\"\noperation = \"all-to-all\"\nskew = 1\nsize = \"9KB\"\niterations = 3\n"),
        std::string("kind = \"collective\"\noperation = \"broadcast\"\nsize = \"9KB\"\nchunk = \"4KB\"\n")}) {
    const RunPlan plan = plan_of(workload);
    const WrittenFlows goal = write_goal(plan);
    EXPECT_TRUE(goal.omissions.empty()) << goal.omissions.front();
    EXPECT_EQ(edges_of(flows_of(goal.text)), edges_of(plan)) << workload;
  }
}

TEST(ConnectionMatrixWriterTest, ARingComesBackAsItWasWritten) {
  const RunPlan plan = plan_of(kRing);
  const WrittenFlows matrix = write_connection_matrix(plan, 5_us);
  EXPECT_TRUE(matrix.omissions.empty());
  const auto flows = parse_connection_matrix(matrix.text, "m.cm", FlowOp::kWrite, 5_us, make_star(4, {}));
  EXPECT_EQ(edges_of(flows), edges_of(plan));
}

TEST(ConnectionMatrixWriterTest, TriggersOfAllKindsComeBack) {
  const std::string text =
      "Nodes 4\nConnections 9\nTriggers 3\n"
      "0->1 id 1 start 0 size 10 send_done_trigger 1\n0->2 id 2 start 7 size 11 send_done_trigger 1\n"
      "0->3 id 3 trigger 1 size 12\n0->1 id 4 trigger 1 size 13 recv_done_trigger 2\n"
      "1->3 id 5 trigger 2 size 14 recv_done_trigger 3\n1->2 id 6 trigger 2 size 15\n"
      "2->3 id 7 start 0 size 16 recv_done_trigger 3\n0->3 id 8 start 0 size 17 recv_done_trigger 3\n"
      "3->0 id 9 trigger 3 size 18\n"
      "trigger id 1 multishot\ntrigger id 2 oneshot\ntrigger id 3 barrier count 2\n";
  const auto flows = parse_connection_matrix(text, "m.cm", FlowOp::kWrite, {}, make_star(4, {}));
  RunPlan plan;
  plan.world.hosts.resize(4);
  for (const ListedFlow& listed : flows) {
    Flow flow;
    flow.id = static_cast<std::uint32_t>(plan.flows.size()) + 1;
    flow.src = listed.src;
    flow.dst = listed.dst;
    flow.size = listed.size;
    flow.start = Time::zero() + listed.start;
    flow.after_count = listed.after_count;
    for (const FlowEnd& end : listed.after) flow.after.push_back({end.flow + 1});
    plan.flows.push_back(flow);
  }
  const WrittenFlows matrix = write_connection_matrix(plan, {});
  EXPECT_TRUE(matrix.omissions.empty());
  EXPECT_NE(matrix.text.find("multishot"), std::string::npos);
  EXPECT_NE(matrix.text.find("oneshot"), std::string::npos);
  EXPECT_NE(matrix.text.find("barrier count 2"), std::string::npos);
  const auto again = parse_connection_matrix(matrix.text, "n.cm", FlowOp::kWrite, {}, make_star(4, {}));
  EXPECT_EQ(edges_of(again), edges_of(flows));
  EXPECT_EQ(again[1].start, 7_ps);
}

TEST(ConnectionMatrixWriterTest, WhatTriggersCannotSayIsNamed) {
  const RunPlan plan = plan_of(std::string(kRing) + "algorithm = \"halving-doubling\"\ngap = \"1us\"\n");
  const WrittenFlows matrix = write_connection_matrix(plan, {});
  ASSERT_EQ(matrix.omissions.size(), 2u);
  EXPECT_EQ(matrix.omissions[0], "that 8 flows begin some time behind others' ends (at once there)");
  EXPECT_NE(matrix.omissions[1].find("an end fires one trigger"), std::string::npos);
  EXPECT_EQ(parse_connection_matrix(matrix.text, "m.cm", FlowOp::kWrite, {}, make_star(4, {})).size(), 32u);
}

}  // namespace
}  // namespace rocelab
