#include "ovs_patches/netdev/fabric.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "ovs_patches/netdev/test_world.h"

namespace rocelab {
namespace {

constexpr Bytes kFrame =
    Bytes::from_count(14 + 20 + 8 + 12 + 1000 + 4);  // Ethernet, IPv4, UDP, BTH, payload, ICRC
const Duration kWire = wire_time(kFrame, 40_Gbps);
constexpr Duration kDelay = 2_us;

std::vector<std::uint32_t> psns(const std::vector<FakeVf::Received>& received) {
  std::vector<std::uint32_t> list;
  for (const auto& r : received) list.push_back(r.psn);
  return list;
}
std::vector<std::uint32_t> range(std::uint32_t first, std::uint32_t last) {
  std::vector<std::uint32_t> list;
  for (std::uint32_t i = first; i <= last; ++i) list.push_back(i);
  return list;
}
TEST(FabricTest, OneFrameCrossesASwitchInExactlyTwoHops) {
  TestWorld w(TestPlan::make({}));
  w.vf(0).send(at(10_us), w.host(1));
  w.run();
  ASSERT_EQ(w.vf(1).received().size(), 1u);
  EXPECT_EQ(w.vf(1).received()[0].due, at(10_us) + 2 * (kWire + kDelay));
  EXPECT_TRUE(w.vf(1).received()[0].intact);
  EXPECT_EQ(w.away(), 0u);
  EXPECT_EQ(w.vf(0).frames_at_home(), 1024u);
}

TEST(FabricTest, SwitchesInALineAddOneHopEach) {
  for (const std::uint32_t switches : {2u, 3u}) {
    TestWorld w(TestPlan::make({.switches = switches, .hosts_each = 1}));
    w.vf(0).send(at(0_us), w.host(switches - 1));
    w.run();
    ASSERT_EQ(w.vf(switches - 1).received().size(), 1u);
    EXPECT_EQ(w.vf(switches - 1).received()[0].due, at((switches + 1) * (kWire + kDelay)));
    EXPECT_EQ(w.away(), 0u);
  }
}

// Eight senders, one receiver: pauses, and every frame arrives and comes home.
TEST(FabricTest, IncastPausesAndConservesFrames) {
  TestWorld w(TestPlan::make({.hosts_each = 9, .frames_per_vf = 4096}));
  for (std::uint32_t h = 1; h < 9; ++h)
    for (int i = 0; i < 1000; ++i) w.vf(h).send(at(0_us), w.host(0));
  w.run();
  // These hosts ignore PFC: what the switch cannot hold it drops, and says so.
  const auto arrived = static_cast<std::uint64_t>(w.vf(0).data().size());
  std::uint64_t drops = 0;
  for (std::uint32_t p = 0; p < 9; ++p) drops += w.counters(p).drops;
  EXPECT_EQ(arrived + drops, 8000u);
  EXPECT_GT(drops, 0u);
  EXPECT_EQ(w.away(), 0u);
  ASSERT_FALSE(w.vf(1).received().empty());
  ASSERT_TRUE(w.vf(1).received()[0].pfc.has_value());
  EXPECT_EQ(w.vf(1).received()[0].pfc->class_enable, 1 << 3);
  EXPECT_EQ(w.vf(1).received()[0].pfc->time[3], 0xffff);
}

TEST(FabricTest, ResultDoesNotDependOnTheOrderOfPolling) {
  std::string first;
  for (const bool backwards : {false, true}) {
    TestWorld w(TestPlan::make({.switches = 3, .hosts_each = 3}));
    w.backwards = backwards;
    for (std::uint32_t h = 1; h < 9; ++h)
      for (int i = 0; i < 100; ++i) w.vf(h).send(at(0_us), w.host(i % 2 == 0 ? 0 : 8 - h));
    w.run();
    EXPECT_EQ(w.away(), 0u);
    if (first.empty()) first = w.digests();
    EXPECT_EQ(w.digests(), first);
  }
}

TEST(FabricTest, LinksLoseByListAndLossesAreTraced) {
  lockstep::SegmentPlan plan = TestPlan::make({});
  plan.world.hosts[0].to_switch.drop_list = {2};
  plan.world.hosts[0].to_switch.listed = 1;
  plan.world.ports[1].to_peer.drop_list = {3};  // third frame that gets that far
  plan.world.ports[1].to_peer.listed = 1;
  TestWorld w(plan);
  for (int i = 0; i < 5; ++i) w.vf(0).send(at(0_us), w.host(1));
  w.run();
  EXPECT_EQ(psns(w.vf(1).received()), (std::vector<std::uint32_t>{1, 3, 5}));
  EXPECT_EQ(w.segment->port_results()[0].link_in.lost_data_frames, 1u);
  EXPECT_EQ(w.segment->port_results()[1].link_out.lost_data_frames, 1u);
  EXPECT_EQ(w.away(), 0u);

  TestWorld lossless(TestPlan::make({}));
  for (int i = 0; i < 5; ++i) lossless.vf(0).send(at(0_us), lossless.host(1));
  lossless.run();
  EXPECT_NE(w.digests(), lossless.digests());
}

TEST(FabricTest, CorruptedFrameArrivesAndItsIcrcTells) {
  lockstep::SegmentPlan plan = TestPlan::make({.switches = 2, .hosts_each = 1});
  plan.world.ports[1].to_peer.corrupt_rate = 1;  // between the switches
  TestWorld w(plan);
  for (int i = 0; i < 50; ++i) w.vf(0).send(at(0_us), w.host(1));
  w.run();
  EXPECT_EQ(w.segment->port_results()[1].link_out.corrupted_frames, 50u);
  std::size_t intact = 0;
  for (const auto& r : w.vf(1).received()) intact += r.intact ? 1 : 0;
  EXPECT_EQ(intact, 0u);
  EXPECT_GT(w.vf(1).received().size(), 40u);  // a flipped UDP port or length may leave no route
  EXPECT_EQ(w.away(), 0u);
}

TEST(FabricTest, MarkIsWrittenIntoTheFrameAndLeavesItIntact) {
  lockstep::SegmentPlan plan = TestPlan::make({.hosts_each = 3});
  EcnConfig& ecn = plan.world.switches[0].config.classes[3].ecn;
  ecn = {.enabled = true, .k_min = 2_KB, .k_max = 2_KB, .p_max = 1};
  TestWorld w(plan);
  for (std::uint32_t h = 1; h < 3; ++h)
    for (int i = 0; i < 20; ++i) w.vf(h).send(at(0_us), w.host(0));
  w.run();
  std::uint64_t marked = 0;
  for (const auto& r : w.vf(0).data()) {
    EXPECT_TRUE(r.intact);
    marked += r.ecn == Ecn::kCe ? 1 : 0;
  }
  EXPECT_EQ(marked, w.counters(0).ecn_marked);
  EXPECT_GT(marked, 5u);
}

TEST(FabricTest, FloodedFrameIsCopiedPerOutput) {
  TestWorld w(TestPlan::make({.hosts_each = 4}));
  w.flood = {0, 1, 2, 3};
  w.vf(0).send(at(0_us), w.host(1));
  w.run();
  for (std::uint32_t h = 1; h < 4; ++h)
    EXPECT_EQ(psns(w.vf(h).received()), (std::vector<std::uint32_t>{1})) << "h" << h + 1;
  EXPECT_EQ(w.away(), 0u);
  EXPECT_EQ(w.counters(0).rx_frames, 1u);
}

TEST(FabricTest, FrameThatThePipelineSwallowsEndsTheRun) {
  TestWorld w(TestPlan::make({}));
  w.table_empty = true;
  w.vf(0).send(at(0_us), w.host(1));
  EXPECT_THROW(w.run(), RunError);
}

TEST(FabricTest, DropsOfThePipelineAreTriedAgainAndChangeNothing) {
  std::string first;
  for (const int swallow : {0, 3, 7}) {
    TestWorld w(TestPlan::make({.switches = 2, .hosts_each = 3}));
    w.swallow_every = swallow;
    for (std::uint32_t h = 1; h < 6; ++h)
      for (int i = 0; i < 50; ++i) w.vf(h).send(at(0_us), w.host(0));
    w.run();
    if (first.empty()) first = w.digests();
    EXPECT_EQ(w.digests(), first) << "every " << swallow;
  }
}

TEST(FabricTest, FrameToNobodyIsCountedAndDropped) {
  TestWorld w(TestPlan::make({}));
  HostEntry stranger = w.host(1);
  stranger.ipv4 = 0x0b000001;
  w.vf(0).send(at(0_us), stranger);
  w.run();
  EXPECT_EQ(w.counters(0).drops_no_route, 1u);
  EXPECT_EQ(w.away(), 0u);
}

TEST(FabricTest, NonsenseInTheRingsIsRefused) {
  TestWorld w(TestPlan::make({}));
  FakeVf& v = w.vf(0);
  const std::uint32_t mine = v.take_frame();
  std::ranges::fill(w.segment->frame(mine), std::byte{0xff});
  const std::int64_t due = (at(5_us) + kWire + kDelay).ps();
  v.send_raw({.due_ps = due, .frame = mine, .length = 100});                       // not a RoCEv2 frame
  v.send_raw({.due_ps = due, .frame = mine, .length = 100});                       // sent twice
  v.send_raw({.due_ps = due, .frame = w.segment->first_frame(1), .length = 100});  // another VF's
  v.send_raw({.due_ps = due, .frame = 0xfffffff0, .length = 100});                 // no frame at all
  v.send_raw({.due_ps = due, .frame = v.take_frame(), .length = 65535});  // longer than a frame can be
  v.send_raw(
      {.due_ps = std::int64_t{1} << 62, .frame = v.take_frame(), .length = 100});  // in a distant future
  v.send(at(1_us), w.host(1));
  w.run();
  EXPECT_EQ(w.segment->port_results()[0].link_in.malformed_frames, 6u);
  EXPECT_EQ(psns(w.vf(1).received()), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(w.away(), 0u);
}

TEST(FabricTest, RingCountersThatLieCostBoundedWork) {
  TestWorld w(TestPlan::make({}));
  w.vf(0).slot().tx.tail.store(std::uint64_t{1} << 60);
  w.vf(1).slot().returns.tail.store(std::uint64_t{1} << 60);
  w.vf(1).send(at(1_us), w.host(0));
  w.vf(0).slot().promise_ps.store(0);
  for (int i = 0; i < 20; ++i) w.step();
  EXPECT_EQ(psns(w.vf(0).received()), (std::vector<std::uint32_t>{1}));
}

TEST(FabricTest, QpnChoosesTheVirtualFunction) {
  TestWorld w(TestPlan::make({.vfs = 2}));
  w.vf(0, 0).send(at(0_us), w.host(1), 100, first_qpn_of(0) + 17);
  w.vf(0, 0).send(at(1_us), w.host(1), 100, first_qpn_of(1) + 17);
  w.vf(0, 0).send(at(2_us), w.host(1), 100, 1);  // not of anybody: the first
  w.run();
  EXPECT_EQ(psns(w.vf(1, 0).received()), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(psns(w.vf(1, 1).received()), (std::vector<std::uint32_t>{2}));
}

TEST(FabricTest, AForeignDeviceGetsWhateverItsHostGets) {
  TestWorld w(TestPlan::make({.vfs = 2}));
  w.vf(1, 0).slot().gateway.store(1);
  for (const std::uint32_t qpn : {1u, 17u, first_qpn_of(1) + 17})
    w.vf(0, 0).send(at(0_us), w.host(1), 100, qpn);
  w.run();
  EXPECT_EQ(psns(w.vf(1, 0).received()), (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_TRUE(w.vf(1, 1).received().empty());
}

TEST(FabricTest, FramesOfSeveralVirtualFunctionsNeverOverlapOnTheLink) {
  TestWorld w(TestPlan::make({.vfs = 2}));
  for (int i = 0; i < 10; ++i)
    for (std::uint32_t v : {0u, 1u}) w.vf(0, v).send(at(0_us), w.host(1));
  w.run();
  const auto received = w.vf(1).data();
  ASSERT_EQ(received.size(), 20u);
  for (std::size_t i = 0; i < received.size(); ++i)
    EXPECT_EQ(received[i].due, at(2 * (kWire + kDelay) + static_cast<std::int64_t>(i) * kWire))
        << "frame " << i;
}

// A process dies with frames in its rx ring and in the network; another one takes its place.
TEST(FabricTest, FramesOfADeadProcessComeHomeAndItsSlotIsFreed) {
  TestWorld w(TestPlan::make({}));
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  w.vf(1).slot().pid.store(static_cast<std::uint32_t>(child));
  w.vf(1).keep = true;
  for (int i = 0; i < 10; ++i) w.vf(0).send(at(0_us), w.host(1));
  w.run();
  EXPECT_EQ(w.away(), 10u);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (int i = 0; i < 200 && w.segment->vfs()[1].pid.load() != 0; ++i) {
    usleep(2000);
    w.coordinator->wait_ready(0);
    w.fabric->collect();
  }
  EXPECT_EQ(w.away(), 0u);
  EXPECT_EQ(w.segment->vfs()[1].state.load(), lockstep::VfState::kFree);
  w.vf(0).send(at(500_us), w.host(1));  // to nobody now
  w.run();
  EXPECT_EQ(w.segment->port_results()[1].link_out.undeliverable_frames, 1u);
  EXPECT_EQ(w.away(), 0u);
}

// A stopped process that time goes on without: frames kept for it would be missing at those who sent them.
TEST(FabricTest, WhatIsSentToAProcessLeftBehindIsLostAndItsFramesGoHome) {
  constexpr int kFrames = 5'000;  // more than a VF has, and than the ring holds
  TestWorld w(TestPlan::make({.vfs = 2}));
  w.vf(1).slot().excluded.store(1);
  for (int i = 0; i < kFrames; ++i) w.vf(0).send(at(0_us), w.host(1));
  w.vf(0).send(at(0_us), w.host(1), 1000, first_qpn_of(1));
  w.run();
  EXPECT_EQ(w.segment->port_results()[1].link_out.undeliverable_frames, kFrames);
  EXPECT_EQ(w.away(), 0u);
  EXPECT_TRUE(w.vf(1).data().empty());
  EXPECT_EQ(w.vf(1, 1).data_received(), 1u);  // the other process of the host
  w.vf(1).slot().excluded.store(0);           // it goes on
  w.vf(0).send(at(100_ms), w.host(1));
  w.run();
  EXPECT_EQ(w.vf(1).data_received(), 1u);
  EXPECT_EQ(w.away(), 0u);
}

TEST(FabricTest, KeepsTheOrderOfALink) {
  TestWorld w(TestPlan::make({.switches = 2, .hosts_each = 2}));
  for (int i = 0; i < 300; ++i) w.vf(0).send(at(0_us), w.host(3));
  w.run();
  EXPECT_EQ(psns(w.vf(3).data()), range(1, 300));
}

}  // namespace
}  // namespace rocelab
