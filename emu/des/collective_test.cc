// Collectives in virtual time: closed forms of an idle network, and that ranks send nothing that they do not
// have.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "emu/des/test_runs.h"
#include "emu/runner/collective_metrics.h"
#include "emu/runner/formula.h"

namespace rocelab::des {
namespace {

struct Result : FinishedRun {
  using FinishedRun::FinishedRun;
  std::vector<CollectiveResult> collectives() const { return collectives_of(plan, records, nullptr); }
};

Result run_of(const std::string& keys, const std::string& label = "roce",
              const std::string& topology = "kind = \"star\"\nhosts = 4\n") {
  return Result("transport = \"" + label + "\"\n[topology]\n" + topology +
                "rate = \"40Gb/s\"\ndelay = \"2us\"\n[engine]\nlimit = \"1s\"\n"
                "[[workload]]\nkind = \"collective\"\n" +
                keys);
}

constexpr char kReduce[] = "operation = \"all-reduce\"\njitter = \"0us\"\nsize = \"400KB\"\n";

Duration alone(const Result& result) { return result.plan.flows.front().alone; }

TEST(CollectiveRunTest, ARingTakesTheTimeOfItsStepsOnAnIdleNetwork) {
  for (const char* label : {"roce", "roce+pfc", "irn"}) {
    const Result result = run_of(kReduce, label);
    ASSERT_TRUE(result.complete) << label;
    const auto collectives = result.collectives();
    ASSERT_EQ(collectives.size(), 1u);
    const double steps = 6 * alone(result).seconds();
    // ACKs share the links: IRN sends one for each packet, RoCE one for each message and each 66 packets.
    const NicConfig& nic = result.plan.settings.nic.config;
    const bool irn = nic.mode == TransportMode::kIrn;
    const double ack = wire_time(ack_frame(nic.mode), 40_Gbps).seconds(),
                 packets = static_cast<double>(result.plan.flows[0].packets);
    EXPECT_GE(collectives[0].completion_s(), steps) << label;
    EXPECT_LE(collectives[0].completion_s(), steps + 6 * ack * (irn ? packets : 3 + packets / 66)) << label;
    EXPECT_DOUBLE_EQ(collectives[0].bus_bps(), collectives[0].algorithm_bps() * 1.5);
    EXPECT_NEAR(collectives[0].straggler_ratio, 1, 0.01);
    EXPECT_EQ(collectives[0].all_steps().ranks, 24u);
  }
}

TEST(CollectiveRunTest, GapsAddUp) {
  const double plain = run_of(kReduce).collectives()[0].completion_s();
  const Result gaps = run_of(std::string(kReduce) + "step_gap = \"10us\"\niterations = 3\ngap = \"100us\"\n");
  const auto collectives = gaps.collectives();
  ASSERT_EQ(collectives.size(), 3u);
  for (const CollectiveResult& c : collectives) EXPECT_NEAR(c.completion_s(), plain + 5 * 10e-6, 1e-6);
  // An iteration ends at a rank when its last send is acknowledged, too.
  const double back = gaps.plan.base_rtt.seconds();
  for (std::size_t i = 1; i < 3; ++i) {
    const double between = (collectives[i].begin - collectives[i - 1].end).seconds();
    EXPECT_GE(between, 100e-6);
    EXPECT_LE(between, 100e-6 + back);
  }
}

TEST(CollectiveRunTest, PiecesOverlapTheStepsOfAChain) {
  const std::string keys = "operation = \"broadcast\"\njitter = \"0us\"\nsize = \"1MB\"\n";
  const double whole = run_of(keys).collectives()[0].completion_s(),
               pieces = run_of(keys + "chunk = \"50KB\"\n").collectives()[0].completion_s();
  const Result one = run_of("operation = \"broadcast\"\njitter = \"0us\"\nsize = \"50KB\"\n");
  EXPECT_NEAR(whole, 3 * run_of(keys).plan.flows[0].alone.seconds(), 2e-6);
  // The first rank sends for as long as one hop takes; each further hop adds a piece.
  EXPECT_NEAR(pieces, whole / 3 + 2 * alone(one).seconds(), 4e-6);
}

// Everything that a flow waits for has ended at its source when its first request is posted.
void expect_order(const Result& result, const std::string& what) {
  std::map<std::uint32_t, const FlowRecord*> records;
  for (const FlowRecord& record : result.records) records[record.id] = &record;
  for (const Flow& flow : result.plan.flows) {
    const FlowRecord& record = *records.at(flow.id);
    ASSERT_TRUE(record.completed()) << what;
    ASSERT_GE(record.posted, flow.start) << what;
    for (const FlowEnd& end : flow.after) {
      const Flow& other = result.plan.flows[end.flow - 1];
      const FlowRecord& ended = *records.at(end.flow);
      const Time at = other.dst == flow.src ? ended.placed : ended.cqe;
      ASSERT_GE(record.posted + 1_ns, at + end.delay) << what << ": flow " << flow.id;
    }
  }
}

TEST(CollectiveRunTest, NoRankSendsWhatItDoesNotHaveWhateverIsLost) {
  const std::string topology =
      "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\ndrop_rate = 0.001\n";
  for (const char* label : {"roce", "irn"})
    for (const char* what :
         {"operation = \"all-reduce\"\n", "operation = \"all-reduce\"\nalgorithm = \"halving-doubling\"\n",
          "operation = \"all-gather\"\nchunk = \"9KB\"\n",
          "operation = \"reduce-scatter\"\nqps = 3\nop = \"send\"\n",
          "operation = \"all-to-all\"\nskew = 1.5\n",
          "operation = \"all-to-all\"\nalgorithm = \"pairwise\"\n",
          "operation = \"broadcast\"\nalgorithm = \"tree\"\ndependencies = \"steps\"\n",
          "operation = \"all-reduce\"\ngroups = 2\ngrouping = \"strided\"\nqps = 2\nchunk = \"7KB\"\n"}) {
      const Result result = run_of(std::string(what) +
                                       "size = \"256KB\"\niterations = 3\ngap = \"2us\"\n"
                                       "step_gap = \"700ns\"\njitter = \"20us\"\n",
                                   label, topology);
      ASSERT_TRUE(result.complete) << label << "\n" << what;
      expect_order(result, std::string(label) + "\n" + what);
    }
}

TEST(CollectiveRunTest, EachRankSendsAndReceivesItsShareOfTheBytes) {
  const Result result = run_of(std::string(kReduce) + "iterations = 2\nchunk = \"17KB\"\n", "irn");
  std::map<std::uint32_t, std::int64_t> sent, received;
  for (const Flow& flow : result.plan.flows) {
    sent[flow.src] += flow.size.count();
    received[flow.dst] += flow.size.count();
  }
  for (std::uint32_t host = 0; host < 4; ++host) {
    EXPECT_EQ(sent[host], 2 * 2 * 300'000);
    EXPECT_EQ(received[host], 2 * 2 * 300'000);
  }
}

}  // namespace
}  // namespace rocelab::des
