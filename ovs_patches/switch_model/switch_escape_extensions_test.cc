// Escape's extensions: flows that wait behind a paused port are announced; and what only both clear.
#include "base/wire/controls.h"
#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/test_escape_extensions.h"

namespace rocelab {
namespace {

using namespace switch_test;

// --- announcements

TEST(SwitchEscapeExtensionsTest, FlowsThatWaitBehindAPausedPortAreAnnouncedOncePerPeriodNewOnesFirst) {
  More b;
  b.send_pfc(1, at(0_us), 3, 0xffff);
  for (const int source : {5, 6, 5, 5}) b.send_from(source, 0, 1, at(1_us));
  b.run_until(at(4_us) - Duration::from_ps(1));
  EXPECT_TRUE(b.announced().empty());
  b.run_until(at(9_us));  // at 4 us and 8 us
  EXPECT_EQ(b.announced(), (std::vector<int>{5, 6}));
  const std::vector<Departure> sent = b.of_kind(PacketKind::kEscapeAnnouncement);
  EXPECT_EQ(sent[0].port, port(1));
  EXPECT_EQ(sent[0].time, at(4_us));
  EXPECT_EQ(sent[1].time, at(8_us));
  EXPECT_EQ(sent[0].frame_length, kHeaders);
  EXPECT_EQ(sent[0].hops, 1u);
  b.send_from(7, 0, 1, at(9_us));
  b.run_until(at(21_us));
  EXPECT_EQ(b.announced(), (std::vector<int>{5, 6, 7, 5, 6})) << "each comes again";
  EXPECT_EQ(b.counters(1).escape_announcements_sent, 5u);
  EXPECT_EQ(b.node.model().queued_frames(), 5u);
  b.send_pfc(1, at(21_us), 3, 0);
  b.run_until(at(60_us));
  EXPECT_EQ(b.announced().size(), 5u) << "the port is open";
  EXPECT_EQ(b.of_kind(PacketKind::kData).size(), 5u);
  EXPECT_EQ(b.pool.in_use(), 0u);
}

// Frames that stood there before the pause are found as well, whatever the order in the queue.
TEST(SwitchEscapeExtensionsTest, WhatWaitsWhenThePauseBeginsIsAnnounced) {
  for (const QueueOrder order : {QueueOrder::kFifo, QueueOrder::kRoundRobin}) {
    SwitchConfig config = extended_config_of();
    config.queue_order = order;
    More b(config);
    for (int i = 0; i < 40; ++i) b.send_from(i % 4, i % 2 == 0 ? 0 : 2, 1, at(0_us) + Duration::from_ps(i));
    b.send_pfc(1, at(1_us), 3, 0xffff);
    b.run_until(at(17_us));
    std::vector<int> announced = b.announced();
    std::ranges::sort(announced);
    EXPECT_EQ(announced, (std::vector<int>{0, 1, 2, 3}));
  }
}

TEST(SwitchEscapeExtensionsTest, NothingIsAnnouncedToHostsNorWithoutTheExtension) {
  for (const bool on : {true, false}) {
    SwitchConfig config = extended_config_of();
    config.mechanisms.of<EscapeMechanism>().announce = on;
    More b(config);
    for (const int out : {1, 3}) {
      b.send_pfc(out, at(0_us), 3, 0xffff);
      b.send_from(5, 0, out, at(1_us));
    }
    b.run_until(at(50_us));
    for (const Departure& d : b.of_kind(PacketKind::kEscapeAnnouncement)) EXPECT_EQ(d.port, port(1));
    EXPECT_EQ(b.announced().empty(), !on);
  }
}

// The flow is as one that has traversed: a token is sent for it.
TEST(SwitchEscapeExtensionsTest, AnAnnouncedFlowGetsATokenWhereItsWayOnIsOpen) {
  More b;
  b.ask(at(0_us));
  b.announce_from(5, 0, 2, at(1_us));
  b.run_until(at(6_us));
  const std::vector<Departure> tokens = b.of_kind(kind_of<EscapeToken>);
  ASSERT_EQ(tokens.size(), 1u);
  EXPECT_EQ(tokens[0].port, port(0));
  EXPECT_EQ(tokens[0].token.source, NodeId{5});
  EXPECT_TRUE(b.announced().empty()) << "the way on is open: it ends here";
  EXPECT_EQ(b.counters(0).escape_announcements_received, 1u);
  EXPECT_EQ(b.counters(0).rx_frames, 0u) << "it is no frame of the flow";
  EXPECT_EQ(b.pool.in_use(), 0u);
}

TEST(SwitchEscapeExtensionsTest, AnAnnouncementGoesOnThroughPausedPortsAndEndsBeforeHosts) {
  More b;
  for (const int out : {1, 3}) b.send_pfc(out, at(0_us), 3, 0xffff);
  b.announce_from(5, 0, 1, at(1_us), 7);
  b.announce_from(6, 0, 3, at(1_us));
  b.announce_from(8, 0, 1, at(1_us), kMostEscapeHops);
  b.run_until(at(50_us));
  const std::vector<Departure> sent = b.of_kind(PacketKind::kEscapeAnnouncement);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].flow, 5u);
  EXPECT_EQ(sent[0].hops, 8u);
  EXPECT_EQ(b.counters(1).escape_announcements_sent, 1u);
  EXPECT_EQ(b.counters(0).escape_announcements_received, 2u);
  EXPECT_EQ(b.counters(0).escape_announcements_ignored, 1u) << "it goes round in circles";
  EXPECT_EQ(b.pool.in_use(), 0u);
}

