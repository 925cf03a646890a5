// Each fix of Escape by itself: what breaks without it, in the code that runs (tests/models/escape.pml has
// every interleaving of a small ring).
#include "base/wire/etf.h"
#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/test_ring.h"

namespace rocelab {
namespace {

using namespace switch_test;

struct Ring {
  int size, distance, tokens;
  Bytes buffer;
  Rng rng = Rng(1);
};
struct Outcome {
  std::uint64_t missing = 0, drops = 0, out_of_order = 0, at_hosts = 0;
};

// What has not arrived by `end`, which leaves the fixed form ten times the time that it needs.
Outcome run(int fixes, const Ring& r, Time end) {
  SwitchConfig config = config_of(fixes, r.buffer);
  config.mechanisms.of<EscapeMechanism>().tokens = static_cast<std::uint16_t>(r.tokens);
  RingNet ring(config, r.size, r.distance, 1500, r.rng);
  ring.net.run(2_us, end);
  Outcome outcome;
  outcome.missing = 1500u * static_cast<unsigned>(r.size) - ring.received();
  outcome.drops = ring.total(&SwitchPortCounters::drops);
  for (const TestHost& host : ring.net.hosts) {
    outcome.out_of_order += host.out_of_order;
    outcome.at_hosts += host.tokens;
  }
  return outcome;
}

const Ring kThree{3, 2, 1, 80_KB};

// 4.4.5, 3: such a token ends there; it is missed until the reclaim timer.
TEST(SwitchEscapeFixesTest, WithoutHostsTokensEndAtHosts) {
  const Outcome outcome = run(without(EscapeFix::kHosts), kThree, at(600_ms));
  EXPECT_GT(outcome.at_hosts, 0u);
  EXPECT_EQ(outcome.missing, 0u);
  EXPECT_EQ(outcome.drops, 0u);
  EXPECT_EQ(outcome.out_of_order, 0u);
  EXPECT_EQ(run(kFixed, kThree, at(600_ms)).at_hosts, 0u);
}

TEST(SwitchEscapeFixesTest, WithAllOfThemEverythingArrivesInOrder) {
  const Outcome fixed = run(kFixed, kThree, at(60_ms));
  EXPECT_EQ(fixed.missing, 0u);
  EXPECT_EQ(fixed.drops, 0u);
  EXPECT_EQ(fixed.out_of_order, 0u);
}

// Lines 29 to 32: the origin's pool runs empty, so that the next token waits for the reclaim timer.
TEST(SwitchEscapeFixesTest, WithoutPoolTokensLeakAndOnlyTheReclaimTimerGoesOn) {
  EXPECT_GT(run(without(EscapeFix::kPool), kThree, at(60_ms)).missing, 1000u);
  EXPECT_GT(run(kLetter, kThree, at(60_ms)).missing, 1000u);
}

TEST(SwitchEscapeFixesTest, WithoutOrderEscapingFramesOvertakeEarlierOnes) {
  const Outcome outcome = run(without(EscapeFix::kOrder), kThree, at(60_ms));
  EXPECT_GT(outcome.out_of_order, 1000u);
  EXPECT_EQ(outcome.drops, 0u);
}

// Frames in the dedicated queue of a port whose peer has asked for a pause since their tokens were sent. The
// model checker does not reach this: it takes flows longer than it can search.
TEST(SwitchEscapeFixesTest, WithoutHeadroomFramesThatLeaveAPausedPortAreDropped) {
  std::uint64_t drops = 0;
  for (int round = 0; round < 4; ++round) {
    const Ring ring{6, 4, 3, Bytes::from_count(70'000 + 10'000 * round), Rng(23).fork(std::to_string(round))};
    drops += run(without(EscapeFix::kHeadroom), ring, at(20_ms)).drops;
    EXPECT_EQ(run(kFixed, ring, at(20_ms)).drops, 0u) << "round " << round;
  }
  EXPECT_GT(drops, 0u);
}

// Three frames arrive at once for two places; without EscapeFix::kReclaim pools promise more places than
// there are.
TEST(SwitchEscapeFixesTest, AFrameForWhichTheDedicatedQueueHasNoPlaceIsDroppedAndCounted) {
  std::vector<PortConfig> ports(4);
  for (PortConfig& p : ports) p.peer = PeerKind::kSwitch;
  SwitchConfig config = config_of(kFixed);
  config.mechanisms.of<EscapeMechanism>().tokens = 2;
  Bench b(config, ports);
  const PortId outs[] = {port(3)};
  for (int i = 0; i < 3; ++i) {
    PacketRef packet = make_packet(b.pool, 1098_B, 3, static_cast<std::uint32_t>(i));
    packet->src = NodeId{static_cast<std::uint16_t>(i)};
    packet->kind = PacketKind::kEscaping;
    packet->roce.shim_hops = 2;
    packet->frame_length += kEscapeShimBytes;
    b.node.deliver(port(i), outs, std::move(packet), at(1_us));
  }
  b.run_until(at(10_us));
  EXPECT_EQ(b.sent_by(3).size(), 2u);
  EXPECT_EQ(b.counters(3).drops_escape_queue, 1u);
  EXPECT_EQ(b.pool.in_use(), 0u);
}

}  // namespace
}  // namespace rocelab
