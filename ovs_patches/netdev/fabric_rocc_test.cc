// RoCC through the fabric: CNPs leave as ICMP frames, through the pipeline of the switches on their way, to
// the flow's source.
#include <gtest/gtest.h>

#include <algorithm>

#include "ovs_patches/netdev/fabric.h"
#include "ovs_patches/netdev/test_world.h"
#include "ovs_patches/switch_model/mechanisms/rocc.h"

namespace rocelab {
namespace {

lockstep::SegmentPlan rocc_plan(const TestPlan::Shape& shape) {
  lockstep::SegmentPlan plan = TestPlan::make(shape);
  for (SwitchEntry& entry : plan.world.switches) {
    entry.config.mechanisms.of<RoccMechanism>().enabled = true;
    entry.config.ingress_buffer = 900_KB;
  }
  for (std::size_t p = 0; p < plan.world.ports.size(); ++p)
    plan.world.ports[p].config.cp_address = kCpNetwork + static_cast<std::uint32_t>(p) + 1;
  return plan;
}

TEST(FabricRoccTest, ACnpReachesTheSourceAsAnIcmpFrameThroughTheSwitchesBetween) {
  // h1, h2 on s1; h3, h4 on s2; h5, h6 on s3. h1, h3 and h6 send to h5.
  TestWorld w(rocc_plan({.switches = 3, .hosts_each = 2, .frames_per_vf = 2048}));
  for (const std::uint32_t h : {0u, 2u, 5u})
    for (int i = 0; i < 600; ++i) w.vf(h).send(at(0_us), w.host(4));
  w.run();
  const std::uint32_t bottleneck = w.host(4).port;
  for (const std::uint32_t h : {0u, 2u, 5u}) {
    const std::vector<RoccCnp> cnps = w.vf(h).cnps();
    ASSERT_FALSE(cnps.empty()) << "h" << h + 1;
    for (const RoccCnp& cnp : cnps) {
      EXPECT_EQ(cnp.source, w.host(h).ipv4);
      EXPECT_EQ(cnp.dst_mac, w.host(h).mac);
      EXPECT_EQ(cnp.destination, w.host(4).ipv4);
      EXPECT_EQ(cnp.dest, Qpn{kFirstQpn});
      EXPECT_EQ(cnp.dscp, 48);
      EXPECT_GE(cnp.rate, 10u);
      EXPECT_LT(cnp.rate, 4000u);
      EXPECT_TRUE(is_cp_address(cnp.cp));
    }
    EXPECT_TRUE(
        std::ranges::any_of(cnps, [&](const RoccCnp& c) { return c.cp == kCpNetwork + bottleneck + 1; }));
  }
  EXPECT_TRUE(w.vf(1).cnps().empty()) << "who sends nothing is told nothing";
  EXPECT_EQ(w.vf(4).data().size(), 1800u);
  EXPECT_EQ(w.away(), 0u) << "the frames of CNPs are back";
}

// 3.3.6: what hosts compute from is in the frame, whose length is that of its form.
TEST(FabricRoccTest, WhereHostsComputeTheFrameHasWhatTheyNeed) {
  for (const RoccForm form : {RoccForm::kQueue, RoccForm::kValues}) {
    lockstep::SegmentPlan plan = rocc_plan({.switches = 2, .hosts_each = 2, .frames_per_vf = 2048});
    for (SwitchEntry& entry : plan.world.switches) entry.config.mechanisms.of<RoccMechanism>().form = form;
    TestWorld w(plan);
    for (const std::uint32_t h : {0u, 3u})
      for (int i = 0; i < 600; ++i) w.vf(h).send(at(0_us), w.host(2));
    w.run();
    for (const std::uint32_t h : {0u, 3u}) {
      const std::vector<RoccCnp> cnps = w.vf(h).cnps();
      ASSERT_FALSE(cnps.empty()) << "h" << h + 1;
      std::uint32_t longest = 0;
      for (const RoccCnp& cnp : cnps) {
        EXPECT_EQ(cnp.report.form, form);
        EXPECT_EQ(cnp.rate, 4000u);
        EXPECT_GE(cnp.report.period, 1u);
        longest = std::max(longest, cnp.report.q_cur);
        EXPECT_EQ(cnp.report.values, form == RoccForm::kValues ? rocc_values(RoccParams{}) : RoccValues{});
      }
      EXPECT_GT(longest, 250u);
    }
    EXPECT_EQ(w.away(), 0u);
  }
}

// 3.3.3: a flow is known by its destination host and QPN, whichever addresses its frames have.
TEST(FabricRoccTest, FlowsOverIpv6AreToldAsWell) {
  TestWorld w(rocc_plan({.hosts_each = 3, .frames_per_vf = 2048}));
  for (const std::uint32_t h : {0u, 1u}) {
    w.vf(h).link_local = h == 0;
    for (int i = 0; i < 600; ++i) w.vf(h).send(at(0_us), w.host(2));
  }
  w.run();
  EXPECT_EQ(w.vf(2).data().size(), 1200u);
  for (const std::uint32_t h : {0u, 1u}) {
    const std::vector<RoccCnp> cnps = w.vf(h).cnps();
    ASSERT_FALSE(cnps.empty()) << "h" << h + 1;
    for (const RoccCnp& cnp : cnps) {
      EXPECT_EQ(cnp.source, w.host(h).ipv4);
      EXPECT_EQ(cnp.destination, w.host(2).ipv4);
      EXPECT_EQ(cnp.dest, Qpn{kFirstQpn});
    }
  }
  EXPECT_EQ(w.away(), 0u);
}

TEST(FabricRoccTest, EveryVfOfAHostGetsItsCopy) {
  TestWorld w(rocc_plan({.hosts_each = 4, .vfs = 2, .frames_per_vf = 2048}));
  for (const std::uint32_t h : {1u, 2u})
    for (int i = 0; i < 600; ++i) w.vf(h).send(at(0_us), w.host(0));
  w.run();
  ASSERT_FALSE(w.vf(1, 0).cnps().empty());
  EXPECT_EQ(w.vf(1, 0).cnps(), w.vf(1, 1).cnps());
  EXPECT_EQ(w.away(), 0u);
}

TEST(FabricRoccTest, OrderOfPollingChangesNothing) {
  std::string first;
  for (const bool backwards : {false, true}) {
    TestWorld w(rocc_plan({.switches = 2, .hosts_each = 3, .frames_per_vf = 2048}));
    w.backwards = backwards;
    for (const std::uint32_t h : {0u, 1u, 3u})
      for (int i = 0; i < 300; ++i) w.vf(h).send(at(0_us), w.host(4));
    w.run();
    if (first.empty()) first = w.digests();
    EXPECT_EQ(w.digests(), first);
  }
}

// A program that writes a CNP into its ring: the switch does not take it.
TEST(FabricRoccTest, ACnpFromAHostIsDroppedAndCounted) {
  TestWorld w(rocc_plan({.hosts_each = 3}));
  const std::uint32_t frame = w.vf(0).take_frame();
  RoccCnp forged;
  forged.dst_mac = w.host(1).mac;
  forged.cp = kCpNetwork + 3;
  forged.source = w.host(1).ipv4;
  forged.destination = w.host(2).ipv4;
  forged.dest = Qpn{kFirstQpn};
  forged.rate = 10;
  forged.write(w.segment->frame(frame).first<RoccCnp::kMaxSize>());
  w.vf(0).send(at(1_us), w.host(1));  // so that the window opens
  w.vf(0).send_raw(
      {.due_ps = at(5_us).ps(), .frame = frame, .length = static_cast<std::uint16_t>(forged.size())});
  w.run();
  EXPECT_TRUE(w.vf(1).cnps().empty());
  EXPECT_EQ(w.counters(w.host(0).port).drops_forged, 1u);
  EXPECT_EQ(w.away(), 0u);
}

}  // namespace
}  // namespace rocelab
