// Closed loops in virtual time: when a connection's next flow begins, and that congestion slows what is
// offered.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "emu/des/test_runs.h"

namespace rocelab::des {
namespace {

FinishedRun run_of(const std::string& keys) {
  return FinishedRun(
      "transport = \"roce+pfc\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"40Gb/s\"\ndelay = \"2us\"\n"
      "[engine]\nlimit = \"1s\"\n[[workload]]\nkind = \"closed-loop\"\njitter = \"0us\"\n"
      "receivers = [\"h4\"]\nthink = \"7us\"\nthink_times = \"constant\"\nsize = \"40KB\"\nflows = 5\n" +
      keys);
}

TEST(ClosedLoopRunTest, AFlowBeginsAThinkTimeBehindTheLastAcknowledgement) {
  for (const char* queue_pairs : {"persistent", "ahead"}) {
    const FinishedRun result =
        run_of("senders = [\"h1\", \"h2\", \"h3\"]\nconnections = 2\nqueue_pairs = \"" +
               std::string(queue_pairs) + "\"\n");
    ASSERT_TRUE(result.complete);
    std::map<std::uint32_t, const FlowRecord*> records;
    for (const FlowRecord& record : result.records) records[record.id] = &record;
    int behind_others = 0;
    for (const Flow& flow : result.plan.flows)
      for (const FlowEnd& end : flow.after) {
        const Time due = records.at(end.flow)->cqe + 7_us;
        EXPECT_GE(records.at(flow.id)->posted + 1_ns, due) << flow.id;
        EXPECT_LE(records.at(flow.id)->posted, due + 1_ns) << flow.id;
        ++behind_others;
      }
    EXPECT_EQ(behind_others, 3 * 2 * 4);
  }
}

Time last_ack(const FinishedRun& result) {
  Time last = Time::zero();
  for (const FlowRecord& record : result.records) last = std::max(last, record.cqe);
  return last;
}

// Three senders share a link, and each waits for its own flow: the loop lasts longer by the others' flows,
// but for think times that they fill.
TEST(ClosedLoopRunTest, CongestionSlowsWhatIsOffered) {
  const FinishedRun alone = run_of("senders = [\"h1\"]\n"),
                    shared = run_of("senders = [\"h1\", \"h2\", \"h3\"]\n");
  EXPECT_GE(last_ack(shared) - last_ack(alone), wire_time(40_KB, 40_Gbps) * (2 * 5) - 7_us * 5);
}

}  // namespace
}  // namespace rocelab::des
