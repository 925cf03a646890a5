// INT in the live engine's frames: what the switch model says of a packet stands in its bytes.
#include <gtest/gtest.h>

#include "base/wire/rocc_cnp.h"
#include "ovs_patches/netdev/test_world.h"

namespace rocelab {
namespace {

// HPCC: each switch on the way adds its record to a data frame's bytes, and what is left without them is as
// it was sent.
TEST(FabricTelemetryTest, EverySwitchOnTheWayStampsTheFrame) {
  lockstep::SegmentPlan plan = TestPlan::make({.switches = 3, .hosts_each = 2, .frames_per_vf = 2048});
  plan.max_frame_bytes += Telemetry::kMaxShimBytes;
  for (lockstep::SwitchEntry& entry : plan.switches) {
    entry.config.telemetry.enabled = true;
    entry.config.max_frame += Bytes::from_count(Telemetry::kMaxShimBytes);
  }
  for (std::size_t p = 0; p < plan.ports.size(); ++p)
    plan.ports[p].config.cp_address = kCpNetwork + static_cast<std::uint32_t>(p) + 1;
  TestWorld w(plan);
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

}  // namespace
}  // namespace rocelab
