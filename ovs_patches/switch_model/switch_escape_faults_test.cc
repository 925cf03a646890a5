// Faults of Escape in the code that runs: tokens, and of the extensions announcements and tokens that come
// back, that are lost, doubled, late or of flows that nobody knows, and a switch that restarts while they are
// out. Random small rings and other networks, flows and timings, each round from its own seed, which a
// failure prints.
#include <string>

#include "base/wire/controls.h"
#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/switch_core.h"
#include "ovs_patches/switch_model/test_mesh.h"
#include "ovs_patches/switch_model/test_ring.h"

namespace rocelab {
namespace {

using namespace switch_test;

constexpr std::uint32_t kFrames = 1000;

struct Round {
  explicit Round(int number, bool extended = false) : rng(Rng(41).fork(std::to_string(number))) {
    size = 3 + static_cast<int>(rng.below(4));
    distance = 1 + static_cast<int>(rng.below(2));
    config = config_of(kFixed, Bytes::from_count(60'000 + 1000 * static_cast<int>(rng.below(60))));
    config.mechanisms.of<EscapeMechanism>().tokens = static_cast<std::uint16_t>(1 + rng.below(12));
    config.mechanisms.of<EscapeMechanism>().reclaim = (100 + static_cast<int>(rng.below(900))) * 1_us;
    config.queue_order = rng.bernoulli(0.5) ? QueueOrder::kRoundRobin : QueueOrder::kFifo;
    config.mechanisms.of<EscapeMechanism>().announce = config.mechanisms.of<EscapeMechanism>().return_tokens =
        extended;
    what = (extended ? "extended, round " : "round ") + std::to_string(number) + ": " + std::to_string(size) +
           " switches, distance " + std::to_string(distance) + ", " +
           std::to_string(config.mechanisms.of<EscapeMechanism>().tokens) + " tokens";
  }
  Rng rng;
  int size, distance;
  SwitchConfig config;
  std::string what;
};

template <class Net>
std::uint64_t arrived_or_dropped(const Net& ring) {
  return ring.received() + ring.total(&SwitchPortCounters::drops);
}
std::uint64_t sent(const Round& round) { return std::uint64_t{kFrames} * static_cast<unsigned>(round.size); }

// Nothing moves any more: no frame waits, every token is at home, and no frame has overtaken another of its
// flow.
template <class Net>
void expect_all_at_home(const Net& ring, const Round& round) {
  for (const TestHost& host : ring.net.hosts) {
    EXPECT_EQ(host.overtaken, 0u) << round.what;
    EXPECT_EQ(host.with_shim, 0u) << round.what;
  }
  EXPECT_EQ(ring.net.pool.in_use(), 0u) << round.what;
  for (std::size_t i = 0; i < ring.net.nodes.size(); ++i) {
    const auto& node = ring.net.nodes[i];
    EXPECT_EQ(node->model().queued_frames(), 0u) << round.what;
    for (int p = 0; p < ring.ports(i); ++p) {
      EXPECT_EQ(node->model().template mechanism<EscapeMechanism>()->tokens(port(p)),
                round.config.mechanisms.of<EscapeMechanism>().tokens)
          << round.what << ", port " << p;
      EXPECT_EQ(node->model().ingress_bytes(port(p), tc(3)), 0_B) << round.what;
    }
  }
}

// Three of ten tokens, and of all else that Escape says, are lost, doubled or late.
auto faults_of(Rng& dice, std::uint64_t& faults) {
  return [&](const Packet&) -> std::vector<Duration> {
    const std::uint64_t kind = dice.below(10);
    faults += kind < 3;
    const Duration late = static_cast<int>(dice.below(40)) * 1_us;
    if (kind == 0) return {};
    if (kind == 1) return {Duration{}, late};
    if (kind == 2) return {late};
    return {Duration{}};
  };
}

TEST(SwitchEscapeFaultsTest, TokensThatAreLostDoubledOrLateStrandNothingAndLeakNothing) {
  std::uint64_t faults = 0, escaped = 0;
  for (int i = 0; i < 60; ++i) {
    const int number = i / 2;
    Round round(number, i % 2 == 1);
    RingNet ring(round.config, round.size, round.distance, kFrames, round.rng.fork("ring"));
    Rng dice = round.rng.fork("faults");
    ring.net.fault = faults_of(dice, faults);
    ring.net.run(2_us, at(2_s));
    EXPECT_EQ(arrived_or_dropped(ring), sent(round)) << round.what;
    expect_all_at_home(ring, round);
    escaped += ring.total(&SwitchPortCounters::escaped_frames);
    if (HasFailure()) return;
  }
  EXPECT_GT(faults, 1000u);
  EXPECT_GT(escaped, 1000u);
}

// Tokens of flows that have ended, of such as never were, with hops of any number, at any port.
TEST(SwitchEscapeFaultsTest, TokensOfUnknownFlowsAreIgnored) {
  for (int number = 0; number < 20; ++number) {
    Round round(number);
    RingNet ring(round.config, round.size, round.distance, kFrames, round.rng.fork("ring"));
    Rng dice = round.rng.fork("tokens");
    for (int i = 0; i < 300; ++i) {
      PacketRef token = ring.net.pool.make();
      const auto any = [&](int below) { return NodeId{static_cast<std::uint16_t>(dice.below(below))}; };
      put_control(*token, EscapeToken{tc(3), static_cast<std::uint16_t>(1 + dice.below(65'535)), any(9),
                                      any(9), Qpn{}});
      const auto node = static_cast<std::size_t>(dice.below(static_cast<std::uint64_t>(round.size)));
      ring.net.nodes[node]->deliver(port(1), {}, std::move(token),
                                    Time::zero() + static_cast<int>(dice.below(2000)) * 1_us);
    }
    ring.net.run(2_us, at(2_s));
    EXPECT_EQ(arrived_or_dropped(ring), sent(round)) << round.what;
    expect_all_at_home(ring, round);
    if (HasFailure()) return;
  }
}

// A host asks for frames that it has paused, and sends one that claims a place for itself.
TEST(SwitchEscapeFaultsTest, AHostIsNotBelievedThatATokenOrAFrameEscapes) {
  Bench b(config_of(kFixed), std::vector<PortConfig>(3));  // hosts
  const PortId outs[] = {port(1)};
  b.send_pfc(1, at(0_us), 3, 0xffff);
  PacketRef packet = make_packet(b.pool, 1098_B, 3, 0);
  packet->src = NodeId{1}, packet->dst = NodeId{2};
  b.node.deliver(port(0), outs, std::move(packet), at(1_us));
  PacketRef token = b.pool.make();
  put_control(*token, EscapeToken{tc(3), 1, NodeId{1}, NodeId{2}, Qpn{}});
  b.node.deliver(port(1), {}, std::move(token), at(2_us));
  PacketRef forged = make_packet(b.pool, 1098_B, 3, 0);
  forged->kind = PacketKind::kEscaping;
  forged->roce.shim_hops = 3;
  forged->frame_length += kEscapeShimBytes;
  b.node.deliver(port(0), outs, std::move(forged), at(3_us));
  b.run_until(at(10_us));
  EXPECT_TRUE(b.sent_by(1).empty());
  EXPECT_EQ(b.counters(1).escape_tokens_ignored, 1u);
  EXPECT_EQ(b.counters(0).drops_forged, 1u);
  EXPECT_EQ(b.node.model().mechanism<EscapeMechanism>()->tokens(port(1)),
            config_of(kFixed).mechanisms.of<EscapeMechanism>().tokens);
}

// What the switch had is lost, and its neighbours' pauses run out by themselves. It does not know who has
// asked it to pause, so that its first frames may be dropped (and are counted).
TEST(SwitchEscapeFaultsTest, ASwitchMayRestartWhileTokensAreOut) {
  std::uint64_t out = 0;
  for (int i = 0; i < 60; ++i) {
    const int number = i / 2;
    Round round(number, i % 2 == 1);
    RingNet ring(round.config, round.size, 2, kFrames, round.rng.fork("ring"));
    ring.net.run(2_us, Time::zero() + static_cast<int>(150 + round.rng.below(400)) * 1_us);
    std::uint64_t away = 0;
    for (const auto& node : ring.net.nodes)
      for (int p = 0; p < 3; ++p)
        away += round.config.mechanisms.of<EscapeMechanism>().tokens -
                node->model().template mechanism<EscapeMechanism>()->tokens(port(p));
    out += away > 0;
    const auto victim = static_cast<int>(round.rng.below(static_cast<std::uint64_t>(round.size)));
    std::uint64_t counted = ring.total(&SwitchPortCounters::drops);
    const std::uint64_t had = ring.net.restart(victim, round.config);
    counted -= ring.total(&SwitchPortCounters::drops);  // by the switch that was
    ring.net.run(2_us, at(2_s));
    EXPECT_GE(arrived_or_dropped(ring) + counted + had, sent(round))
        << round.what << ": more is missing than it had";
    expect_all_at_home(ring, round);
    if (HasFailure()) return;
  }
  EXPECT_GT(out, 5u);
}

// Announcements of any flow at any port, and tokens that come back although nobody sent them, or in another's
// name: what is out is freed once, by its own.
TEST(SwitchEscapeFaultsTest, ForgedAnnouncementsAndReturnsLoseNothing) {
  std::uint64_t returned = 0, ignored = 0;
  for (int number = 0; number < 20; ++number) {
    Round round(number, true);
    RingNet ring(round.config, round.size, round.distance, kFrames, round.rng.fork("ring"));
    Rng dice = round.rng.fork("forged");
    const auto any = [&](int below) {
      return static_cast<std::uint16_t>(dice.below(static_cast<std::uint64_t>(below)));
    };
    for (int i = 0; i < 600; ++i) {
      PacketRef forged = ring.net.pool.make();
      const PortId in = port(any(3)), outs[] = {port(any(3))};
      const bool announcement = i % 2 == 0;
      if (announcement) {
        forged->kind = PacketKind::kEscapeAnnouncement;
        forged->frame_length = 64;
        forged->roce.dscp = static_cast<std::uint8_t>(any(8) << 3);
        forged->src = NodeId{any(9)};
        forged->dst = NodeId{any(round.size)};
        forged->roce.shim_hops = static_cast<std::uint8_t>(any(256));
      } else {
        put_control(*forged, EscapeToken{.tc = tc(3),
                                         .hops = static_cast<std::uint16_t>(1 + any(4)),
                                         .source = NodeId{any(9)},
                                         .destination = NodeId{any(9)},
                                         .dest = Qpn{},
                                         .mark = static_cast<EscapeTokenMark>(1 + any(2)),
                                         .number = (1u + any(4)) << 16 | any(100)});
      }
      const auto node = any(round.size);
      ring.net.nodes[node]->deliver(in, {outs, announcement ? 1u : 0u}, std::move(forged),
                                    Time::zero() + any(2000) * 1_us);
    }
    ring.net.run(2_us, at(2_s));
    EXPECT_EQ(arrived_or_dropped(ring), sent(round)) << round.what;
    expect_all_at_home(ring, round);
    returned += ring.total(&SwitchPortCounters::escape_tokens_returned);
    ignored += ring.total(&SwitchPortCounters::escape_announcements_ignored);
    if (HasFailure()) return;
  }
  EXPECT_GT(returned, 100u);
  EXPECT_GT(ignored, 100u);
}

// Networks that are no rings: trees, circles of several lengths, and links that many paths share. Tokens are
// faulty, and in every second round a switch restarts as well.
TEST(SwitchEscapeFaultsTest, RandomNetworksOutliveFaultyTokensAndRestarts) {
  std::uint64_t faults = 0, escaped = 0;
  for (int i = 0; i < 120; ++i) {
    const int number = i / 2;
    Round round(number, i % 2 == 1);
    const int size = 4 + static_cast<int>(round.rng.below(5));
    const int more = static_cast<int>(round.rng.below(static_cast<std::uint64_t>(size)));
    round.what += "; mesh of " + std::to_string(size) + ", " + std::to_string(more) + " more links";
    MeshNet mesh(round.config, size, more, kFrames, round.rng.fork("mesh"));
    Rng dice = round.rng.fork("faults");
    mesh.net.fault = faults_of(dice, faults);
    std::uint64_t lost = 0;
    if (number % 2 == 1) {
      mesh.net.run(2_us, Time::zero() + static_cast<int>(100 + round.rng.below(300)) * 1_us);
      const auto victim = static_cast<int>(round.rng.below(static_cast<std::uint64_t>(size)));
      lost = mesh.total(&SwitchPortCounters::drops);
      lost += mesh.net.restart(victim, round.config);
      lost -= mesh.total(&SwitchPortCounters::drops);  // those by the switch that was
    }
    mesh.net.run(2_us, at(2_s));
    EXPECT_GE(arrived_or_dropped(mesh) + lost, std::uint64_t{kFrames} * static_cast<unsigned>(size))
        << round.what;
    expect_all_at_home(mesh, round);
    escaped += mesh.total(&SwitchPortCounters::escaped_frames);
    if (HasFailure()) return;
  }
  EXPECT_GT(faults, 1000u);
  EXPECT_GT(escaped, 1000u);
}

}  // namespace
}  // namespace rocelab
