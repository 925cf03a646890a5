// Escape through the fabric: the shim in the bytes of the frames.
#include <gtest/gtest.h>

#include "base/wire/controls.h"
#include "base/wire/shim.h"
#include "base/wire/shim_parts.h"
#include "ovs_patches/netdev/fabric.h"
#include "ovs_patches/netdev/test_world.h"
#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/mechanisms/telemetry.h"

namespace rocelab {
namespace {

// Escape over three switches: many send to h6 on s3, so that the links towards it are paused one after the
// other, and h1's frames for h3, behind them, escape. What arrives has a right ICRC: the shim went in and
// out.
TEST(FabricEscapeTest, FramesEscapeThroughALinkThatIsPausedAndArriveAsTheyWereSent) {
  lockstep::SegmentPlan plan = TestPlan::make({.switches = 3, .hosts_each = 2, .frames_per_vf = 2048});
  for (SwitchEntry& entry : plan.world.switches) {
    entry.config.mechanisms.of<EscapeMechanism>().enabled = true;
    entry.config.ingress_buffer = 90_KB;
  }
  TestWorld w(plan);
  for (int i = 0; i < 500; ++i) {
    w.vf(0).send(at(0_us), w.host(5));
    w.vf(0).send(at(0_us), w.host(2));
    w.vf(1).send(at(0_us), w.host(5));
    w.vf(3).send(at(0_us), w.host(5));
    w.vf(2).send(at(0_us), w.host(5));
  }
  w.run();
  std::uint64_t escaped = 0, drops = 0, arrived = 0;
  for (std::uint32_t p = 0; p < w.segment->ports().size(); ++p) {
    escaped += w.counters(p).escaped_frames;
    drops += w.counters(p).drops;
  }
  for (const std::uint32_t h : {2u, 5u})
    for (const FakeVf::Received& r : w.vf(h).data()) {
      EXPECT_TRUE(r.intact);
      ++arrived;
    }
  EXPECT_GT(escaped, 0u);
  EXPECT_EQ(arrived + drops, 2500u) << "these hosts do not obey PFC: what does not fit is dropped";
  EXPECT_EQ(w.away(), 0u);
}

// With its extensions: what the pipeline gets of an announcement are the headers that the flow's sender
// wrote, also behind INT, with a right ICRC; all frames that carried one are at home afterwards.
TEST(FabricEscapeTest, AnnouncementsAreHeadersOfTheirFlow) {
  for (const bool ipv6 : {false, true}) {
    lockstep::SegmentPlan plan = TestPlan::make({.switches = 3, .hosts_each = 2, .frames_per_vf = 2048});
    plan.max_frame_bytes += Telemetry::kMaxShimBytes + kEscapeShimBytes;
    for (SwitchEntry& entry : plan.world.switches) {
      entry.config.mechanisms.of<EscapeMechanism>().enabled =
          entry.config.mechanisms.of<EscapeMechanism>().announce =
              entry.config.mechanisms.of<EscapeMechanism>().return_tokens = true;
      entry.config.mechanisms.of<TelemetryMechanism>().enabled = !ipv6;
      entry.config.ingress_buffer = 90_KB;
    }
    TestWorld w(plan);
    for (std::uint32_t vf = 0; vf < 6; ++vf) w.vf(vf).link_local = ipv6;
    for (int i = 0; i < 500; ++i) {
      w.vf(0).send(at(0_us), w.host(5));
      w.vf(0).send(at(0_us), w.host(2));
      w.vf(1).send(at(0_us), w.host(5));
      w.vf(3).send(at(0_us), w.host(5));
      w.vf(2).send(at(0_us), w.host(5));
    }
    w.run();
    std::uint64_t sent = 0, received = 0, arrived = 0, drops = 0;
    for (std::uint32_t p = 0; p < w.segment->ports().size(); ++p) {
      const SwitchPortCounters counters = w.counters(p);
      sent += counters.escape_announcements_sent;
      received += counters.escape_announcements_received;
      drops += counters.drops;
      EXPECT_EQ(counters.escape_announcements_ignored, 0u);
    }
    EXPECT_GT(sent, 20u);
    EXPECT_EQ(received, sent);
    EXPECT_EQ(w.announcements.size(), sent);
    for (std::vector<std::byte>& bytes : w.announcements) {
      bytes.resize(remove_shim(bytes).value());
      const auto frame = parse_frame(bytes);
      ASSERT_TRUE(frame);
      EXPECT_EQ(frame->address.is_ipv4, !ipv6);
      EXPECT_TRUE(frame->payload.empty());
    }
    for (std::uint32_t h = 0; h < 6; ++h)
      for (const FakeVf::Received& r : w.vf(h).data()) {
        EXPECT_TRUE(r.intact);
        ++arrived;
      }
    EXPECT_EQ(arrived + drops, 2500u);
    EXPECT_EQ(w.away(), 0u);
  }
}

// Without the fix `hosts` the switch of a sender asks it for frames, too. The token names the flow by the
// addresses that it has.
TEST(FabricEscapeTest, ATokenThatReachesAHostNamesItsFlow) {
  for (const bool ipv6 : {false, true}) {
    lockstep::SegmentPlan plan = TestPlan::make({.switches = 2, .hosts_each = 2, .frames_per_vf = 2048});
    for (SwitchEntry& entry : plan.world.switches) {
      entry.config.mechanisms.of<EscapeMechanism>().enabled = true;
      entry.config.mechanisms.of<EscapeMechanism>().fixes &=
          static_cast<std::uint8_t>(~static_cast<unsigned>(EscapeFix::kHosts));
      entry.config.ingress_buffer = 90_KB;
    }
    TestWorld w(plan);
    for (std::uint32_t vf = 0; vf < 4; ++vf) w.vf(vf).link_local = ipv6;
    for (int i = 0; i < 500; ++i) {
      w.vf(0).send(at(0_us), w.host(2));
      w.vf(1).send(at(0_us), w.host(2));
    }
    w.run();
    std::uint64_t tokens = 0;
    for (const std::uint32_t h : {0u, 1u})
      for (const FakeVf::Received& r : w.vf(h).received()) {
        if (r.kind != kind_of<EscapeToken>) continue;
        ++tokens;
        ASSERT_TRUE(r.token.has_value());
        EXPECT_EQ(r.token->source, gid_of(w.host(h), ipv6 ? 0 : 1));
        EXPECT_EQ(r.token->destination, gid_of(w.host(2), ipv6 ? 0 : 1));
      }
    EXPECT_GT(tokens, 0u) << ipv6;
    EXPECT_EQ(w.away(), 0u);
  }
}

}  // namespace
}  // namespace rocelab
