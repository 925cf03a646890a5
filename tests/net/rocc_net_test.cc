// RoCC end to end: the switch's queue makes a fair rate, its CNPs find the flow at the source's NIC, which
// slows down. Source: Menikkumbura, chapter 3.
#include <array>
#include <functional>
#include <vector>

#include "base/wire/controls.h"
#include "irn_provider/cc/rocc_rp.h"
#include "ovs_patches/switch_model/mechanisms/rocc.h"
#include "tests/net/cc_scene.h"

namespace rocelab {
namespace {

NicConfig nic_config(TransportMode mode = TransportMode::kRoce) {
  NicConfig config = cc_nic("rocc", mode);
  config.recovery_timers = mode == TransportMode::kIrn;
  return config;
}

SwitchConfig switch_config(bool pfc = true) {
  SwitchConfig config;
  config.pfc.enabled = pfc;
  config.ingress_buffer = 32_KB;
  config.shared_pool = 500_KB;
  config.alpha_lossless = 1e6;
  config.alpha_lossy = 0;
  config.mechanisms.of<RoccMechanism>().enabled = true;
  return config;
}

// At the port of the incast's receiver, from 5 to 14 ms, when the burst of the start is long gone.
Bytes mean_queue(StarNet& net, std::size_t port) {
  Bytes sum{};
  int samples = 0;
  for (int us = 5000; us < 14'000; us += 10, ++samples) {
    net.run_until(Time::zero() + us * 1_us);
    sum += net.queue(port);
  }
  return sum / samples;
}

TEST(RoccNetTest, ALoneFlowIsToldNothingAndKeepsTheLineRate) {
  const auto net = expect_lone_flow_at_line_rate(nic_config(), switch_config());
  EXPECT_EQ(net->port(1).rocc_cnps, 0u);
}

TEST(RoccNetTest, FlowsOfAnIncastShareTheLinkAndTheQueueRestsAtQref) {
  StarNet net(9, nic_config(), switch_config());
  post_incast(net, 8, 10'000'000);
  const Bytes mean = mean_queue(net, 8);
  EXPECT_GT(mean, 135_KB);
  EXPECT_LT(mean, 165_KB);
  net.run();
  Time first = Time::never(), last = Time::zero();
  for (std::size_t f = 0; f < 8; ++f) {
    first = std::min(first, net.flow(f).completed);
    last = std::max(last, net.flow(f).completed);
  }
  // While the fair rate climbs from F_min flows are told at different times; from then on they are equal.
  EXPECT_LT((last - first).seconds(), 0.05 * last.seconds()) << "equal flows end together";
  // 80 MB at 40 Gb/s with 82 B of headers and gap per packet of 1024 B: 17.3 ms.
  EXPECT_LT(last.seconds(), 0.0190);
}

// Menikkumbura, 3.3.6: the switch says what its queue is, each host computes. Told every period, they all
// compute what the switch would.
TEST(RoccNetTest, WhereHostsComputeFlowsShareTheLinkAsWhereTheSwitchDoes) {
  std::vector<Time> by_switch;
  for (const RoccForm form : {RoccForm::kRate, RoccForm::kQueue, RoccForm::kValues}) {
    NicConfig nic = nic_config();
    RoccRpParams& rp = *nic.cc.get<RoccRp>();
    rp.form = form;
    rp.registry.sets[rp.registry.used++] = rocc_values(RoccParams{});
    SwitchConfig config = switch_config();
    config.mechanisms.of<RoccMechanism>().form = form;
    config.mechanisms.of<RoccMechanism>().table.kind = RoccFlowTableKind::kAge;
    StarNet net(9, nic, config);
    post_incast(net, 8, 10'000'000);
    const Bytes mean = mean_queue(net, 8);
    EXPECT_GT(mean, 135_KB);
    EXPECT_LT(mean, 165_KB);
    net.run();
    for (std::size_t f = 0; f < 8; ++f) {
      if (form == RoccForm::kRate) by_switch.push_back(net.flow(f).completed);
      EXPECT_NEAR(net.flow(f).completed.seconds(), by_switch[f].seconds(), 0.001 * by_switch[f].seconds());
    }
    for (std::size_t h = 0; h < 9; ++h) EXPECT_EQ(net.counters(h).rp_fair_rates_refused, 0u);
    EXPECT_GT(net.counters(0).rp_fair_rates_handled, 300u);
  }
}

TEST(RoccNetTest, AFormThatTheHostDoesNotExpectIsRefusedAndCounted) {
  SwitchConfig config = switch_config();
  config.mechanisms.of<RoccMechanism>().form = RoccForm::kValues;
  StarNet net(5, nic_config(), config);
  post_incast(net, 4, 1'000'000);
  net.run();
  EXPECT_GT(net.counters(0).rp_fair_rates_refused, 5u);
  EXPECT_EQ(net.counters(0).rp_fair_rates_handled, 0u);
}

TEST(RoccNetTest, EachCnpIsTakenInOnceAndNoneIsLost) {
  StarNet net(5, nic_config(), switch_config());
  std::uint64_t seen = 0;
  net.on_delivery = [&](std::size_t, const Packet& packet, Time) {
    if (!is_feedback(packet.kind)) return;
    ++seen;
    EXPECT_EQ(packet.tc, Tc{6});
    EXPECT_EQ(packet.frame_length, 60u);
    EXPECT_EQ(control_of<RoccFeedback>(packet).cp, kCpNetwork + 5);
  };
  post_incast(net, 4, 5'000'000);
  net.run();
  NicCounters all;
  for (std::size_t h = 0; h < 5; ++h) all = all + net.counters(h);
  EXPECT_GT(seen, 100u);
  EXPECT_EQ(seen, net.port(4).rocc_cnps);
  EXPECT_EQ(all.rp_fair_rates_handled, seen);
  EXPECT_EQ(all.rp_fair_rates_refused + all.rp_fair_rates_unknown_flow, 0u);
}

TEST(RoccNetTest, ReadResponsesArePacedAtTheHostThatSendsThem) {
  StarNet net(5, nic_config(), switch_config());
  post_incast(net, 4, 5'000'000, WrOpcode::kRead);
  net.run();
  std::uint64_t handled = 0;
  for (std::size_t h = 0; h < 4; ++h) handled += net.counters(h).rp_fair_rates_handled;
  EXPECT_GT(handled, 100u);
  EXPECT_EQ(net.counters(4).rp_fair_rates_handled, 0u);
}

TEST(RoccNetTest, AFlowThatIsLeftAloneIsBackAtLineRateSoon) {
  StarNet net(3, nic_config(), switch_config());
  const std::size_t lone = net.connect(0, 2), other = net.connect(1, 2);
  net.post(lone, WrOpcode::kWrite, 40'000'000);
  net.post(other, WrOpcode::kWrite, 10'000'000);
  net.run();
  // Equal until the other one ends; then 30 MB are left, which take 6.5 ms at line rate.
  EXPECT_LT((net.flow(lone).completed - net.flow(other).completed).seconds(), 0.0072);
}

// 3.1: "We also find that RoCC does not require PFC": with a buffer for the first burst nothing is lost.
TEST(RoccNetTest, IrnWithRoccLosesNothingOnceItsFirstBurstIsOver) {
  SwitchConfig config = switch_config(false);
  config.shared_pool = 0_B;
  config.egress_limit = 2_MB;
  NicConfig nic = nic_config(TransportMode::kIrn);
  nic.irn.bdp_cap = 110;
  StarNet net(9, nic, config);
  post_incast(net, 8, 5'000'000);
  net.run();
  EXPECT_EQ(net.port(8).drops, 0u);
  EXPECT_GT(net.counters(0).rp_fair_rates_handled, 50u);
}

// What happens to CNPs on their last link. `held`: of the same receiver, for later.
struct Mishap {
  using Deliver = std::function<void(PacketRef)>;
  const char* what;
  void (*act)(PacketRef cnp, const Deliver& deliver, PacketRef& held, int number, PacketPool& pool);
};
void nothing(PacketRef cnp, const Mishap::Deliver& deliver, PacketRef&, int, PacketPool&) {
  deliver(std::move(cnp));
}
void lose_a_third(PacketRef cnp, const Mishap::Deliver& deliver, PacketRef&, int number, PacketPool&) {
  if (number % 3 != 0) deliver(std::move(cnp));
}
void duplicate(PacketRef cnp, const Mishap::Deliver& deliver, PacketRef&, int, PacketPool& pool) {
  deliver(pool.clone(*cnp));
  deliver(std::move(cnp));
}
void swap_pairs(PacketRef cnp, const Mishap::Deliver& deliver, PacketRef& held, int, PacketPool&) {
  if (!held) return static_cast<void>(held = std::move(cnp));
  deliver(std::move(cnp));
  deliver(std::move(held));
}

struct Outcome {
  Time first = Time::never(), last = Time::zero();  // completions of four flows of 10 MB
  NicCounters nics;
  std::uint64_t delivered = 0, drops = 0;
};

Outcome incast_with(const Mishap& mishap) {
  Outcome outcome;
  PacketPool copies;
  StarNet net(5, nic_config(), switch_config());
  std::array<PacketRef, 4> held;
  int number = 0;
  net.on_feedback = [&](PacketRef cnp, const Mishap::Deliver& deliver) {
    PacketRef& later = held.at(cnp->dst.value);
    mishap.act(std::move(cnp), deliver, later, number++, copies);
  };
  net.on_delivery = [&](std::size_t, const Packet& packet, Time) {
    outcome.delivered += is_feedback(packet.kind);
  };
  post_incast(net, 4, 10'000'000);
  net.run();
  for (std::size_t f = 0; f < 4; ++f) {
    outcome.nics = outcome.nics + net.counters(f);
    outcome.first = std::min(outcome.first, net.flow(f).completed);
    outcome.last = std::max(outcome.last, net.flow(f).completed);
  }
  outcome.drops = net.port(4).drops;
  return outcome;
}

// Nothing is dropped or stuck, the link stays busy and the flows stay equal.
TEST(RoccNetTest, LostDoubledAndReorderedFeedbackIsHarmless) {
  const Outcome undisturbed = incast_with({"nothing", nothing});
  for (const Mishap& mishap : {Mishap{"a third is lost", lose_a_third}, Mishap{"each comes twice", duplicate},
                               Mishap{"pairs change places", swap_pairs}}) {
    SCOPED_TRACE(mishap.what);
    const Outcome o = incast_with(mishap);
    EXPECT_GT(o.delivered, 100u);
    EXPECT_EQ(o.nics.rp_fair_rates_handled, o.delivered);
    EXPECT_EQ(o.nics.rp_fair_rates_refused + o.nics.rp_fair_rates_unknown_flow, 0u);
    EXPECT_EQ(o.drops, 0u);
    EXPECT_LT((o.last - o.first).seconds(), 0.1 * o.last.seconds()) << "equal flows end together";
    EXPECT_LT(o.last.seconds(), 1.1 * undisturbed.last.seconds()) << "the link stays busy";
  }
}

struct Forgery {
  const char* what;
  RoccFeedback feedback;
};

// A NIC believes no rate that cannot be right, whoever brought it there.
TEST(NicFairRateTest, WhatCannotBeRightIsCountedAndHoldsNobodyBack) {
  NicConfig config = nic_config();
  config.cc.get<RoccRp>()->max_feedback = 100_Gbps;
  StarNet net(2, config, switch_config());
  const std::size_t flow = net.connect(0, 1);
  const Qpn peer = net.flow(flow).peer;
  for (const Forgery& f :
       {Forgery{"a host's address", {0x0a000001, 10, peer}}, Forgery{"rate 0", {kCpNetwork + 1, 0, peer}},
        Forgery{"above every link", {kCpNetwork + 1, 10'001, peer}}}) {
    const std::uint64_t before = net.counters(0).rp_fair_rates_refused;
    inject(net, 0, f.feedback);
    EXPECT_EQ(net.counters(0).rp_fair_rates_refused, before + 1) << f.what;
  }
  inject(net, 0, {kCpNetwork + 1, 10, peer}, 2);
  inject(net, 0, {kCpNetwork + 1, 10, Qpn{peer.value + 1}});
  EXPECT_EQ(net.counters(0).rp_fair_rates_unknown_flow, 2u);
  EXPECT_EQ(net.counters(0).rp_fair_rates_handled, 0u);
  net.post(flow, WrOpcode::kWrite, 1'000'000);
  net.run();
  EXPECT_LT(net.flow(flow).completed.seconds(), 0.000230) << "at line rate";
}

TEST(NicFairRateTest, AQueuePairThatIsGoneIsNoFlowAndItsSuccessorIsOne) {
  StarNet net(2, nic_config(), switch_config());
  const std::size_t flow = net.connect(0, 1);
  const RoccFeedback feedback{kCpNetwork + 1, 10, net.flow(flow).peer};
  inject(net, 0, feedback);
  EXPECT_EQ(net.counters(0).rp_fair_rates_handled, 1u);
  Nic& nic = net.host(0).nic;
  QpAttr attr = *nic.query_qp(net.flow(flow).qp);
  const QpAttr connected = attr;
  attr.state = QpState::kReset;
  ASSERT_TRUE(nic.modify_qp(net.flow(flow).qp, attr, net.now()));
  inject(net, 0, feedback);
  EXPECT_EQ(net.counters(0).rp_fair_rates_unknown_flow, 1u);
  for (const QpState state : {QpState::kInit, QpState::kRtr}) {
    attr = connected;
    attr.state = state;
    ASSERT_TRUE(nic.modify_qp(net.flow(flow).qp, attr, net.now()));
  }
  inject(net, 0, feedback);
  EXPECT_EQ(net.counters(0).rp_fair_rates_handled, 2u);
  ASSERT_TRUE(nic.destroy_qp(net.flow(flow).qp));
  inject(net, 0, feedback);
  EXPECT_EQ(net.counters(0).rp_fair_rates_unknown_flow, 2u);
}

// Hosts have an address of either family, and a CNP names the destination host.
TEST(NicFairRateTest, AFlowOverIpv6IsFoundByItsDestinationHost) {
  StarNet net(2, nic_config(), switch_config());
  const std::size_t flow = net.connect(0, 1);
  Nic& nic = net.host(0).nic;
  QpAttr attr = *nic.query_qp(net.flow(flow).qp);
  attr.path.src_gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xff, 0xfe, 0, 0, 1};
  attr.path.dst_gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xff, 0xfe, 0, 0, 2};
  for (const QpState state : {QpState::kReset, QpState::kInit, QpState::kRtr, QpState::kRts}) {
    attr.state = state;
    ASSERT_TRUE(nic.modify_qp(net.flow(flow).qp, attr, net.now()));
  }
  inject(net, 0, {kCpNetwork + 1, 10, net.flow(flow).peer});
  EXPECT_EQ(net.counters(0).rp_fair_rates_handled, 1u);
}

TEST(NicFairRateTest, WithoutRoccFeedbackIsRefused) {
  NicConfig config = nic_config();
  config.cc.use_none();
  StarNet net(2, config, switch_config());
  const std::size_t flow = net.connect(0, 1);
  inject(net, 0, {kCpNetwork + 1, 10, net.flow(flow).peer});
  EXPECT_EQ(net.counters(0).rp_fair_rates_refused, 1u);
}

}  // namespace
}  // namespace rocelab
