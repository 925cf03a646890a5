// Feedback of P4QCN and QCN through the fabric: frames of the link, through the pipeline of the switches on
// their way, to the flow's source. A CNM has no IP header: the pipeline goes by its destination MAC.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/wire/controls.h"
#include "ovs_patches/netdev/fabric.h"
#include "ovs_patches/netdev/test_world.h"
#include "ovs_patches/switch_model/mechanism_table.h"

namespace rocelab {
namespace {

lockstep::SegmentPlan plan_of(const char* scheme, const char* preset) {
  lockstep::SegmentPlan plan = TestPlan::make({.switches = 3, .hosts_each = 2, .frames_per_vf = 2048});
  for (SwitchEntry& entry : plan.world.switches) {
    follow_label(entry.config.mechanisms, scheme, preset);
    entry.config.ingress_buffer = 900_KB;
  }
  for (std::size_t p = 0; p < plan.world.ports.size(); ++p)
    plan.world.ports[p].config.cp_address = kCpNetwork + static_cast<std::uint32_t>(p) + 1;
  for (HostEntry& host : plan.world.hosts)  // as in every scenario (docs/reference/scenarios.md, Addresses)
    for (std::size_t i = 0; i < 4; ++i)
      host.mac[2 + i] = static_cast<std::uint8_t>(host.ipv4 >> (24 - 8 * i));
  return plan;
}

// h1, h2 on s1; h3, h4 on s2; h5, h6 on s3. h1, h3 and h6 send to h5.
void expect_feedback(const char* scheme, const char* preset, PacketKind kind) {
  TestWorld w(plan_of(scheme, preset));
  for (const std::uint32_t h : {0u, 2u, 5u})
    for (int i = 0; i < 600; ++i) w.vf(h).send(at(0_us), w.host(4));
  w.run();
  for (std::uint32_t h = 0; h < 6; ++h) {
    const auto told =
        std::ranges::count_if(w.vf(h).received(), [&](const auto& r) { return r.kind == kind; });
    if (h == 0 || h == 2 || h == 5)
      EXPECT_GT(told, 0) << scheme << ", h" << h + 1;
    else
      EXPECT_EQ(told, 0) << "who sends nothing is told nothing";
  }
  EXPECT_EQ(w.vf(4).data().size(), 1800u);
  EXPECT_EQ(w.away(), 0u) << "the frames of feedback are back";
}

TEST(FabricFeedbackTest, FeedbackOfP4qcnReachesTheSourcesThroughTheSwitchesBetween) {
  expect_feedback("p4qcn", "paper", kind_of<P4qcnFbp>);
}

TEST(FabricFeedbackTest, CnmsOfQcnReachTheSourcesByTheirMacs) {
  expect_feedback("qcn", "802.1Q", kind_of<Cnm>);
}

}  // namespace
}  // namespace rocelab
