// INT in the live engine's frames: what the switch model says of a packet stands in its bytes.
#include <gtest/gtest.h>

#include "base/wire/rocc_cnp.h"
#include "base/wire/shim_parts.h"
#include "ovs_patches/netdev/test_world.h"
#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/mechanisms/telemetry.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kFrame = 1058;  // what a FakeVf sends: 1000 bytes of payload

// Three switches in a line, two hosts on each, with INT.
lockstep::SegmentPlan plan_of_three(bool escape = false) {
  lockstep::SegmentPlan plan = TestPlan::make({.switches = 3, .hosts_each = 2, .frames_per_vf = 2048});
  plan.max_frame_bytes += Telemetry::kMaxShimBytes + (escape ? kEscapeShimBytes : 0);
  for (SwitchEntry& entry : plan.world.switches) {
    entry.config.mechanisms.of<TelemetryMechanism>().enabled = true;
    entry.config.max_frame += Bytes::from_count(Telemetry::kMaxShimBytes);
    entry.config.mechanisms.of<EscapeMechanism>().enabled = escape;
    if (escape) entry.config.ingress_buffer = 90_KB;
  }
  for (std::size_t p = 0; p < plan.world.ports.size(); ++p)
    plan.world.ports[p].config.cp_address = kCpNetwork + static_cast<std::uint32_t>(p) + 1;
  return plan;
}

// Many send to h6, so that the links towards it are paused, and h1's frames for h3, behind them, escape.
void run_incast(TestWorld& w) {
  for (int i = 0; i < 500; ++i) {
    w.vf(0).send(at(0_us), w.host(5));
    w.vf(0).send(at(0_us), w.host(2));
    for (const std::uint32_t h : {1u, 2u, 3u}) w.vf(h).send(at(0_us), w.host(5));
  }
  w.run();
}

// HPCC: each switch on the way adds its record to a data frame's bytes, and what is left without them is as
// it was sent.
TEST(FabricTelemetryTest, EverySwitchOnTheWayStampsTheFrame) {
  TestWorld w(plan_of_three());
  for (int i = 0; i < 50; ++i) {
    w.vf(0).send(at(0_us), w.host(1));  // on its own switch
    w.vf(2).send(at(0_us), w.host(4));  // one switch further
    w.vf(1).send(at(0_us), w.host(5));  // two
  }
  w.run();
  for (const auto& [host, hops] : {std::pair{1u, 1}, {4u, 2}, {5u, 3}}) {
    SCOPED_TRACE(host);
    const auto received = w.vf(host).data();
    ASSERT_EQ(received.size(), 50u);
    for (const FakeVf::Received& r : received) {
      EXPECT_TRUE(r.intact);
      ASSERT_EQ(r.telemetry.hops, hops);
      for (int i = 1; i < hops; ++i)
        EXPECT_GT(r.telemetry.hop(static_cast<std::size_t>(i)).time, r.telemetry.hop(0).time);
      EXPECT_EQ(r.telemetry.path, received[0].telemetry.path);
    }
  }
  EXPECT_EQ(w.away(), 0u);
}

// Escape's hops go in and out beside INT, which stays: hosts get a record of every switch, and behind the
// shim the frame as it was sent.
TEST(FabricTelemetryTest, FramesThatEscapeHaveTheirHopsBesideIt) {
  TestWorld w(plan_of_three(true));
  run_incast(w);
  std::uint64_t escaped = 0, drops = 0, arrived = 0;
  for (std::uint32_t p = 0; p < w.segment->ports().size(); ++p) {
    escaped += w.counters(p).escaped_frames;
    drops += w.counters(p).drops;
  }
  for (const std::uint32_t h : {2u, 5u})
    for (const FakeVf::Received& r : w.vf(h).data()) {
      ++arrived;
      EXPECT_TRUE(r.intact);
      EXPECT_GE(r.telemetry.hops, h == 2 ? 2 : 1);
      EXPECT_EQ(r.length, kFrame + Telemetry::shim_bytes(r.telemetry.hops));
    }
  EXPECT_GT(escaped, 20u);
  EXPECT_EQ(arrived + drops, 2500u) << "these hosts do not obey PFC: what does not fit is dropped";
  EXPECT_EQ(w.away(), 0u);
}

// A flipped bit may lie where a switch has to look for the place of the shim: the frame then arrives as long
// as it would have been, so that both engines agree on when.
TEST(FabricTelemetryTest, DamagedFramesHaveTheLengthOfWholeOnes) {
  lockstep::SegmentPlan plan = plan_of_three(true);
  for (PortEntry& port : plan.world.ports)
    if (port.config.peer == PeerKind::kSwitch) port.to_peer.corrupt_rate = 1;
  TestWorld w(plan);
  constexpr std::uint32_t kShort = 300, kShortFrame = 62;  // of whose bits more lie there
  for (std::uint32_t i = 0; i < kShort; ++i) w.vf(0).send(at(0_us), w.host(2), 4);
  run_incast(w);
  std::uint64_t escaped = 0, unreadable = 0;
  for (std::uint32_t p = 0; p < w.segment->ports().size(); ++p) escaped += w.counters(p).escaped_frames;
  for (const FakeVf::Received& r : w.vf(2).received()) {
    if (r.kind != PacketKind::kData) continue;
    const bool is_short = r.length < kFrame;
    EXPECT_EQ(r.length, (is_short ? kShortFrame : kFrame) + Telemetry::shim_bytes(2)) << "over s1 and s2";
    unreadable += r.telemetry.hops != 2;
  }
  EXPECT_GT(escaped, 20u);
  EXPECT_GT(unreadable, 0u);
  EXPECT_EQ(w.away(), 0u);
}

}  // namespace
}  // namespace rocelab
