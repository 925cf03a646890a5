// Queue management at the edge, by the slack that frames have used (Mittal, 5.3).
#include "irn_provider/nic/edge_aqm.h"

#include <gtest/gtest.h>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

using Verdict = EdgeAqm::Verdict;
Time at(Duration d) { return Time::zero() + d; }
Slack used(Duration d) { return {(1_s).ps(), (1_s).ps() - d.ps(), 1}; }

EdgeConfig edge_of(EdgeConfig::Aqm aqm) {
  EdgeConfig config;
  config.aqm = aqm;
  return config;
}

// 5.3.3: K full frames at the bottleneck.
TEST(EdgeAqmTest, EcnMarksWhatWaitedForMoreThanKFrames) {
  EdgeAqm edge(edge_of(EdgeConfig::Aqm::kEcn), 1'200_ns);
  EXPECT_EQ(edge.judge(0, used(18'000_ns), at(1_ms)), Verdict::kPass) << "15 x 1.2 us";
  EXPECT_EQ(edge.judge(0, used(18'001_ns), at(1_ms)), Verdict::kMark);
}

TEST(EdgeAqmTest, CodelDropsByQueuePair) {
  EdgeAqm edge(edge_of(EdgeConfig::Aqm::kCodel), 1_us);
  for (int ms = 0; ms < 100; ++ms)
    for (const std::uint32_t slot : {0u, 1u})
      ASSERT_EQ(edge.judge(slot, used(slot == 0 ? 6_ms : 4_ms), at(ms * 1_ms)), Verdict::kPass);
  EXPECT_EQ(edge.judge(0, used(6_ms), at(100_ms)), Verdict::kDrop);
  EXPECT_EQ(edge.judge(1, used(4_ms), at(100_ms)), Verdict::kPass);
  edge.forget(0);
  EXPECT_EQ(edge.judge(0, used(6_ms), at(101_ms)), Verdict::kPass) << "another queue pair";
}

// Frames that were sent 20 ms apart say nothing of the time between: it begins again. By when they were sent,
// not by when they came.
TEST(EdgeAqmTest, CodelBeginsAgainAfterAGapOfTheSender) {
  EdgeAqm gap(edge_of(EdgeConfig::Aqm::kCodel), 1_us), late(edge_of(EdgeConfig::Aqm::kCodel), 1_us);
  for (int ms = 0; ms <= 80; ++ms)
    for (EdgeAqm* edge : {&gap, &late}) ASSERT_EQ(edge->judge(0, used(6_ms), at(ms * 1_ms)), Verdict::kPass);
  EXPECT_EQ(gap.judge(0, used(6_ms), at(100_ms)), Verdict::kPass) << "sent 20 ms after the last";
  EXPECT_EQ(late.judge(0, used(7_ms), at(100_ms)), Verdict::kDrop) << "sent 19 ms after it";
}

// A dropped packet never comes to its queue pair, which asks for it again; a marked one comes as if a switch
// had marked it. Packets that are not ECN-capable are left as they are.
TEST(EdgeAqmTest, TheNicDropsAndMarksDataOnly) {
  for (const auto aqm : {EdgeConfig::Aqm::kCodel, EdgeConfig::Aqm::kEcn}) {
    NicConfig config = config_of(TransportMode::kIrn);
    config.ecn_capable = true;
    config.slack.law = SlackLaw::kConstant;
    config.slack.edge = edge_of(aqm);
    config.slack.edge.target = 0_ps;
    config.slack.edge.interval = 1_ps;  // all but the first two of a state are due
    config.slack.edge.refresh = 1_s;
    config.slack.beyond = Duration{} - 1_ps;  // any waiting is more
    NicPair pair(config);
    pair.connect();
    pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 8 * 1024, 1));
    pair.run();
    const NicCounters& counters = pair.b.nic.counters();
    EXPECT_EQ(pair.a.cqes.size(), 1u) << "lost packets are sent again";
    if (aqm == EdgeConfig::Aqm::kCodel) {
      EXPECT_GT(counters.rx_edge_drops, 0u);
      EXPECT_EQ(pair.b.trace.of(TraceKind::kDrop).size(), counters.rx_edge_drops);
      EXPECT_EQ(pair.b.trace.of(TraceKind::kDrop)[0].mark, static_cast<int>(NicDropReason::kEdgeAqm));
    } else {
      EXPECT_EQ(counters.rx_edge_drops, 0u);
      EXPECT_EQ(counters.rx_edge_marks, 8u);
      EXPECT_EQ(counters.np_ecn_marked_roce_packets, 8u);
    }
    EXPECT_EQ(pair.a.nic.counters().rx_edge_drops + pair.a.nic.counters().rx_edge_marks, 0u)
        << "answers are not data";
  }
}

}  // namespace
}  // namespace rocelab
