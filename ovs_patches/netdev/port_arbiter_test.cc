#include "ovs_patches/netdev/port_arbiter.h"

#include <gtest/gtest.h>

#include <string>

namespace rocelab {
namespace {

constexpr Time at(Duration d) { return Time::zero() + d; }

// Runs the arbiter over whole queues and prints who left when, in ns.
std::string run(PortArbiter& arbiter, std::vector<std::deque<PortArbiter::Request>> queues) {
  std::string log;
  for (;;) {
    for (std::size_t i = 0; i < queues.size(); ++i)
      arbiter.set_head(i, queues[i].empty() ? std::nullopt : std::optional(queues[i].front()));
    const auto choice = arbiter.choose();
    if (!choice) return log;
    arbiter.commit(*choice);
    queues[choice->sender].pop_front();
    log += std::string(1, static_cast<char>('A' + choice->sender)) +
           std::to_string(choice->start.ps() / 1000) + " ";
  }
}

constexpr Tc kData{3};
PortArbiter::Request frame(Duration start, Tc tc = kData) { return {at(start), 100_ns, tc}; }
PfcFrame xoff(std::uint16_t quanta) {
  PfcFrame pfc;
  pfc.class_enable = 1 << 3;
  pfc.time[3] = quanta;
  return pfc;
}

TEST(PortArbiterTest, OneSenderKeepsItsTimesEvenUnderPause) {
  PortArbiter arbiter(2, 40_Gbps);
  arbiter.on_pfc(xoff(0xffff), at(50_ns));  // its own NIC has obeyed; the arbiter must not judge again
  EXPECT_EQ(run(arbiter, {{frame(0_ns), frame(100_ns), frame(350_ns)}, {}}), "A0 A100 A350 ");
}

TEST(PortArbiterTest, TwoGreedySendersTakeTurns) {
  PortArbiter arbiter(2, 40_Gbps);
  EXPECT_EQ(run(arbiter,
                {{frame(0_ns), frame(100_ns), frame(200_ns)}, {frame(10_ns), frame(110_ns), frame(210_ns)}}),
            "A0 B100 A200 B300 A400 B500 ");
}

TEST(PortArbiterTest, PortIsNeverFasterThanItsRate) {
  PortArbiter arbiter(3, 40_Gbps);
  EXPECT_EQ(run(arbiter, {{frame(0_ns)}, {frame(0_ns)}, {frame(0_ns), frame(1000_ns)}}),
            "B0 C100 A200 C1000 ");
}

TEST(PortArbiterTest, FrameThatWaitedObeysAPauseThatArrivedMeanwhile) {
  PortArbiter arbiter(2, 40_Gbps);
  arbiter.on_pfc(xoff(100), at(60_ns));  // 100 quanta at 40 Gb/s: 1280 ns
  EXPECT_EQ(run(arbiter, {{frame(0_ns)}, {frame(10_ns)}}), "A0 B1340 ");
}

TEST(PortArbiterTest, XonEndsTheWait) {
  PortArbiter arbiter(2, 40_Gbps);
  arbiter.on_pfc(xoff(100), at(60_ns));
  arbiter.on_pfc(xoff(0), at(500_ns));
  EXPECT_EQ(run(arbiter, {{frame(0_ns)}, {frame(10_ns)}}), "A0 B500 ");
}

TEST(PortArbiterTest, AnotherClassPassesThePausedOne) {
  PortArbiter arbiter(2, 40_Gbps);
  arbiter.on_pfc(xoff(100), at(60_ns));
  EXPECT_EQ(run(arbiter, {{frame(0_ns), frame(105_ns, Tc{6})}, {frame(10_ns)}}), "A0 A105 B1340 ");
}

}  // namespace
}  // namespace rocelab
