// RCP's header in the live engine's frames: hosts write it, each switch lowers it in place, and what is none
// is not believed.
#include <gtest/gtest.h>

#include <array>

#include "base/wire/shim_parts.h"
#include "irn_provider/cc/rcp.h"
#include "ovs_patches/netdev/test_world.h"
#include "ovs_patches/switch_model/mechanisms/rcp.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kFrame = 1058 + kRcpShimBytes;  // a FakeVf's with 1000 bytes of payload

// Three switches in a line, of which the second allows the least; nothing changes within a millisecond.
lockstep::SegmentPlan plan_of_three() {
  lockstep::SegmentPlan plan = TestPlan::make({.switches = 3, .hosts_each = 1, .frames_per_vf = 2048});
  plan.max_frame_bytes += kRcpShimBytes;
  for (HostEntry& host : plan.world.hosts) host.nic.cc.use<Rcp>();
  double share = 0.3;
  for (SwitchEntry& entry : plan.world.switches) {
    entry.config.max_frame += Bytes::from_count(kRcpShimBytes);
    RcpParams& rcp = entry.config.mechanisms.of<RcpMechanism>();
    rcp.enabled = true;
    rcp.rtt = 1_s, rcp.initial = share;
    share = share == 0.3 ? 0.1 : 0.2;
  }
  return plan;
}

std::vector<std::byte> bytes_of(const Shim& shim) {
  std::array<std::byte, Shim::kMaxBytes> bytes;
  const std::size_t length = shim.write(bytes);
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)};
}
std::vector<std::byte> asking(const RcpHeader& header) {
  Shim shim;
  shim.part<RcpRequest>() = RcpRequest{header};
  return bytes_of(shim);
}

void send(TestWorld& w, int frames) {
  for (int i = 0; i < frames; ++i) w.vf(0).send(at(0_us), w.host(2));
  w.run();
}

TEST(FabricRcpTest, TheLeastRateOfThePathArrivesAndTheRestAsItWasSent) {
  for (const auto& [asked, told] : {std::pair(40'000'000u, 4'000'000u), std::pair(3'999'999u, 3'999'999u)}) {
    TestWorld w(plan_of_three());
    w.vf(0).shim = asking({asked, 436'000});
    send(w, 50);
    const auto received = w.vf(2).data();
    ASSERT_EQ(received.size(), 50u);
    for (const FakeVf::Received& r : received) {
      EXPECT_TRUE(r.intact);
      EXPECT_EQ(r.length, kFrame);
      EXPECT_EQ(r.rcp, (RcpHeader{told, 436'000}));
    }
    EXPECT_EQ(w.away(), 0u);
  }
}

// No NIC writes these: a rate of 0, a part twice, an unknown one. They are forwarded as they are.
TEST(FabricRcpTest, WhatNoNicWritesIsForwardedUntouched) {
  std::vector<std::byte> twice = asking({9, 9});
  twice.insert(twice.end(), twice.begin(), twice.end());
  std::vector<std::byte> beside = asking({9, 9});
  beside[ShimHeader::kSize - 1] = std::byte{1};
  for (const auto& bad : {asking({0, 9}), twice, beside}) {
    TestWorld w(plan_of_three());
    w.vf(0).shim = bad;
    send(w, 20);
    const auto received = w.vf(2).data();
    ASSERT_EQ(received.size(), 20u);
    for (const FakeVf::Received& r : received) {
      EXPECT_FALSE(r.intact) << "the receiving NIC refuses it";
      EXPECT_EQ(r.length, 1058 + bad.size());
    }
    EXPECT_EQ(w.away(), 0u);
  }
}

}  // namespace
}  // namespace rocelab
