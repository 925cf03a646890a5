// Escape on the paper's three-node topology (Menikkumbura, figure 4.6) and on random rings: what is blocked
// escapes, nothing is lost, order holds, tokens come back.
#include <cstring>

#include "base/wire/controls.h"
#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/mechanisms/telemetry.h"
#include "ovs_patches/switch_model/test_ring.h"

namespace rocelab {
namespace {

using namespace switch_test;

TEST(SwitchEscapeTest, WithoutEscapeTheThreeNodeRingDeadlocks) {
  RingNet ring(config_of(kOff), 3, 2, 5000);
  ring.net.run(2_us, at(20_ms));
  EXPECT_EQ(ring.ring_ports_paused(), 3) << "every link of the ring is paused";
  const std::uint64_t then = ring.received();
  EXPECT_LT(then, 15'000u);
  ring.net.run(2_us, at(40_ms));
  EXPECT_EQ(ring.received(), then) << "and nothing moves any more";
  EXPECT_EQ(ring.total(&SwitchPortCounters::drops), 0u);
}

TEST(SwitchEscapeTest, WithEscapeItFinishesInOrderAndLosesNothing) {
  RingNet ring(config_of(kFixed), 3, 2, 5000);
  ring.net.run(2_us, at(1_s));
  EXPECT_EQ(ring.received(), 15'000u);
  for (const TestHost& host : ring.net.hosts) {
    EXPECT_EQ(host.out_of_order, 0u);
    EXPECT_EQ(host.with_shim, 0u) << "hosts get frames as they were sent";
  }
  EXPECT_EQ(ring.total(&SwitchPortCounters::drops), 0u);
  EXPECT_GT(ring.total(&SwitchPortCounters::escaped_frames), 0u);
  EXPECT_EQ(ring.net.pool.in_use(), 0u);
  for (const auto& node : ring.net.nodes) {
    EXPECT_EQ(node->model().queued_frames(), 0u);
    for (int p = 0; p < 3; ++p) EXPECT_EQ(node->model().ingress_bytes(port(p), tc(3)), 0_B);
  }
}

// HPCC's telemetry beside it: each of the three switches on the way stamps every frame, also one that escapes
// there, and Escape's own part of the shim ends before the host.
TEST(SwitchEscapeTest, WithTelemetryEveryFrameIsStampedAtEverySwitch) {
  SwitchConfig config = config_of(kFixed);
  config.mechanisms.of<TelemetryMechanism>().enabled = true;
  config.max_frame = Bytes::from_count(1098 + Telemetry::kMaxShimBytes);
  RingNet ring(config, 3, 2, 3000);
  ring.net.run(2_us, at(1_s));
  EXPECT_EQ(ring.received(), 9'000u);
  for (const TestHost& host : ring.net.hosts) {
    EXPECT_EQ(host.out_of_order, 0u);
    EXPECT_EQ(host.with_shim, 0u);
    EXPECT_EQ(host.stamps, 3 * host.received);
  }
  EXPECT_GT(ring.total(&SwitchPortCounters::escaped_frames), 100u);
  EXPECT_EQ(ring.total(&SwitchPortCounters::drops), 0u);
  EXPECT_EQ(ring.net.pool.in_use(), 0u);
  for (const auto& node : ring.net.nodes)
    for (int p = 0; p < 3; ++p) EXPECT_EQ(node->model().ingress_bytes(port(p), tc(3)), 0_B);
}

// 4.2.1, efficiency: without head-of-line blocking no token and no shim.
TEST(SwitchEscapeTest, WithoutPausesNothingIsDifferent) {
  std::vector<TraceRecord> records[2];
  for (const int fixes : {kOff, kFixed}) {
    RingNet ring(config_of(fixes, 900_KB), 3, 1, 2000);
    ring.net.run(2_us);
    EXPECT_EQ(ring.total(&SwitchPortCounters::escape_tokens_sent), 0u);
    records[fixes == kFixed] = ring.net.trace.records;
  }
  ASSERT_EQ(records[0].size(), records[1].size());
  for (std::size_t i = 0; i < records[0].size(); ++i)
    ASSERT_EQ(std::memcmp(&records[0][i], &records[1][i], sizeof(TraceRecord)), 0) << i;
}

TEST(SwitchEscapeTest, RandomRingsLoseNothingAndKeepOrder) {
  Rng rng(23);
  std::uint64_t escaped = 0;
  for (int round = 0; round < 12; ++round) {
    const int size = 3 + static_cast<int>(rng.below(4));
    const int distance = 1 + static_cast<int>(rng.below(2));
    SwitchConfig config =
        config_of(kFixed, Bytes::from_count(60'000 + 1000 * static_cast<int>(rng.below(60))));
    config.mechanisms.of<EscapeMechanism>().tokens = static_cast<std::uint16_t>(1 + rng.below(12));
    config.queue_order = rng.bernoulli(0.5) ? QueueOrder::kRoundRobin : QueueOrder::kFifo;
    const std::string what = "round " + std::to_string(round) + ": " + std::to_string(size) +
                             " switches, distance " + std::to_string(distance) + ", " +
                             std::to_string(config.mechanisms.of<EscapeMechanism>().tokens) + " tokens";
    RingNet ring(config, size, distance, 1500, rng.fork(std::to_string(round)));
    ring.net.run(2_us, at(2_s));
    EXPECT_EQ(ring.received(), 1500u * static_cast<unsigned>(size)) << what;
    EXPECT_EQ(ring.total(&SwitchPortCounters::drops), 0u) << what;
    for (const TestHost& host : ring.net.hosts) EXPECT_EQ(host.out_of_order, 0u) << what;
    EXPECT_EQ(ring.net.pool.in_use(), 0u) << what;
    escaped += ring.total(&SwitchPortCounters::escaped_frames);
  }
  EXPECT_GT(escaped, 100u);
}

// 4.3.1, 7: the table has flows that traversed the port. A circle that closes before any frame has got
// through has no flow in the tables of the ports that stay open, and no token is sent any more:
// DEVIATIONS.md#escape.
TEST(SwitchEscapeTest, ADeadlockInWhichNoFrameHasGotThroughYetIsNotCleared) {
  RingNet ring(config_of(kFixed, 50_KB), 6, 5, 1500);
  ring.net.run(2_us, at(5_ms));
  const std::uint64_t tokens = ring.total(&SwitchPortCounters::escape_tokens_sent);
  ring.net.run(2_us, at(50_ms));
  EXPECT_EQ(ring.received(), 0u);
  EXPECT_EQ(ring.ring_ports_paused(), 6);
  EXPECT_EQ(ring.total(&SwitchPortCounters::escape_tokens_sent), tokens);
}

// 4.3.1, 7: the table has as many flows as the pool has tokens. Where more go through a port, a token for one
// that it has forgotten ends there, and flows further up wait for ever; a larger table takes them all.
TEST(SwitchEscapeTest, ATableWithFewerPlacesThanFlowsStrandsThem) {
  for (const std::uint16_t flows : {std::uint16_t{0}, std::uint16_t{8}}) {
    SwitchConfig config = config_of(kFixed, 90_KB);
    config.mechanisms.of<EscapeMechanism>().tokens = 2;
    config.mechanisms.of<EscapeMechanism>().flows = flows;
    RingNet ring(config, 5, 4, 1500, Rng(5));  // every link has four flows
    ring.net.run(2_us, at(50_ms));
    const std::uint64_t then = ring.received();
    ring.net.run(2_us, at(60_ms));
    if (flows == 0) {
      EXPECT_EQ(ring.received(), then);
      EXPECT_LT(then, 7500u);
    } else {
      EXPECT_GT(ring.received(), then + 100);
    }
    EXPECT_EQ(ring.total(&SwitchPortCounters::drops), 0u);
  }
}

// Line 9: tokens are for flows whose way on is open, and a pool is not overdrawn.
TEST(SwitchEscapeTest, ATokenIsSentForAnOpenPortOnlyAndTakesAPlace) {
  std::vector<PortConfig> ports(3);
  ports[0].peer = PeerKind::kSwitch;  // upstream
  SwitchConfig config = config_of(kFixed, 60_KB);
  config.mechanisms.of<EscapeMechanism>().tokens = 2;
  Bench b(config, ports);
  for (int i = 0; i < 12; ++i) {  // flow 1 to port 1, flow 2 to port 2
    const PortId outs[] = {port(1 + i % 2)};
    PacketRef packet = make_packet(b.pool, 1098_B, 3, static_cast<std::uint32_t>(i % 2));
    packet->src = NodeId{static_cast<std::uint16_t>(i % 2)};
    b.node.deliver(port(0), outs, std::move(packet), at(0_us));
  }
  b.send_pfc(1, at(0_us), 3, 0xffff);  // the way of flow 1 is closed
  b.node.request_pause(PauseOwner::kOperator, port(0), tc(3), true, at(0_us));
  b.run_until(at(8_us));  // Delta^esc is 4 us: at 4 us; flow 2 is open
  int tokens = 0;
  for (const Departure& d : b.sent)
    if (d.kind == kind_of<EscapeToken>) {
      ++tokens;
      EXPECT_EQ(d.port, port(0)) << "towards the sender";
    }
  EXPECT_EQ(tokens, 1);
  b.run_until(at(40_us));
  tokens = 0;
  for (const Departure& d : b.sent) tokens += d.kind == kind_of<EscapeToken>;
  EXPECT_EQ(tokens, 2) << "no frame came for them, and the pool has two";
  EXPECT_EQ(b.counters(0).escape_tokens_sent, 2u);
}

// EscapeParams::open_below: both ways are open, and one has six frames in its queue: its flow gets a token
// once it has as few as the other.
TEST(SwitchEscapeTest, WithOpenBelowNoTokenIsSentForAFlowOfALongQueue) {
  for (const bool limited : {false, true}) {
    std::vector<PortConfig> ports(3);
    ports[0].peer = PeerKind::kSwitch;  // upstream
    SwitchConfig config = config_of(kFixed, 60_KB);
    config.mechanisms.of<EscapeMechanism>().period = 100_ns;
    if (limited) config.mechanisms.of<EscapeMechanism>().open_below = 3'300_B;
    Bench b(config, ports);
    b.node.request_pause(PauseOwner::kOperator, port(0), tc(3), true, at(0_us));
    for (int i = 0; i < 8; ++i) {  // six frames of flow 0 to port 1, then two of flow 1 to port 2
      const std::uint16_t flow = i < 6 ? 0 : 1;
      const PortId outs[] = {port(1 + flow)};
      PacketRef packet = make_packet(b.pool, 1098_B, 3, flow);
      packet->src = NodeId{flow};
      b.node.deliver(port(0), outs, std::move(packet), at(0_us));
    }
    b.run_until(at(150_ns));
    EXPECT_EQ(b.counters(0).escape_tokens_sent, limited ? 1u : 2u);
    b.run_until(at(2_us));  // the long queue is empty
    int of_the_long = 0;
    for (const Departure& d : b.sent) of_the_long += d.kind == kind_of<EscapeToken>;
    EXPECT_GT(of_the_long, limited ? 1 : 2);
  }
}

// Its frames would come to the new port, where no place is reserved for them.
TEST(SwitchEscapeTest, AFlowThatLeavesByAnotherPortGetsNoTokenForItsOldOne) {
  for (const bool moves : {false, true}) {
    std::vector<PortConfig> ports(3);
    ports[0].peer = PeerKind::kSwitch;  // upstream
    SwitchConfig config = config_of(kFixed, 60_KB);
    config.mechanisms.of<EscapeMechanism>().period = 100_ns;
    Bench b(config, ports);
    for (int i = 0; i < 2; ++i) {
      const PortId outs[] = {port(moves && i == 1 ? 2 : 1)};
      b.node.deliver(port(0), outs, make_packet(b.pool, 1098_B, 3, 0), at(i * 1_us));
    }
    b.run_until(at(2_us));  // both have left
    b.node.request_pause(PauseOwner::kOperator, port(0), tc(3), true, at(2_us));
    b.run_until(at(2_us + 150_ns));
    EXPECT_EQ(b.counters(0).escape_tokens_sent, 1u) << "for one port";
  }
}

// EscapeParams::classes: two lossless classes wait in the same way, and one of them is served.
TEST(SwitchEscapeTest, OnlyTheClassesThatItServesGetTokens) {
  std::vector<PortConfig> ports(3);
  ports[0].peer = PeerKind::kSwitch;  // upstream
  ports[2].peer = PeerKind::kSwitch;  // downstream
  for (const int served : {3, 4}) {
    SwitchConfig config = config_of(kFixed, 60_KB);
    config.classes[4].lossless = true;
    config.mechanisms.of<EscapeMechanism>().classes = static_cast<std::uint8_t>(1 << served);
    Bench b(config, ports);
    const PortId outs[] = {port(1)};
    for (const int n : {3, 4}) {
      b.node.deliver(port(0), outs, make_packet(b.pool, 1098_B, n, 0), at(0_us));
      b.node.request_pause(PauseOwner::kOperator, port(0), tc(n), true, at(0_us));
    }
    b.run_until(at(8_us));
    EXPECT_EQ(b.counters(0).escape_tokens_sent, 1u);
    for (const Departure& d : b.sent) {
      EXPECT_TRUE(d.kind != kind_of<EscapeToken> || d.token.tc == tc(served));
    }
    // And a token for a class that is not served takes nothing out.
    const PortId blocked[] = {port(2)};
    for (const int n : {3, 4}) {
      b.send_pfc(2, at(8_us), n, 0xffff);
      PacketRef packet = make_packet(b.pool, 1098_B, n, 0);
      packet->src = NodeId{1}, packet->dst = NodeId{7};
      b.node.deliver(port(0), blocked, std::move(packet), at(9_us));
      PacketRef token = b.pool.make();
      put_control(*token, EscapeToken{tc(n), 1, NodeId{1}, NodeId{7}, Qpn{}});
      b.node.deliver(port(2), {}, std::move(token), at(10_us));
    }
    b.run_until(at(20_us));
    EXPECT_EQ(b.counters(2).escaped_frames, 1u);
    EXPECT_EQ(b.counters(2).escape_tokens_ignored, 1u);
    EXPECT_EQ(b.node.model().queue_bytes(port(2), tc(served)), 0_B);
    EXPECT_EQ(b.node.model().queue_bytes(port(2), tc(7 - served)), 1098_B);
  }
}

// Lines 15 to 23: the first frame of the flow leaves the paused queue; others stay.
TEST(SwitchEscapeTest, ATokenTakesOutTheFirstFrameOfItsFlow) {
  std::vector<PortConfig> ports(3);
  ports[2].peer = PeerKind::kSwitch;
  Bench b(config_of(kFixed), ports);
  b.send_pfc(2, at(0_us), 3, 0xffff);
  for (int i = 0; i < 6; ++i) {
    const PortId outs[] = {port(2)};
    PacketRef packet = make_packet(b.pool, 1098_B, 3, 0, static_cast<std::uint32_t>(i));
    packet->src = NodeId{static_cast<std::uint16_t>(i < 3 ? 1 : 2)};
    packet->dst = NodeId{7};
    packet->roce.dest = Qpn{5};
    b.node.deliver(port(i < 3 ? 0 : 1), outs, std::move(packet), at(1_us) + Duration::from_ps(i));
  }
  const auto token = [&](int source, std::uint16_t hops, Time due) {
    PacketRef packet = b.pool.make();
    put_control(*packet,
                EscapeToken{tc(3), hops, NodeId{static_cast<std::uint16_t>(source)}, NodeId{7}, Qpn{5}});
    b.node.deliver(port(2), {}, std::move(packet), due);
  };
  token(2, 3, at(2_us));
  token(9, 1, at(2_us));  // of a flow that is not here
  b.run_until(at(10_us));
  const std::vector<Departure> left = b.sent_by(2);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].psn, 3u);
  EXPECT_EQ(left[0].kind, PacketKind::kEscaping);
  EXPECT_EQ(left[0].frame_length, 1102u) << "with its shim";
  EXPECT_EQ(b.counters(2).escaped_frames, 1u);
  EXPECT_EQ(b.counters(2).escape_tokens_ignored, 1u);
  EXPECT_EQ(b.node.model().ingress_bytes(port(1), tc(3)), 2 * 1098_B) << "its place is free again";
}

}  // namespace
}  // namespace rocelab
