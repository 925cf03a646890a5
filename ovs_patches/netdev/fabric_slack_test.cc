// Slack in the live engine's frames: hosts write it, switches rewrite it in place, and what is none is not
// believed.
#include <gtest/gtest.h>

#include <array>

#include "base/wire/shim_parts.h"
#include "ovs_patches/netdev/test_world.h"
#include "ovs_patches/switch_model/mechanisms/slack.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kFrame = 1058 + kSlackShimBytes;  // a FakeVf's with 1000 bytes of payload

// Three switches in a line, two hosts on each; LSTF in class 3, which is lossy.
lockstep::SegmentPlan plan_of_three() {
  lockstep::SegmentPlan plan = TestPlan::make({.switches = 3, .hosts_each = 2, .frames_per_vf = 2048});
  plan.max_frame_bytes += kSlackShimBytes;
  for (HostEntry& host : plan.world.hosts) host.nic.slack.law = SlackLaw::kConstant;
  for (SwitchEntry& entry : plan.world.switches) {
    entry.config.pfc.enabled = false;
    entry.config.egress_limit = 10_MB;
    entry.config.max_frame += Bytes::from_count(kSlackShimBytes);
    entry.config.classes[3].order = QueueOrder::kRanked;
    entry.config.mechanisms.of<SlackMechanism>().enabled = true;
  }
  return plan;
}

std::vector<std::byte> shim_of(std::int64_t slack) {
  Shim shim;
  shim.part<SlackPart>() = SlackPart{{slack, slack, 0}};
  std::array<std::byte, Shim::kMaxBytes> bytes;
  const std::size_t length = shim.write(bytes);
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)};
}

// The first two hosts send so many frames each to the last, at line rate.
void send_from_both(TestWorld& w, int frames) {
  for (int i = 0; i < frames; ++i)
    for (const std::uint32_t vf : {0u, 1u}) w.vf(vf).send(at(0_us), w.host(5));
  w.run();
}

// Two hosts that send at line rate to a third: what each frame has waited stands in it. The urgent one's
// frames go first, though both ports get theirs at one time.
TEST(FabricSlackTest, SwitchesTakeTheWaitingOffAndServeTheLeastSlackFirst) {
  TestWorld w(plan_of_three());
  constexpr std::int64_t kUrgent = 1'000'000, kPatient = 1'000'000'000;
  w.vf(0).shim = shim_of(kUrgent);
  w.vf(1).shim = shim_of(kPatient);
  send_from_both(w, 100);
  const auto received = w.vf(5).data();
  ASSERT_EQ(received.size(), 200u);
  std::int64_t urgent_waited = 0, patient_waited = 0;
  for (const FakeVf::Received& r : received) {
    EXPECT_TRUE(r.intact) << "behind the shim it is as it was sent";
    EXPECT_EQ(r.length, kFrame);
    ASSERT_TRUE(r.slack);
    EXPECT_EQ(r.slack->waits > 0, r.slack->used() > Duration{});
    (r.slack->initial == kUrgent ? urgent_waited : patient_waited) += r.slack->used().ps();
  }
  // At s1 the two share one link; an urgent frame waits for one that has begun, at the most.
  EXPECT_GT(patient_waited, 50 * urgent_waited);
  EXPECT_LE(urgent_waited, 100 * wire_time(Bytes::from_count(kFrame), 40_Gbps).ps());
  std::uint64_t waited = 0;
  for (std::uint32_t p = 0; p < w.segment->ports().size(); ++p) {
    const auto names = mechanism_counter_names();
    const auto place =
        static_cast<std::size_t>(std::ranges::find(names, std::string_view("slack_waited"),
                                                   [](const auto& n) { return std::string_view(n); }) -
                                 names.begin());
    waited += w.counters(p).of_mechanisms[place];
  }
  EXPECT_GT(waited, 90u);
  EXPECT_EQ(w.away(), 0u);
}

// A shim that is none stays as it is, and its frame is ranked as one without: the receiving NIC refuses it.
TEST(FabricSlackTest, WhatNoNicWritesIsForwardedUntouched) {
  std::vector<std::byte> beyond = shim_of(0);
  beyond[ShimHeader::kSize] = std::byte{0x7f};
  std::vector<std::byte> twice = shim_of(5);
  twice.insert(twice.end(), twice.begin(), twice.end());
  std::vector<std::byte> unknown(ShimHeader::kSize);
  ShimHeader{9, 0, 7}.write(std::span(unknown).first<ShimHeader::kSize>());
  for (const auto& bad : {beyond, twice, unknown}) {
    TestWorld w(plan_of_three());
    w.vf(0).shim = bad;
    w.vf(1).shim = shim_of(1'000'000);
    send_from_both(w, 20);
    const auto received = w.vf(5).data();
    ASSERT_EQ(received.size(), 40u);
    EXPECT_EQ(std::ranges::count_if(received, [](const auto& r) { return r.slack && r.intact; }), 20);
    EXPECT_EQ(std::ranges::count_if(received, [](const auto& r) { return !r.intact; }), 20);
    EXPECT_EQ(w.away(), 0u);
  }
}

