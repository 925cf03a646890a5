// The laws as the whole switch shows them: admission, drops, pauses, marks, copies.
#include "ovs_patches/switch_model/switch.h"

#include "base/wire/controls.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

// XOFF 10 KB, headroom 30 KB (computed would be 24,043 for 1098 B), XON 7,804.
SwitchConfig small() {
  SwitchConfig config;
  config.max_frame = 1098_B;
  config.ingress_buffer = 40_KB;
  config.egress_limit = 5_KB;
  config.pfc.headroom = 30_KB;
  return config;
}
const std::vector<PortConfig> kPorts(4);

TEST(SwitchTest, LossyFramesAreDroppedBehindTheLimitOfTheirEgressQueue) {
  Bench bench(small(), kPorts);
  for (std::uint32_t i = 0; i < 8; ++i) bench.send(0, 1, at(1_us), 1000_B, 0, 7, i);
  bench.run();
  // All are due at once; departures come after arrivals, so five fit.
  EXPECT_EQ(bench.sent_by(1).size(), 5u);
  const SwitchPortCounters egress = bench.counters(1), ingress = bench.counters(0);
  EXPECT_EQ(egress.drops, 3u);
  EXPECT_EQ(egress.drops_egress_limit, 3u);
  EXPECT_EQ(egress.dropped_bytes, 3000u);
  EXPECT_EQ(egress.data_drops, 3u);
  EXPECT_EQ(egress.lossless_drops, 0u);
  EXPECT_EQ(egress.queue_peak_bytes[0], 5000u);
  EXPECT_EQ(ingress.rx_frames, 8u);
  EXPECT_EQ(ingress.ingress_peak_bytes[0], 5000u);
  EXPECT_EQ(bench.trace.count(TraceKind::kDeliver), 5);
  const TraceRecord& last = bench.trace.records[7];
  EXPECT_EQ(last.kind, TraceKind::kDrop);
  EXPECT_EQ(last.mark, static_cast<std::uint8_t>(SwitchDropReason::kEgressLimit));
  EXPECT_EQ(last.port, 1);
  EXPECT_EQ(last.peer, 0u);
  EXPECT_EQ(last.flow, 7u);
  EXPECT_EQ(last.psn, 7u);
  EXPECT_EQ(last.bytes, 1000u);
}

TEST(SwitchTest, DropsWithoutPayloadAreNoDataDrops) {
  Bench bench(small(), kPorts);
  PacketRef ack = make_packet(bench.pool, 70_B, 0);
  ack->kind = PacketKind::kAck;
  PacketRef request = make_packet(bench.pool, 74_B, 0);
  request->payload_length = 0;
  bench.node.deliver(port(0), {}, std::move(ack), at(1_us));
  bench.node.deliver(port(0), {}, std::move(request), at(1_us));
  bench.run();
  EXPECT_EQ(bench.counters(0).drops_no_route, 2u);
  EXPECT_EQ(bench.counters(0).data_drops, 0u);
}