TEST(SwitchEscapeExtensionsTest, ForgedAnnouncementsAreIgnoredAndCounted) {
  More b;
  b.ask(at(0_us));
  b.announce_from(5, 3, 2, at(1_us));  // from a host
  b.node.deliver(port(0), {}, b.announcement(6), at(1_us));
  const PortId both[] = {port(1), port(2)};
  b.node.deliver(port(0), both, b.announcement(7), at(1_us));
  b.announce_from(8, 0, 2, at(1_us), 0);
  PacketRef lossy = b.announcement(9);
  lossy->roce.dscp = 0;
  const PortId outs[] = {port(2)};
  b.node.deliver(port(0), outs, std::move(lossy), at(1_us));
  b.run_until(at(50_us));
  EXPECT_TRUE(b.of_kind(kind_of<EscapeToken>).empty());
  EXPECT_EQ(b.counters(3).escape_announcements_ignored, 1u);
  EXPECT_EQ(b.counters(0).escape_announcements_ignored, 4u);
  EXPECT_EQ(b.counters(0).drops, 0u);
  EXPECT_EQ(b.pool.in_use(), 0u);
}

// A flood is bounded by the table's places, here eight.
TEST(SwitchEscapeExtensionsTest, NoMoreAnnouncementsWaitThanTheTableHasPlaces) {
  More b;
  b.send_pfc(1, at(0_us), 3, 0xffff);
  for (int i = 0; i < 500; ++i) b.announce_from(100 + i, 0, 1, at(1_us));
  b.run_until(at(50_us));
  EXPECT_LE(b.announced().size(), 9u);
  EXPECT_GE(b.announced().size(), 8u);
}

// Bytes are shared and given back, also where there are none left.
TEST(SwitchEscapeExtensionsTest, BytesOfAnnouncementsAreGivenBack) {
  for (const bool refuse : {false, true}) {
    CountingOwner owner;
    owner.refuse = refuse;
    Bench b(extended_config_of(), More::some_ports(), &owner);
    b.send_pfc(1, at(0_us), 3, 0xffff);
    PacketRef packet = make_packet(b.pool, kFrame);
    packet->dst = NodeId{9};
    packet->frame_slot = 4;
    owner.references[4] = 1;
    const PortId outs[] = {port(1)};
    b.node.deliver(port(0), outs, std::move(packet), at(1_us));
    b.run_until(at(9_us));
    const std::size_t announced = b.sent_by(1).size();
    EXPECT_EQ(announced, refuse ? 0u : 2u);
    EXPECT_EQ(owner.references[4], 1 + static_cast<int>(announced)) << "the drivers have these";
    PacketRef other = make_packet(b.pool, 62_B);
    other->kind = PacketKind::kEscapeAnnouncement;
    other->frame_slot = 5;
    owner.references[5] = 1;
    b.node.deliver(port(0), {}, std::move(other), at(10_us));
    b.run_until(at(11_us));
    EXPECT_EQ(owner.references[5], 0);
  }
}

// --- what no form clears without them