// The same with room for the times of three switches.
lockstep::SegmentPlan plan_with_times(SlackLaw law) {
  lockstep::SegmentPlan plan = plan_of_three();
  plan.max_frame_bytes += HopTimesPart::bytes_for(3);
  for (HostEntry& host : plan.world.hosts) host.nic.slack.law = law, host.nic.slack.switches = 3;
  for (SwitchEntry& entry : plan.world.switches)
    entry.config.max_frame += Bytes::from_count(HopTimesPart::bytes_for(3));
  return plan;
}
std::vector<std::byte> shim_of(std::int64_t slack, const HopTimes& times) {
  Shim shim;
  shim.part<SlackPart>() = SlackPart{{slack, slack, 0}};
  shim.part<HopTimesPart>() = HopTimesPart{times};
  std::array<std::byte, Shim::kMaxBytes> bytes;
  const std::size_t length = shim.write(bytes);
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)};
}

TEST(FabricSlackTest, FramesCollectTheTimesAtWhichSwitchesSendThem) {
  TestWorld w(plan_with_times(SlackLaw::kConstant));
  for (const std::uint32_t vf : {0u, 1u}) w.vf(vf).shim = shim_of(1'000'000, HopTimes::room_for(3));
  send_from_both(w, 20);
  const auto received = w.vf(5).data();
  ASSERT_EQ(received.size(), 40u);
  for (const FakeVf::Received& r : received) {
    ASSERT_TRUE(r.intact && r.hop_times);
    EXPECT_FALSE(r.hop_times->schedule);
    EXPECT_EQ(r.hop_times->next, 3u);
    const Duration hop = wire_time(Bytes::from_count(r.length), 40_Gbps) + 2_us;  // and what it waits
    EXPECT_GE(r.hop_times->ps[1] - r.hop_times->ps[0], hop.ps());
    EXPECT_GE(r.hop_times->ps[2] - r.hop_times->ps[1], hop.ps());
    EXPECT_EQ(r.due - Time::from_ps(r.hop_times->ps[2]), hop);
  }
}

// Two hosts send at line rate to a third; the one whose frames are earlier in the original goes first, though
// the other's have less slack.
TEST(FabricSlackTest, AScheduleDecidesWhoGoesFirst) {
  TestWorld w(plan_with_times(SlackLaw::kOmniscient));
  const std::int64_t early[] = {1, 1, 1}, late[] = {2, 2, 2};
  w.vf(0).shim = shim_of(1'000'000'000, HopTimes::scheduled(early));
  w.vf(1).shim = shim_of(1'000'000, HopTimes::scheduled(late));
  send_from_both(w, 100);
  const auto received = w.vf(5).data();
  ASSERT_EQ(received.size(), 200u);
  std::int64_t early_waited = 0, late_waited = 0;
  for (const FakeVf::Received& r : received) {
    ASSERT_TRUE(r.hop_times && r.slack);
    EXPECT_EQ(r.hop_times->next, 3u);
    EXPECT_TRUE(
        std::ranges::equal(std::span(r.hop_times->ps).first(3), r.hop_times->ps[0] == 1 ? early : late));
    (r.hop_times->ps[0] == 1 ? early_waited : late_waited) += r.slack->used().ps();
  }
  EXPECT_GT(late_waited, 50 * early_waited);
}

// No NIC of the run writes these: a schedule without the law, a place on the way, room for other paths.
TEST(FabricSlackTest, ForgedTimesAreCountedAndDropped) {
  const std::int64_t early[] = {1, 1, 1};
  HopTimes on_its_way = HopTimes::room_for(3);
  on_its_way.leaves(Time::from_ps(5));
  for (const HopTimes& forged :
       {HopTimes::scheduled(early), on_its_way, HopTimes::room_for(2), HopTimes::room_for(4)}) {
    TestWorld w(plan_with_times(SlackLaw::kConstant));
    w.vf(0).shim = shim_of(0, forged);
    w.vf(1).shim = shim_of(1'000'000, HopTimes::room_for(3));
    send_from_both(w, 20);
    EXPECT_EQ(w.vf(5).data().size(), 20u);
    std::uint64_t malformed = 0;
    for (const PortResult& port : w.segment->port_results()) malformed += port.link_in.malformed_frames;
    EXPECT_EQ(malformed, 20u);
    EXPECT_EQ(w.away(), 0u);
  }
}

// A bit that a link flips may lie in the shim: the frame is as long as before, and nothing is lost.
TEST(FabricSlackTest, DamagedFramesKeepTheirLength) {
  lockstep::SegmentPlan plan = plan_of_three();
  for (PortEntry& port : plan.world.ports)
    if (port.config.peer == PeerKind::kSwitch) port.to_peer.corrupt_rate = 1;
  TestWorld w(plan);
  w.vf(0).shim = shim_of(1'000'000);
  for (std::uint32_t i = 0; i < 300; ++i) w.vf(0).send(at(0_us), w.host(2), 4);
  w.run();
  EXPECT_GT(w.vf(2).data().size(), 200u) << "the others are for nobody any more";
  for (const FakeVf::Received& r : w.vf(2).data()) EXPECT_EQ(r.length, 62u + kSlackShimBytes);
  EXPECT_EQ(w.away(), 0u);
}

}  // namespace
}  // namespace rocelab