TEST(SwitchTest, LosslessClassIsNotLimitedAtEgress) {
  Bench bench(small(), kPorts);
  for (int in = 0; in < 3; ++in) {
    for (int i = 0; i < 9; ++i) bench.send(in, 3, at(1_us), 1000_B);
  }
  bench.run_until(at(1_us) + 1_ps);
  EXPECT_EQ(bench.node.model().queue_bytes(port(3), tc(3)), 26'000_B) << "27 arrived, one departs";
  bench.run();
  EXPECT_EQ(bench.sent_by(3).size(), 27u);
  EXPECT_EQ(bench.trace.count(TraceKind::kDrop), 0);
}

TEST(SwitchTest, XoffLeavesWhenIngressExceedsItAndXonWhenItHasDrained) {
  Bench bench(small(), kPorts);
  for (int i = 0; i < 11; ++i) bench.send(0, 1, at(1_us), 1000_B);
  bench.run();
  const std::vector<Departure> pfc = bench.sent_by(0);
  ASSERT_EQ(pfc.size(), 2u);
  EXPECT_EQ(pfc[0].time, at(1_us));
  EXPECT_EQ(pfc[0].due, at(1_us + 16'800_ps + 2_us)) << "84 bytes on the wire at 40 Gb/s, 2 us";
  EXPECT_EQ(pfc[0].pfc.class_enable, 0b1000);
  EXPECT_EQ(pfc[0].pfc.time[3], 0xffff);
  // 7,804 are left or less when the fourth frame has departed: 3 frames of 204.8 ns after the first.
  EXPECT_EQ(pfc[1].time, at(1_us + 3 * 204'800_ps));
  EXPECT_EQ(pfc[1].pfc.time[3], 0);
  EXPECT_EQ(bench.trace.only(TraceKind::kXoff).bytes, 11'000u);
  EXPECT_EQ(bench.trace.only(TraceKind::kXon).bytes, 7'000u);
  EXPECT_EQ(bench.counters(0).xoff_sent[3], 1u);
  EXPECT_EQ(bench.counters(0).xon_sent[3], 1u);
}

TEST(SwitchTest, ControlFramesLeaveAheadOfData) {
  Bench bench(small(), kPorts);
  for (int i = 0; i < 3; ++i) bench.send(1, 0, at(1_us), 1000_B, 0);
  for (int i = 0; i < 11; ++i) bench.send(0, 1, at(1_us) + 1_ps, 1000_B);
  bench.run();
  const std::vector<Departure> sent = bench.sent_by(0);
  ASSERT_GE(sent.size(), 3u);
  EXPECT_EQ(sent[0].kind, PacketKind::kData) << "it had begun";
  EXPECT_EQ(sent[1].kind, kind_of<PfcFrame>);
  EXPECT_EQ(sent[1].time, at(1_us + 204'800_ps));
  EXPECT_EQ(sent[2].time, at(1_us + 204'800_ps + 16'800_ps)) << "it occupies the wire";
}

TEST(SwitchTest, FullHeadroomDropsAndSaysSo) {
  SwitchConfig config = small();
  config.ingress_buffer = 11_KB;
  config.pfc.headroom = 1_KB;
  Bench bench(config, kPorts);
  for (int i = 0; i < 13; ++i) bench.send(0, 1, at(1_us), 1000_B);
  bench.run();
  EXPECT_EQ(bench.counters(0).drops_headroom, 2u);
  EXPECT_EQ(bench.counters(0).lossless_drops, 2u);
  EXPECT_EQ(bench.counters(0).data_drops, 2u);
}

TEST(SwitchTest, PausesAreAnOrOverTheirOwners) {
  Bench bench(small(), kPorts);
  const Switch& model = bench.node.model();
  bench.node.request_pause(PauseOwner::kOperator, port(0), tc(3), true, at(1_us));
  EXPECT_TRUE(model.is_pausing(port(0), tc(3)));
  bench.node.request_pause(PauseOwner::kOperator, port(0), tc(0), true, at(1_us));
  EXPECT_FALSE(model.is_pausing(port(0), tc(0))) << "a lossy class cannot be paused";
  for (int i = 0; i < 11; ++i) bench.send(0, 1, at(2_us), 1000_B);
  bench.run_until(at(10_us));
  EXPECT_EQ(model.ingress_bytes(port(0), tc(3)), 0_B);
  EXPECT_TRUE(model.is_pausing(port(0), tc(3))) << "the ingress buffer has let go, the operator has not";
  bench.node.request_pause(PauseOwner::kOperator, port(0), tc(3), false, at(10_us));
  EXPECT_FALSE(model.is_pausing(port(0), tc(3)));
  EXPECT_EQ(bench.trace.count(TraceKind::kXoff), 1);
  EXPECT_EQ(bench.trace.count(TraceKind::kXon), 1);
}

TEST(SwitchTest, WithoutPfcEveryClassIsLossyAndPfcFramesMeanNothing) {
  SwitchConfig config = small();
  config.pfc.enabled = false;
  Bench bench(config, kPorts);
  bench.send_pfc(1, at(500_ns), 3, 0xffff);
  for (int i = 0; i < 45; ++i) bench.send(0, 1, at(1_us), 1000_B);
  bench.run();
  EXPECT_EQ(bench.counters(1).rx_pfc_ignored, 1u);
  EXPECT_EQ(bench.counters(1).xoff_received[3], 0u);
  EXPECT_EQ(bench.counters(1).drops_egress_limit, 40u);
  EXPECT_EQ(bench.counters(1).lossless_drops, 0u);
  EXPECT_TRUE(bench.sent_by(0).empty());
  EXPECT_EQ(bench.trace.count(TraceKind::kPaused) + bench.trace.count(TraceKind::kXoff), 0);
  EXPECT_EQ(bench.sent.front().time, at(1_us));
}

TEST(SwitchTest, InputBufferedSwitchDropsByInputAndServesInputsInTurn) {
  SwitchConfig config = small();
  config.pfc.enabled = false;
  config.input_buffered = true;
  config.input_buffer = 4_KB;
  config.queue_order = QueueOrder::kRoundRobin;
  Bench bench(config, kPorts);
  for (std::uint32_t i = 0; i < 6; ++i) bench.send(0, 3, at(1_us), 1000_B, 3, 0, i);
  for (std::uint32_t i = 0; i < 4; ++i) bench.send(1, 3, at(1_us), 1000_B, 3, 1, i);
  bench.run();
  EXPECT_EQ(bench.counters(0).drops_input_buffer, 2u) << "the third input's space does not help";
  EXPECT_EQ(bench.counters(1).drops, 0u);
  std::vector<std::uint32_t> flows;
  for (const Departure& d : bench.sent_by(3)) flows.push_back(d.flow);
  EXPECT_EQ(flows, (std::vector<std::uint32_t>{0, 1, 0, 1, 0, 1, 0, 1}));
}

TEST(SwitchTest, MarksEctFramesThatFindALongQueue) {
  SwitchConfig config = small();
  config.classes[3].ecn = {.enabled = true, .k_min = 2_KB, .k_max = 2_KB, .p_max = 1};
  Bench bench(config, kPorts);
  for (std::uint32_t i = 0; i < 5; ++i) bench.send(0, 1, at(1_us), 1000_B, 3, 0, i);
  bench.run();
  std::vector<bool> marked;
  for (const Departure& d : bench.sent_by(1)) marked.push_back(d.ecn == Ecn::kCe);
  EXPECT_EQ(marked, (std::vector<bool>{false, false, false, true, true})) << "they find 0, 1, 2, 3, 4 KB";
  EXPECT_EQ(bench.counters(1).ecn_marked, 2u);
  EXPECT_EQ(bench.trace.count(TraceKind::kMark), 2);
}

TEST(SwitchTest, APortMayMarkByThresholdsOfItsOwn) {
  SwitchConfig config = small();
  config.classes[3].ecn = {.enabled = true, .k_min = 2_KB, .k_max = 2_KB, .p_max = 1};
  std::vector<PortConfig> ports(kPorts.begin(), kPorts.end());
  ports[2].ecn = {.enabled = true, .k_min = 1_KB, .k_max = 1_KB, .p_max = 1};
  const auto marks = [&] {
    Bench bench(config, ports);
    for (std::uint32_t i = 0; i < 5; ++i) {
      bench.send(0, 1, at(1_us), 1000_B, 3, 0, i);
      bench.send(3, 2, at(1_us), 1000_B, 3, 0, i);
    }
    bench.run();
    return std::pair{bench.counters(1).ecn_marked, bench.counters(2).ecn_marked};
  };
  EXPECT_EQ(marks(), (std::pair<std::uint64_t, std::uint64_t>{2, 3}));
  config.classes[3].ecn.enabled = false;
  EXPECT_EQ(marks(), (std::pair<std::uint64_t, std::uint64_t>{0, 0})) << "the class has no marking";
}

// A frame that finds an idle port is a sample, too, and may be marked.
TEST(SwitchTest, FramesThatFindNothingAreSamplesOfAnAverage) {
  SwitchConfig config = small();
  config.classes[3].ecn = {.enabled = true, .k_min = 1_KB, .k_max = 1_KB, .p_max = 1, .average = 0.5};
  Bench bench(config, kPorts);
  for (std::uint32_t i = 0; i < 3; ++i) bench.send(0, 1, at(1_us), 1000_B, 3, 0, i);
  for (std::uint32_t i = 3; i < 5; ++i) bench.send(0, 1, at(100_us * i), 1000_B, 3, 0, i);
  bench.run();
  std::vector<bool> marked;
  for (const Departure& d : bench.sent_by(1)) marked.push_back(d.ecn == Ecn::kCe);
  EXPECT_EQ(marked, (std::vector<bool>{false, false, true, false, false}))
      << "they find 0, 1, 2, 0, 0 KB: averages of 0, 0.5, 1.25, 0.625, 0.3125 KB";
}

TEST(SwitchTest, OversizeFramesAreDropped) {
  Bench bench(small(), kPorts);
  bench.send(0, 1, at(1_us), 1098_B + SwitchConfig::kLongerOverIpv6 + 1_B);
  bench.send(0, 1, at(1_us), 1098_B + SwitchConfig::kLongerOverIpv6);
  bench.send(0, 1, at(1_us), 1098_B);
  bench.run();
  EXPECT_EQ(bench.counters(0).drops_oversize, 1u);
  EXPECT_EQ(bench.sent_by(1).size(), 2u);
}

TEST(SwitchTest, ReadyPortsAreNamedOnceWhenTheyBeginToHaveSomething) {
  PacketPool pool;
  NullTrace trace;
  Switch model(small(), kPorts, Rng(1), pool, trace);
  const PortId outs[] = {port(2)};
  model.on_packet(port(0), outs, make_packet(pool, 1000_B), at(1_us));
  model.on_packet(port(0), outs, make_packet(pool, 1000_B), at(1_us));
  std::span<const PortId> ready = model.take_ready();
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0], port(2));
  EXPECT_TRUE(model.take_ready().empty());
  EXPECT_TRUE(model.poll_transmit(port(2), at(1_us)));
  EXPECT_TRUE(model.has_more(port(2)));
  model.on_control(port(2), make_pfc(pool, 3, 100), at(2_us));
  EXPECT_FALSE(model.has_more(port(2)));
  EXPECT_FALSE(model.poll_transmit(port(2), at(2_us)));
  EXPECT_TRUE(model.take_ready().empty());
  model.on_timeout(model.next_timeout());
  ready = model.take_ready();
  ASSERT_EQ(ready.size(), 1u) << "the pause is over";
  EXPECT_EQ(ready[0], port(2));
}

TEST(SwitchTest, DescribesEveryPortAndClass) {
  SwitchConfig config;
  config.max_frame = 1098_B;
  config.classes[0].weight = 4;
  std::vector<PortConfig> ports(2);
  ports[1].delay = 1_us;  // 10,000 B less on the wire: 24,043 - 9 * 1098 - ... see headroom_test.cc
  PacketPool pool;
  NullTrace trace;
  const Switch model(config, ports, Rng(1), pool, trace);
  const std::vector<ClassReport> rows = model.describe();
  ASSERT_EQ(rows.size(), 16u);
  EXPECT_EQ(rows[0].port, port(0));
  EXPECT_FALSE(rows[0].lossless);
  EXPECT_EQ(rows[0].egress_limit, 240_KB);
  EXPECT_EQ(rows[0].weight, 4);
  const ClassReport& roce = rows[3];
  EXPECT_EQ(roce.tc, tc(3));
  EXPECT_TRUE(roce.lossless);
  EXPECT_EQ(roce.buffer, 240_KB);
  EXPECT_EQ(roce.headroom, 24'043_B);
  EXPECT_EQ(roce.xoff, 215'957_B);
  EXPECT_EQ(roce.xon, 213'761_B);
  EXPECT_EQ(roce.quanta, 0xffff);
  EXPECT_EQ(roce.egress_limit, 0_B);
  // Port 1: X = 2,465,598 ps, B = 12,327 = 10 * 1122 + 1107: 1098 + 10,980 + 1083 + 1098.
  EXPECT_EQ(rows[11].headroom, 14'259_B);
}

}  // namespace
}  // namespace rocelab
