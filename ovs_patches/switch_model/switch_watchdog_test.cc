// The PFC watchdog: what is a storm, what happens to its queue, and when it is over. And how long pauses
// were.
#include "ovs_patches/switch_model/mechanisms/watchdog.h"
#include "ovs_patches/switch_model/pfc_watchdog.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

constexpr Bytes kFrame = 1098_B;
constexpr std::uint16_t kLong = 0xffff;  // 839 us at 40 Gb/s
constexpr Duration kTick = Duration::from_ps(1);

SwitchConfig config_with(WatchdogAction action, Duration period = 200_us) {
  SwitchConfig config;
  config.max_frame = kFrame;
  config.mechanisms.of<WatchdogMechanism>() = {period, action};
  return config;
}
Bench bench_with(WatchdogAction action) { return Bench(config_with(action), std::vector<PortConfig>(3)); }

TEST(PfcWatchdogTest, AStormBeginsOnePeriodAfterThePauseAndOnlyWithFramesWaiting) {
  PfcWatchdog w(100_us);
  EXPECT_TRUE(w.next_timeout().is_never());
  w.on_paused(bit_of(tc(3)) | bit_of(tc(4)), at(10_us));
  EXPECT_EQ(w.next_timeout(), at(110_us));
  EXPECT_EQ(w.on_timeout(at(110_us) - kTick, 0xff), 0);
  EXPECT_EQ(w.on_timeout(at(110_us), bit_of(tc(3))), bit_of(tc(3)));
  EXPECT_EQ(w.next_timeout(), at(210_us)) << "class 4 holds nobody up: it is looked at again";
  EXPECT_EQ(w.on_timeout(at(210_us), 0xff), bit_of(tc(4))) << "class 3 is in a storm already";
  EXPECT_EQ(w.storming(), bit_of(tc(3)) | bit_of(tc(4)));
  w.on_resumed(bit_of(tc(3)));
  EXPECT_EQ(w.storming(), bit_of(tc(4)));
  w.on_resumed(bit_of(tc(4)));
  EXPECT_TRUE(w.next_timeout().is_never());
}

TEST(SwitchWatchdogTest, AStormIsCountedAndTracedAndReportingChangesNothing) {
  Bench b = bench_with(WatchdogAction::kReport);
  b.send_pfc(2, at(1_us), 3, kLong);
  for (int i = 0; i < 20; ++i) b.send(0, 2, at(2_us + i * 1_us), kFrame);
  b.run_until(at(201_us));
  EXPECT_EQ(b.counters(2).pfc_storms, 0u);
  b.run_until(at(201_us) + kTick);
  EXPECT_EQ(b.counters(2).pfc_storms, 1u);
  const TraceRecord& storm = b.trace.only(TraceKind::kStorm);
  EXPECT_EQ(storm.time, at(201_us));
  EXPECT_EQ(storm.port, 2);
  EXPECT_EQ(storm.mark, 3);
  EXPECT_EQ(storm.bytes, 20u * 1098);
  b.run();
  EXPECT_EQ(b.counters(2).tx_frames, 20u) << "when the pause has run out";
  EXPECT_EQ(b.counters(2).drops + b.counters(0).drops, 0u);
  EXPECT_EQ(b.counters(2).pfc_storms, 1u);
}

TEST(SwitchWatchdogTest, AShorterPauseOrAnEmptyQueueIsNoStorm) {
  Bench b = bench_with(WatchdogAction::kDrop);
  b.send_pfc(2, at(1_us), 3, kLong);
  b.send(0, 2, at(2_us), kFrame);
  b.send_pfc(2, at(200_us), 3, 0);
  b.send_pfc(1, at(1_us), 3, kLong);  // nothing waits there
  b.run();
  EXPECT_EQ(b.counters(2).pfc_storms + b.counters(1).pfc_storms, 0u);
  EXPECT_EQ(b.counters(2).tx_frames, 1u);
  EXPECT_EQ(b.trace.count(TraceKind::kStorm), 0);
}

