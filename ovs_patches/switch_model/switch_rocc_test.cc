// RoCC in the switch: when congestion points work, whom they tell, and what is refused.
#include "base/wire/controls.h"
#include "ovs_patches/switch_model/mechanisms/rocc.h"
#include "ovs_patches/switch_model/rocc_cp.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

constexpr Bytes kFrame = 1098_B;

SwitchConfig rocc_config() {
  SwitchConfig config;
  config.max_frame = 1098_B;
  config.ingress_buffer = 900_KB;
  config.mechanisms.of<RoccMechanism>().enabled = true;
  return config;
}

std::vector<PortConfig> ports_of(int n, PeerKind peer = PeerKind::kHost) {
  std::vector<PortConfig> ports(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < ports.size(); ++i) {
    ports[i].peer = peer;
    ports[i].cp_address = 0xac100001 + static_cast<std::uint32_t>(i);
  }
  return ports;
}

// Departures of CNPs, with what they say.
struct Cnp {
  int port;
  Time time;
  NodeId to;
  RoccFeedback feedback;
};

struct RoccBench {
  explicit RoccBench(const SwitchConfig& config = rocc_config(), std::vector<PortConfig> ports = ports_of(4))
      : node(config, ports, Rng(1), pool, trace) {}
  // Back to back from `begin`: `frames` of host `in` to port 3 and its QPN 100 + in.
  void stream(int in, int frames, Time begin, int qpn = 0) {
    for (int i = 0; i < frames; ++i) {
      PacketRef packet = make_packet(pool, kFrame, 3, 0, static_cast<std::uint32_t>(i));
      packet->src = NodeId{static_cast<std::uint16_t>(in)};
      packet->dst = NodeId{3};
      packet->roce.dest = Qpn{static_cast<std::uint32_t>(qpn != 0 ? qpn : 100 + in)};
      const PortId outs[] = {port(3)};
      node.deliver(port(in), outs, std::move(packet), begin + wire_time(kFrame, 40_Gbps) * (i + 1));
    }
  }
  void run_until(Time limit) {
    node.run_until(limit, [&](PortId p, PacketRef packet, Time departed, Time) {
      if (packet->kind == kind_of<RoccFeedback>)
        cnps.push_back({p.value, departed, packet->dst, control_of<RoccFeedback>(*packet)});
      else
        ++others;
    });
  }
  SwitchPortCounters counters(int p) const { return node.model().counters(port(p), Time::zero()); }

  PacketPool pool;
  TraceLog trace;
  SwitchNode node;
  std::vector<Cnp> cnps;
  int others = 0;
};

