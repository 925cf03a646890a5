// The order of events and the serialisation of ports.
#include "ovs_patches/switch_model/switch_node.h"

#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

const std::vector<PortConfig> kPorts(4);  // 40 Gb/s: 1000 B take 204.8 ns, 60 B take 16.8 ns

TEST(SwitchNodeTest, FramesSerialiseBackToBackAndArriveAfterTheDelay) {
  std::vector<PortConfig> ports = kPorts;
  ports[1] = {10_Gbps, 3_us, PeerKind::kHost};
  Bench bench(SwitchConfig{}, ports);
  bench.send(0, 1, at(1_us), 1000_B);
  bench.send(0, 1, at(1'300_ns), 1000_B);
  bench.send(0, 1, at(5_us), 1000_B);
  bench.run();
  ASSERT_EQ(bench.sent.size(), 3u);
  EXPECT_EQ(bench.sent[0].time, at(1_us));
  EXPECT_EQ(bench.sent[0].due, at(1_us + 819'200_ps + 3_us));
  EXPECT_EQ(bench.sent[1].time, at(1_us + 819'200_ps));
  EXPECT_EQ(bench.sent[2].time, at(5_us)) << "an idle port sends at once";
}

TEST(SwitchNodeTest, LimitIsExclusive) {
  Bench bench(SwitchConfig{}, kPorts);
  bench.send(0, 1, at(1_us), 1000_B);
  EXPECT_EQ(bench.node.next_event(), at(1_us));
  bench.run_until(at(1_us));
  EXPECT_TRUE(bench.sent.empty());
  EXPECT_EQ(bench.trace.count(TraceKind::kDeliver), 0);
  bench.run_until(at(1_us) + 1_ps);
  EXPECT_EQ(bench.sent.size(), 1u);
  EXPECT_TRUE(bench.node.next_event().is_never());
}

TEST(SwitchNodeTest, LimitIsExclusiveForDeparturesAndTimersToo) {
  Bench bench(SwitchConfig{}, kPorts);
  bench.send(0, 1, at(1_us), 1000_B);
  bench.send(0, 1, at(1_us), 1000_B);
  bench.run_until(at(1'204'800_ps));
  EXPECT_EQ(bench.sent.size(), 1u) << "a pause may still arrive at that instant";
  bench.run_until(at(2_us));
  EXPECT_EQ(bench.sent.size(), 2u);
  bench.send_pfc(1, at(2_us), 3, 1000);
  bench.run_until(at(14'800_ns));
  EXPECT_TRUE(bench.node.model().is_paused(port(1), tc(3)));
  bench.run_until(at(14'800_ns) + 1_ps);
  EXPECT_FALSE(bench.node.model().is_paused(port(1), tc(3)));
}

TEST(SwitchNodeTest, PauseThatArrivesAtTheInstantOfADepartureStopsIt) {
  Bench bench(SwitchConfig{}, kPorts);
  bench.send(0, 1, at(1_us), 1000_B);
  bench.send(0, 1, at(1_us), 1000_B);
  bench.send_pfc(1, at(1'204'800_ps), 3, 1000);  // 12.8 us; the second frame would leave now
  bench.run();
  ASSERT_EQ(bench.sent_by(1).size(), 2u);
  EXPECT_EQ(bench.sent_by(1)[1].time, at(1'204'800_ps + 12'800_ns));
}

TEST(SwitchNodeTest, PauseThatArrivesAPicosecondLaterDoesNot) {
  Bench bench(SwitchConfig{}, kPorts);
  bench.send(0, 1, at(1_us), 1000_B);
  bench.send(0, 1, at(1_us), 1000_B);
  bench.send_pfc(1, at(1'204'801_ps), 3, 1000);
  bench.run();
  EXPECT_EQ(bench.sent_by(1)[1].time, at(1'204'800_ps));
}

TEST(SwitchNodeTest, PausedClassStaysUntilItsDeadlineAndLeavesThere) {
  Bench bench(SwitchConfig{}, kPorts);
  bench.send_pfc(1, at(1_us), 3, 1000);
  bench.send(0, 1, at(2_us), 1000_B, 3);
  bench.send(0, 1, at(3_us), 1000_B, 0, 9);
  bench.run_until(at(13'800_ns));
  ASSERT_EQ(bench.sent.size(), 1u) << "one picosecond before the deadline only the other class has gone";
  EXPECT_EQ(bench.sent[0].flow, 9u);
  EXPECT_TRUE(bench.node.model().is_paused(port(1), tc(3)));
  bench.run_until(at(13'800_ns) + 1_ps);
  ASSERT_EQ(bench.sent.size(), 2u);
  EXPECT_EQ(bench.sent[1].time, at(13'800_ns));
  EXPECT_EQ(bench.node.model().counters(port(1), at(1_s)).paused_ps[3], 12'800'000u);
  EXPECT_EQ(bench.trace.only(TraceKind::kPaused).time, at(1_us));
  EXPECT_EQ(bench.trace.only(TraceKind::kResumed).time, at(13'800_ns));
}

TEST(SwitchNodeTest, RefreshAtTheInstantOfExpiryKeepsTheClassPaused) {
  Bench bench(SwitchConfig{}, kPorts);
  bench.send_pfc(1, at(1_us), 3, 1000);
  bench.send_pfc(1, at(13'800_ns), 3, 1000);
  bench.send(0, 1, at(2_us), 1000_B);
  bench.run();
  EXPECT_EQ(bench.sent[0].time, at(26'600_ns));
  EXPECT_EQ(bench.trace.count(TraceKind::kPaused), 1);
}

TEST(SwitchNodeTest, LastingXoffIsRefreshedAtHalfItsPause) {
  SwitchConfig config;
  config.max_frame = 1098_B;
  Bench bench(config, kPorts);
  bench.node.request_pause(PauseOwner::kOperator, port(2), tc(3), true, at(1_us));
  bench.run_until(at(1_ms));
  const std::vector<Departure> pfc = bench.sent_by(2);
  ASSERT_EQ(pfc.size(), 3u);
  EXPECT_EQ(pfc[0].time, at(1_us));
  EXPECT_EQ(pfc[1].time, at(1_us + 419'424_ns));
  EXPECT_EQ(pfc[2].time, at(1_us + 838'848_ns));
  EXPECT_EQ(bench.counters(2).xoff_sent[3], 3u);
}

TEST(SwitchNodeTest, ArrivalsOfAnInstantAreTakenByPort) {
  Bench bench(SwitchConfig{}, kPorts);
  for (const int in : {3, 1, 2}) bench.send(in, 0, at(1_us), 1000_B, 3, static_cast<std::uint32_t>(in));
  bench.run();
  ASSERT_EQ(bench.sent.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(bench.sent[i].flow, i + 1);
}

TEST(SwitchNodeTest, DeparturesOfAnInstantAreMadeByPort) {
  Bench bench(SwitchConfig{}, kPorts);
  for (const int out : {3, 1, 2}) bench.send(0, out, at(1_us), 1000_B);
  bench.run();
  ASSERT_EQ(bench.sent.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bench.sent[static_cast<std::size_t>(i)].port, port(i + 1));
}

TEST(SwitchNodeTest, LateFramesCountAndAreDueAtTheCommittedTime) {
  Bench bench(SwitchConfig{}, kPorts);
  bench.run_until(at(5_us));
  bench.send(0, 1, at(4_us), 1000_B);
  bench.send(0, 1, at(5_us), 1000_B);
  EXPECT_EQ(bench.node.late_arrivals(), 1u);
  bench.run();
  EXPECT_EQ(bench.sent[0].time, at(5_us));
}

TEST(SwitchNodeTest, EtsClassesShareTheLinkByWeight) {
  SwitchConfig config;
  config.max_frame = 1000_B;
  config.egress_limit = 10_MB;
  config.classes[0].weight = 1;
  config.classes[1].weight = 3;
  Bench bench(config, kPorts);
  for (std::uint32_t i = 0; i < 400; ++i) {
    bench.send(0, 3, at(1_us), 1000_B, 0, 0, i);
    bench.send(1, 3, at(1_us), 500_B, 1, 1, i);
    bench.send(1, 3, at(1_us), 500_B, 1, 1, i);
    if (i < 10) bench.send(2, 3, at(1_us), 1000_B, 6, 6, i);
  }
  bench.run_until(at(1_us + 50 * 204'800_ps));  // the wire time of 50 frames of 1000 B
  std::map<std::uint32_t, std::int64_t> wire;
  for (const Departure& d : bench.sent) wire[d.flow] += d.frame_length + 24;
  EXPECT_EQ(wire[6], 10 * 1024) << "strict priority";
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(bench.sent[i].flow, 6u);
  EXPECT_NEAR(static_cast<double>(wire[0]), 10 * 1024, 1024);  // a quarter of what is left
  EXPECT_NEAR(static_cast<double>(wire[1]), 30 * 1024, 2 * 1024);
}

}  // namespace
}  // namespace rocelab