TEST(SwitchEscapeExtensionsTest, ACircleOfNewFlowsOnlyIsCleared) {
  for (const auto& [size, distance, buffer, frames] :
       {std::tuple{6, 5, 50_KB, 300u}, {6, 5, 60_KB, 300u}, {7, 6, 50_KB, 300u}}) {
    for (const bool announce : {false, true}) {
      SwitchConfig config = extended_config_of(buffer);
      config.mechanisms.of<EscapeMechanism>().announce = announce;
      RingNet ring(config, size, distance, frames);
      ring.net.run(2_us, at(400_ms));
      EXPECT_EQ(ring.received() == frames * static_cast<unsigned>(size), announce)
          << size << " switches, " << buffer.count() << ": " << ring.received();
      EXPECT_EQ(ring.total(&SwitchPortCounters::drops), 0u);
      for (const TestHost& host : ring.net.hosts) {
        EXPECT_EQ(host.out_of_order, 0u);
        EXPECT_EQ(host.with_shim, 0u) << "no host gets an announcement";
      }
      if (announce) {
        EXPECT_EQ(ring.net.pool.in_use(), 0u);
      }
    }
  }
}

// Seven flows of which each needs a place at six of seven ports, and a port has one: without chance in their
// rests they would take them from one another for ever.
TEST(SwitchEscapeExtensionsTest, FlowsThatContendForPlacesAllGetThem) {
  for (const std::uint16_t tokens : {std::uint16_t{1}, std::uint16_t{4}, std::uint16_t{8}}) {
    SwitchConfig config = extended_config_of(50_KB);
    config.mechanisms.of<EscapeMechanism>().tokens = tokens;
    config.mechanisms.of<EscapeMechanism>().flows = 8;
    RingNet ring(config, 7, 6, 150);
    ring.net.run(2_us, at(200_ms));
    EXPECT_EQ(ring.received(), 1050u) << tokens;
    EXPECT_GT(ring.total(&SwitchPortCounters::escape_tokens_returned), 50u) << tokens;
  }
}

TEST(SwitchEscapeExtensionsTest, ATableWithFewerPlacesThanFlowsStrandsNobody) {
  SwitchConfig config = extended_config_of(90_KB);
  config.mechanisms.of<EscapeMechanism>().tokens = 2;
  RingNet ring(config, 5, 4, 500, Rng(5));
  ring.net.run(2_us, at(1_s));
  EXPECT_EQ(ring.received(), 2500u);
  EXPECT_EQ(ring.total(&SwitchPortCounters::drops), 0u);
}

// Random rings, flows of any length, all new when the circle closes.
TEST(SwitchEscapeExtensionsTest, RandomRingsEndLoseNothingAndKeepOrder) {
  Rng rng(29);
  std::uint64_t announced = 0, returned = 0;
  for (int round = 0; round < 25; ++round) {
    const int size = 3 + static_cast<int>(rng.below(5));
    const int distance = 1 + static_cast<int>(rng.below(static_cast<std::uint64_t>(size - 1)));
    SwitchConfig config =
        extended_config_of(Bytes::from_count(45'000 + 1000 * static_cast<int>(rng.below(60))));
    config.mechanisms.of<EscapeMechanism>().tokens = static_cast<std::uint16_t>(1 + rng.below(12));
    config.mechanisms.of<EscapeMechanism>().flows = static_cast<std::uint16_t>(1 + rng.below(12));
    config.mechanisms.of<EscapeMechanism>().return_tokens = rng.bernoulli(0.7);
    config.queue_order = rng.bernoulli(0.3) ? QueueOrder::kRoundRobin : QueueOrder::kFifo;
    const std::string what = "round " + std::to_string(round) + ": " + std::to_string(size) +
                             " switches, distance " + std::to_string(distance) + ", " +
                             std::to_string(config.mechanisms.of<EscapeMechanism>().tokens) + " tokens, " +
                             std::to_string(config.mechanisms.of<EscapeMechanism>().flows) + " flows";
    RingNet ring(config, size, distance, 300, rng.fork(std::to_string(round)));
    ring.net.run(2_us, at(10_s));
    EXPECT_EQ(ring.received(), 300u * static_cast<unsigned>(size)) << what;
    EXPECT_EQ(ring.total(&SwitchPortCounters::drops), 0u) << what;
    for (const TestHost& host : ring.net.hosts) EXPECT_EQ(host.out_of_order, 0u) << what;
    EXPECT_EQ(ring.net.pool.in_use(), 0u) << what;
    announced += ring.total(&SwitchPortCounters::escape_announcements_sent);
    returned += ring.total(&SwitchPortCounters::escape_tokens_returned);
  }
  EXPECT_GT(announced, 1000u);
  EXPECT_GT(returned, 100u);
}

}  // namespace
}  // namespace rocelab