TEST(SwitchRoccTest, EveryPeriodEachFlowOfTheQueueIsToldTheFairRateByTheWayItCame) {
  RoccBench b;
  for (const int in : {0, 1, 2}) b.stream(in, 150, at(0_us));
  b.run_until(at(40_us) + Duration::from_ps(1));
  ASSERT_EQ(b.cnps.size(), 3u);
  RoccCp law(RoccParams{});
  const TraceRecord& period = b.trace.only(TraceKind::kFairRate);
  EXPECT_EQ(period.time, at(40_us));
  const std::uint32_t want = law.update(Bytes::from_count(period.psn));  // psn: the queue's length
  EXPECT_GT(period.psn, 100'000u);
  EXPECT_EQ(period.bytes, static_cast<std::uint64_t>(law.rate().bps()));
  EXPECT_EQ(period.flow, 3u);
  for (int in = 0; in < 3; ++in) {
    const Cnp& cnp = b.cnps[static_cast<std::size_t>(in)];
    EXPECT_EQ(cnp.port, in);
    EXPECT_EQ(cnp.time, at(40_us));
    EXPECT_EQ(cnp.to, NodeId{static_cast<std::uint16_t>(in)});
    EXPECT_EQ(cnp.feedback.cp, 0xac100004u) << "the congestion point's own address";
    EXPECT_EQ(cnp.feedback.rate, want);
    EXPECT_EQ(cnp.feedback.dest, (Qpn{static_cast<std::uint32_t>(100 + in)}));
  }
  EXPECT_EQ(b.counters(3).rocc_cnps, 3u);
}

// T goes on from multiple to multiple; the queue's lengths at these instants make F, nothing else.
TEST(SwitchRoccTest, FollowsTheLawPeriodByPeriod) {
  RoccBench b;
  for (const int in : {0, 1}) b.stream(in, 1000, at(7_us));
  b.run_until(at(1_ms));
  RoccCp law(RoccParams{});
  int periods = 0;
  for (const TraceRecord& r : b.trace.records) {
    if (r.kind != TraceKind::kFairRate) continue;
    ++periods;
    ASSERT_EQ(r.time, at(40_us * periods));
    law.update(Bytes::from_count(r.psn));
    ASSERT_EQ(r.bytes, static_cast<std::uint64_t>(law.rate().bps())) << "period " << periods;
  }
  EXPECT_GT(periods, 20);
}

// Menikkumbura, 3.3.6: the switch says what the fair rate is computed from, in every period, and computes
// nothing.
TEST(SwitchRoccTest, WhereHostsComputeEveryPeriodSaysTheQueueAndWhatItIsToBeHeldAgainst) {
  for (const RoccForm form : {RoccForm::kQueue, RoccForm::kValues}) {
    SwitchConfig config = rocc_config();
    config.mechanisms.of<RoccMechanism>().form = form;
    RoccBench b(config);
    for (const int in : {0, 1, 2}) b.stream(in, 300, at(0_us));
    b.run_until(at(200_us));
    std::vector<const TraceRecord*> periods;
    for (const TraceRecord& r : b.trace.records)
      if (r.kind == TraceKind::kFairRate) periods.push_back(&r);
    ASSERT_GE(periods.size(), 3u);
    ASSERT_GE(b.cnps.size(), 9u);
    for (std::size_t i = 0; i < 9; ++i) {
      const TraceRecord& period = *periods[i / 3];
      EXPECT_EQ(period.bytes, 0u) << "no rate";
      EXPECT_EQ(period.flow, 3u);
      const RoccFeedback& f = b.cnps[i].feedback;
      EXPECT_EQ(f.rate, 4000u) << "F: where the law begins";
      const RoccReport report = f.report();
      EXPECT_EQ(report.form, form);
      EXPECT_EQ(report.period, i / 3 + 1);
      EXPECT_EQ(report.q_cur, period.psn / 600);
      EXPECT_EQ(report.values, form == RoccForm::kValues ? rocc_values(RoccParams{}) : RoccValues{});
    }
    b.run_until(at(2_ms));
    EXPECT_TRUE(b.node.next_event().is_never()) << "with nobody to tell the point rests";
  }
}

TEST(SwitchRoccTest, AFlowByAgeIsToldOfAnEmptyQueueUntilItIsTooOld) {
  SwitchConfig config = rocc_config();
  config.mechanisms.of<RoccMechanism>().form = RoccForm::kQueue;
  config.mechanisms.of<RoccMechanism>().table.kind = RoccFlowTableKind::kAge;
  RoccBench b(config);
  b.stream(0, 1, at(0_us));
  b.run_until(at(1_ms));
  ASSERT_EQ(b.cnps.size(), 3u) << "120 us: at 40, 80 and 120 us";
  for (const Cnp& cnp : b.cnps) EXPECT_EQ(cnp.feedback.report().q_cur, 0u);
  EXPECT_TRUE(b.node.next_event().is_never());
}

TEST(SwitchRoccTest, ValuesThatACnpCannotNameAreRefusedWhereHostsCompute) {
  SwitchConfig config = rocc_config();
  std::vector<PortConfig> ports = ports_of(2);
  ports[0].rate = 40'005_Mbps;  // F_max
  EXPECT_EQ(problem_of(config, ports), "");
  config.mechanisms.of<RoccMechanism>().form = RoccForm::kValues;
  EXPECT_NE(problem_of(config, ports).find("multiples of Delta^F"), std::string::npos);
}

TEST(SwitchRoccTest, WithoutAStandingQueueNobodyIsToldAndThePointRests) {
  RoccBench b;
  b.stream(0, 500, at(0_us));  // line rate into line rate
  b.run_until(at(1_ms));
  EXPECT_TRUE(b.cnps.empty());
  EXPECT_EQ(b.others, 500);
  EXPECT_TRUE(b.node.next_event().is_never()) << "no timer of a resting point is left";
}

TEST(SwitchRoccTest, APointThatRestedWorksAgainOnTheSameGrid) {
  RoccBench b;
  b.stream(0, 1, at(0_us));
  b.run_until(at(1_ms));
  ASSERT_TRUE(b.node.next_event().is_never());
  for (const int in : {0, 1, 2}) b.stream(in, 150, at(1'005_us));
  b.run_until(at(2_ms));
  ASSERT_FALSE(b.cnps.empty());
  EXPECT_EQ(b.cnps.front().time, at(1'040_us));
}

// The authors' simulator: F begins with 0, and climbs while nothing waits as it would with frames.
TEST(SwitchRoccTest, FromAFirstRateThePointClimbsThoughNothingWaits) {
  const auto rates = [](std::optional<Rate> first, Time begin) {
    SwitchConfig config = rocc_config();
    config.mechanisms.of<RoccMechanism>().points.f_first = first;
    RoccBench b(config);
    for (const int in : {0, 1, 2}) b.stream(in, 150, begin);
    b.run_until(begin + 1_ms);
    std::vector<std::uint32_t> units;
    for (const Cnp& cnp : b.cnps) units.push_back(cnp.feedback.rate);
    return units;
  };
  ASSERT_FALSE(rates(0_bps, at(0_us)).empty());
  EXPECT_EQ(rates(0_bps, at(0_us)).front(), 10u) << "F_min";
  EXPECT_GT(rates(std::nullopt, at(0_us)).front(), 1000u);
  EXPECT_GT(rates(0_bps, at(4_ms)).front(), 100u);
  EXPECT_LT(rates(0_bps, at(4_ms)).front(), rates(0_bps, at(6_ms)).front());
  EXPECT_EQ(rates(0_bps, at(20_ms)), rates(std::nullopt, at(20_ms)));
}

TEST(SwitchRoccTest, OnlyDataWithPayloadToAHostOfTheRunIsToldOf) {
  RoccBench b;
  b.stream(0, 150, at(0_us));
  for (int i = 0; i < 150; ++i) {
    for (const int in : {1, 2}) {
      PacketRef packet = make_packet(b.pool, kFrame, 3);
      packet->src = NodeId{static_cast<std::uint16_t>(in)};
      packet->dst = in == 1 ? NodeId{3} : kNoNode;
      if (in == 1) packet->kind = PacketKind::kAck, packet->payload_length = 0;
      const PortId outs[] = {port(3)};
      b.node.deliver(port(in), outs, std::move(packet), at(0_us) + wire_time(kFrame, 40_Gbps) * (i + 1));
    }
  }
  b.run_until(at(41_us));
  ASSERT_EQ(b.cnps.size(), 1u);
  EXPECT_EQ(b.cnps[0].to, NodeId{0});
}

TEST(SwitchRoccTest, CnpsGoAheadOfQueuedData) {
  RoccBench b;
  for (const int in : {0, 1, 2}) b.stream(in, 150, at(0_us));
  // Port 0 is busy with data of its own.
  for (int i = 0; i < 100; ++i) {
    const PortId outs[] = {port(0)};
    b.node.deliver(port(1), outs, make_packet(b.pool, kFrame, 3), at(39_us));
  }
  b.run_until(at(45_us));
  const auto first = std::ranges::find(b.cnps, 0, &Cnp::port);
  ASSERT_NE(first, b.cnps.end());
  EXPECT_LE(first->time, at(40_us) + wire_time(kFrame, 40_Gbps)) << "only the frame on the wire is before it";
}

TEST(SwitchRoccTest, FeedbackFromAHostIsDroppedAndFromASwitchForwarded) {
  std::vector<PortConfig> ports = ports_of(4);
  ports[1].peer = PeerKind::kSwitch;
  RoccBench b(rocc_config(), ports);
  for (const int in : {0, 1}) {
    PacketRef packet = b.pool.make();
    put_control(*packet, RoccFeedback{0xac100009, 10, Qpn{5}});
    packet->roce.dscp = 48;
    const PortId outs[] = {port(2)};
    b.node.deliver(port(in), outs, std::move(packet), at(1_us));
  }
  b.run_until(at(2_us));
  EXPECT_EQ(b.cnps.size(), 1u);
  EXPECT_EQ(b.counters(0).drops_forged, 1u);
  EXPECT_EQ(b.counters(0).drops, 1u);
  EXPECT_EQ(b.counters(1).drops_forged, 0u);
  EXPECT_EQ(b.trace.only(TraceKind::kDrop).mark, static_cast<std::uint8_t>(SwitchDropReason::kForged));
}

TEST(SwitchRoccTest, WithoutRoccFramesPassAsEver) {
  SwitchConfig config = rocc_config();
  config.mechanisms.of<RoccMechanism>().enabled = false;
  RoccBench b(config);
  for (const int in : {0, 1, 2}) b.stream(in, 150, at(0_us));
  b.run_until(at(1_ms));
  EXPECT_TRUE(b.cnps.empty());
  EXPECT_EQ(b.trace.count(TraceKind::kFairRate), 0);
  EXPECT_EQ(b.others, 450);
}

TEST(SwitchRoccTest, TablesThatCountFramesTellTheSameFlows) {
  for (const RoccFlowTableKind kind : {RoccFlowTableKind::kAge, RoccFlowTableKind::kElephantTrap}) {
    SwitchConfig config = rocc_config();
    config.mechanisms.of<RoccMechanism>().table.kind = kind;
    config.mechanisms.of<RoccMechanism>().table.sampling = 0.5;
    RoccBench b(config);
    for (const int in : {0, 1, 2}) b.stream(in, 150, at(0_us));
    b.run_until(at(41_us));
    EXPECT_EQ(b.cnps.size(), 3u);
  }
}

// Round robin inside the queue: the flows of every ingress port are found.
TEST(SwitchRoccTest, VirtualOutputQueuesAreLookedThroughToo) {
  SwitchConfig config = rocc_config();
  config.queue_order = QueueOrder::kRoundRobin;
  RoccBench b(config);
  for (const int in : {0, 1, 2}) b.stream(in, 150, at(0_us));
  b.run_until(at(41_us));
  EXPECT_EQ(b.cnps.size(), 3u);
}

TEST(SwitchRoccTest, FramesAddUpWithCnpsAmongThem) {
  SwitchConfig config = rocc_config();
  config.egress_limit = 120_B;  // two CNPs
  std::vector<PortConfig> ports = ports_of(4);
  RoccBench b(config, ports);
  for (int qpn = 1; qpn <= 20; ++qpn) b.stream(0, 20, at(0_us), 1000 + qpn);
  for (const int in : {1, 2}) b.stream(in, 150, at(0_us));
  b.run_until(at(3_ms));
  std::uint64_t in = 0, out = 0;
  for (int p = 0; p < 4; ++p) {
    const SwitchPortCounters c = b.counters(p);
    in += c.rx_frames + c.replicated_frames + c.rocc_cnps;
    out += c.tx_frames + c.drops;
  }
  EXPECT_EQ(in, out + b.node.model().queued_frames());
  EXPECT_GT(b.counters(0).drops_egress_limit, 0u) << "a burst of CNPs is limited like any lossy queue";
  EXPECT_EQ(b.node.model().ingress_bytes(port(3), tc(6)), 0_B);
}

TEST(SwitchRoccTest, ConfigurationsThatCannotWorkAreNamed) {
  std::vector<PortConfig> ports = ports_of(1);
  SwitchConfig config = rocc_config();
  EXPECT_EQ(problem_of(config, ports), "");
  RoccSettings& points = config.mechanisms.of<RoccMechanism>().points;
  points.q_mid = 360_KB;
  EXPECT_NE(problem_of(config, ports).find("need 0 < Q_ref < Q_mid < Q_max"), std::string::npos);
  points = {};
  points.f_min = 1_Mbps;
  EXPECT_NE(problem_of(config, ports).find("Delta^F <= F_min"), std::string::npos);
  points = {};
  points.period = 0_ps;
  EXPECT_NE(problem_of(config, ports).find("period"), std::string::npos);
  points = {};
  points.f_first = 41_Gbps;
  EXPECT_NE(problem_of(config, ports).find("F_first"), std::string::npos);
  points.f_first = 0_bps;
  EXPECT_EQ(problem_of(config, ports), "");
  config.mechanisms.of<RoccMechanism>().form = RoccForm::kValues;
  EXPECT_NE(problem_of(config, ports).find("leave f_first out"), std::string::npos);
  config = rocc_config();
  config.classes[6].lossless = true;
  EXPECT_NE(problem_of(config, ports).find("lossy"), std::string::npos);
  config = rocc_config();
  config.mechanisms.of<RoccMechanism>().table.sampling = 0;
  EXPECT_NE(problem_of(config, ports).find("sampling"), std::string::npos);
}

}  // namespace
}  // namespace rocelab
