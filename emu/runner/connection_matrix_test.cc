#include "emu/runner/connection_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/flow_file.h"
#include "emu/runner/plan.h"

namespace rocelab {
namespace {

std::vector<ListedFlow> flows_of(const std::string& text, FlowOp op = FlowOp::kWrite, Duration epoch = {}) {
  return parse_connection_matrix(text, "m.cm", op, epoch, make_star(4, {}));
}

std::string complaint(const std::string& text, FlowOp op = FlowOp::kWrite) {
  return complaint_of([&] { flows_of(text, op); });
}

std::string matrix(int connections, int triggers, const std::string& lines) {
  return "Nodes 4\nConnections " + std::to_string(connections) + "\nTriggers " + std::to_string(triggers) +
         "\n" + lines;
}

using Places = std::vector<std::uint32_t>;

Places after(const ListedFlow& flow) {
  Places places;
  for (const FlowEnd& end : flow.after) places.push_back(end.flow);
  return places;
}

TEST(ConnectionMatrixTest, StartsArePicosecondsAndSizesBytes) {
  const std::vector<ListedFlow> flows = flows_of(
      "Nodes 4\nConnections 3\n0->3 id 1 start 0 size 500000\n# a comment\n1->3 id 2 start 1000000 size "
      "500000\n"
      "2->0 start 2500000.0 size 70000\n");
  ASSERT_EQ(flows.size(), 3u);
  EXPECT_EQ(flows[1].src, 1u);
  EXPECT_EQ(flows[1].dst, 3u);
  EXPECT_EQ(flows[1].start, 1_us);
  EXPECT_EQ(flows[1].size, 500_KB);
  EXPECT_EQ(flows[2].start, 2500_ns);
  EXPECT_TRUE(flows[2].after.empty());
  EXPECT_EQ(flows_of(matrix(1, 0, "0->1 start 5000000 size 1\n"), FlowOp::kRead, 2_us)[0].start, 3_us);
}

TEST(ConnectionMatrixTest, TriggersSayWhichFlowsMustHaveEnded) {
  const std::vector<ListedFlow> chain = flows_of(matrix(
      3, 2,
      "0->1 id 1 start 0 size 10 send_done_trigger 1\n0->2 id 2 trigger 1 size 10 recv_done_trigger 2\n"
      "2->3 id 3 trigger 2 size 10\ntrigger id 1 oneshot\ntrigger id 2 oneshot\n"));
  EXPECT_EQ(chain[0].after_count, 0u);
  EXPECT_EQ(after(chain[1]), Places{0});
  EXPECT_EQ(after(chain[2]), Places{1});
  const std::vector<ListedFlow> barrier =
      flows_of(matrix(3, 1,
                      "trigger id 7 barrier count 2\n0->3 id 1 start 0 size 10 recv_done_trigger 7\n"
                      "1->3 id 2 start 0 size 10 send_done_trigger 7\n3->0 id 3 trigger 7 size 10\n"));
  EXPECT_EQ(after(barrier[2]), (Places{0, 1}));
  EXPECT_EQ(barrier[2].after_count, 2u);
  // Each end starts the next of those that wait.
  const std::vector<ListedFlow> next = flows_of(matrix(
      4, 1,
      "0->1 id 1 start 0 size 10 send_done_trigger 3\n0->2 id 2 start 0 size 10 send_done_trigger 3\n"
      "0->3 id 3 trigger 3 size 10 send_done_trigger 3\n0->1 id 4 trigger 3 size 10 send_done_trigger 3\n"
      "trigger id 3 multishot\n"));
  EXPECT_EQ(after(next[2]), (Places{0, 1, 2, 3}));
  EXPECT_EQ(next[2].after_count, 1u);
  EXPECT_EQ(next[3].after_count, 2u);
}

TEST(ConnectionMatrixTest, ComplaintsNameTheLine) {
  const std::string start = " start 0 size 10";
  EXPECT_EQ(complaint(matrix(1, 0, "0->1" + start + "\n")), "none");
  EXPECT_EQ(complaint("Nodes 5\nConnections 0\n"),
            "m.cm:1: the matrix is for 5 nodes, and the topology has 4 hosts");
  EXPECT_EQ(complaint(matrix(2, 0, "0->1" + start + "\n")), "m.cm:2: Connections says 2, but there are 1");
  EXPECT_EQ(complaint(matrix(1, 1, "0->1" + start + "\n")), "m.cm:3: Triggers says 1, but there are 0");
  EXPECT_EQ(complaint(matrix(1, 0, "0->4" + start + "\n")),
            "m.cm:4: a connection's ends are nodes from 0 to 3, not \"4\"");
  EXPECT_EQ(complaint(matrix(1, 0, "2->2" + start + "\n")), "m.cm:4: the flow goes to its own source");
  EXPECT_EQ(complaint(matrix(1, 0, "0->1 start 0 size 0\n")),
            "m.cm:4: a flow without a size never ends, which is not supported: give it one");
  EXPECT_EQ(complaint(matrix(1, 0, "0->1 size 10\n")),
            "m.cm:4: a connection has either a start or one trigger");
  EXPECT_EQ(complaint(matrix(1, 0, "0->1" + start + " prio 3\n")),
            "m.cm:4: prio is not supported: all RoCE data is in one class; take it out");
  EXPECT_EQ(
      complaint(matrix(1, 0, "0->1" + start + " sizes 3\n")),
      "m.cm:4: a connection has start or trigger, size, id, send_done_trigger and recv_done_trigger, and no "
      "\"sizes\"");
  EXPECT_EQ(complaint(matrix(1, 0, "0->1 start 0 size\n")), "m.cm:4: size is followed by a number");
  EXPECT_EQ(complaint(matrix(2, 0, "0->1 id 1" + start + "\n0->2 id 1" + start + "\n")),
            "m.cm:5: id 1 is used twice");
  EXPECT_EQ(complaint(matrix(1, 0, "failure switch_type TOR switch_id 0 link_id 1\n")),
            "m.cm:4: failures of links are not read from here: write [[link_event]] entries in the scenario");
  EXPECT_EQ(complaint("0->1" + start + "\n"),
            "m.cm:1: Nodes, the number of hosts, must stand before the connections");
}

TEST(ConnectionMatrixTest, TriggersThatCannotWorkAreRefused) {
  const std::string first = "0->1 id 1 start 0 size 10 send_done_trigger 1\n", one = "trigger id 1 oneshot\n";
  EXPECT_EQ(complaint(matrix(2, 1, first + "1->2 id 2 trigger 1 size 10\n" + one)), "none")
      << "1 sees it arrive";
  EXPECT_EQ(
      complaint(matrix(2, 1, first + "2->3 id 2 trigger 1 size 10\n" + one)),
      "m.cm:5: trigger 1 starts this flow at node 2, which does not see the end of 0->1 in line 4: of a "
      "trigger all flows must share that node");
  EXPECT_NE(complaint(matrix(2, 1, first + "0->2 id 2 trigger 1 size 10\n" + one), FlowOp::kRead)
                .find("starts this flow at node 2"),
            std::string::npos)
      << "a READ is posted by its destination";
  EXPECT_EQ(complaint(matrix(2, 0, first + "0->2 id 2 trigger 1 size 10\n")),
            "m.cm:4: trigger 1 has no line that specifies it");
  EXPECT_EQ(complaint(matrix(2, 1, "0->1 id 1 trigger 1 size 10\n0->2 id 2 trigger 1 size 10\n" + one)),
            "m.cm:4: the flow never starts: too few flows fire its trigger before it");
  EXPECT_EQ(complaint(matrix(2, 1, first + "0->2 id 2 trigger 1 size 10\ntrigger id 1 barrier count 2\n")),
            "m.cm:5: the flow never starts: too few flows fire its trigger before it");
  EXPECT_EQ(complaint(matrix(1, 1, "0->1 id 1 trigger 1 size 10 send_done_trigger 1\n" + one)),
            "m.cm:4: the flow never starts: too few flows fire its trigger before it");
  EXPECT_EQ(complaint(matrix(2, 1, first + "0->2 id 2 start 0 size 10 send_done_trigger 1\n" + one)),
            "m.cm:4: trigger 1 is oneshot, but 2 flows fire it");
  EXPECT_EQ(complaint(matrix(1, 1, first + "trigger id 1 barrier\n")),
            "m.cm:5: a trigger is oneshot, multishot or barrier count N");
  EXPECT_EQ(complaint(matrix(1, 2, first + one + one)), "m.cm:6: trigger 1 is specified twice");
}

TEST(ConnectionMatrixTest, APlanKnowsWhichFlowsWaitForWhich) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "rocelab_matrix_test.cm";
  std::ofstream(file) << matrix(
      3, 1,
      "3->2 id 1 start 5000000 size 10\n0->1 id 2 start 1000000 size 10 send_done_trigger 1\n"
      "0->2 id 3 trigger 1 size 10\ntrigger id 1 oneshot\n");
  const std::string workload =
      "transport = \"irn\"\n[topology]\nkind = \"star\"\nhosts = 4\n[[workload]]\nkind = \"file\"\nfile = "
      "\"" +
      file.string() + "\"\ndialect = \"htsim\"\n";
  EXPECT_EQ(
      complaint_of([&] { parse_scenario(workload + "stop = \"1ms\"\n", "t.toml"); }),
      "t.toml:9:8: workload.file.stop is not for flows that wait for others: when they would begin is not "
      "known");
  const Scenario s = parse_scenario(
      workload + "[[workload]]\nkind = \"incast\"\nreceiver = \"h1\"\nsize = \"1B\"\n", "t.toml");
  const RunPlan plan = make_plan(s, s.settings[0], 1);
  std::filesystem::remove(file);
  ASSERT_EQ(plan.flows.size(), 6u);
  const auto waiting = std::ranges::find_if(plan.flows, [](const Flow& f) { return f.after_count == 1; });
  ASSERT_NE(waiting, plan.flows.end());
  ASSERT_EQ(waiting->after.size(), 1u);
  const Flow& first = plan.flows[waiting->after[0].flow - 1];
  EXPECT_EQ(first.id, waiting->after[0].flow);
  EXPECT_EQ(first.start, Time::zero() + 1_us);
  EXPECT_EQ(first.dst, 1u);
  EXPECT_NE(flow_lines(plan).find(" 1 file 1/" + std::to_string(first.id) + "\n"), std::string::npos);
}

}  // namespace
}  // namespace rocelab