TEST(SwitchWatchdogTest, DroppingEmptiesTheQueueAndFreesItsIngressPorts) {
  Bench b = bench_with(WatchdogAction::kDrop);
  b.send_pfc(2, at(1_us), 3, kLong);
  for (int i = 0; i < 210; ++i) b.send(0, 2, at(2_us) + i * wire_time(kFrame, 40_Gbps), kFrame);
  b.run_until(at(200_us));
  ASSERT_TRUE(b.node.model().is_pausing(port(0), tc(3))) << "the pause has propagated";
  ASSERT_GT(b.node.model().ingress_bytes(port(0), tc(3)), 0_B);
  b.run_until(at(202_us));
  EXPECT_EQ(b.node.model().ingress_bytes(port(0), tc(3)), 0_B);
  EXPECT_FALSE(b.node.model().is_pausing(port(0), tc(3)));
  EXPECT_EQ(b.node.model().queue_bytes(port(2), tc(3)), 0_B);
  const std::uint64_t stored = b.counters(2).drops_watchdog;
  EXPECT_GT(stored, 100u);
  EXPECT_EQ(b.counters(2).drops, stored);
  b.send(1, 2, at(300_us), kFrame);  // what comes during the storm
  b.send(1, 0, at(300_us), kFrame);  // other queues are not concerned
  b.send_pfc(2, at(400_us), 3, 0);   // and it is over with the pause
  b.send(1, 2, at(500_us), kFrame);
  b.run();
  EXPECT_EQ(b.counters(2).drops_watchdog, stored + 1);
  EXPECT_EQ(b.counters(2).tx_frames, 1u);
  EXPECT_EQ(b.counters(0).tx_frames, 1u);
  EXPECT_EQ(b.node.model().queued_frames(), 0u);
}

TEST(SwitchWatchdogTest, FramesOfTheirOwnersComeBack) {
  CountingOwner owner;
  Bench b(config_with(WatchdogAction::kDrop), std::vector<PortConfig>(3), &owner);
  b.send_pfc(2, at(1_us), 3, kLong);
  for (std::uint32_t slot = 0; slot < 10; ++slot) {
    PacketRef packet = make_packet(b.pool, kFrame);
    packet->frame_slot = slot;
    ++owner.references[slot];
    const PortId outs[] = {port(2)};
    b.node.deliver(port(0), outs, std::move(packet), at(2_us + slot * 1_us));
  }
  b.run_until(at(300_us));
  for (const auto& [slot, references] : owner.references) EXPECT_EQ(references, 0) << slot;
  EXPECT_EQ(b.pool.in_use(), 0u);
}

TEST(SwitchWatchdogTest, TheLongestPauseIsKeptBesideTheirSum) {
  Bench b = bench_with(WatchdogAction::kReport);
  for (const auto& [from, until] : {std::pair{10_us, 30_us}, {100_us, 150_us}, {200_us, 210_us}}) {
    b.send_pfc(2, at(from), 3, kLong);
    b.send_pfc(2, at(until), 3, 0);
  }
  b.run();
  EXPECT_EQ(b.counters(2).paused_ps[3], static_cast<std::uint64_t>((80_us).ps()));
  EXPECT_EQ(b.counters(2).longest_pause_ps[3], static_cast<std::uint64_t>((50_us).ps()));
  b.send_pfc(2, at(300_us), 3, kLong);
  b.run_until(at(400_us));
  EXPECT_EQ(b.node.model().counters(port(2), at(400_us)).longest_pause_ps[3],
            static_cast<std::uint64_t>((100_us).ps()))
      << "the present one counts";
}

TEST(SwitchWatchdogTest, ANegativePeriodIsNamed) {
  const std::vector<PortConfig> ports(1);
  EXPECT_EQ(problem_of(config_with(WatchdogAction::kDrop, Duration::from_ps(-1)), ports),
            "switch.pfc.watchdog.period is out of bounds");
}

}  // namespace
}  // namespace rocelab
