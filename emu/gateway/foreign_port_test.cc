#include "emu/gateway/foreign_port.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

constexpr Time at(Duration d) { return Time::zero() + d; }
constexpr Tc kData{3}, kCnp{6};

// 8 Gb/s: a byte takes 1 ns. A frame of 1000 bytes with FCS, preamble and gap: 1024 ns.
class ForeignPortTest : public ::testing::Test {
 protected:
  void pause(Tc tc, std::uint16_t quanta, Time now) {
    PfcFrame pfc;
    pfc.class_enable = static_cast<std::uint8_t>(1 << tc.value);
    pfc.time[tc.value] = quanta;
    port.on_pfc(pfc, now);
  }
  NicCounters counters;
  ForeignPort port{8_Gbps, 2_us, counters};
};

TEST_F(ForeignPortTest, FramesLeaveBackToBackAtTheLinksRate) {
  port.push(7, 1000, kData, at(5_us));
  port.push(8, 1000, kData, at(5_us));
  EXPECT_EQ(port.next_departure(), at(5_us));
  const auto first = port.depart(at(1_ms));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->frame, 7u);
  EXPECT_EQ(first->due, at(5_us + 1024_ns + 2_us));
  const auto second = port.depart(at(1_ms));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->due, first->due + 1024_ns);
  EXPECT_EQ(port.next_departure(), Time::never());
}

TEST_F(ForeignPortTest, NothingLeavesAtTheLimitOrLater) {
  port.push(1, 60, kData, at(5_us));
  EXPECT_FALSE(port.depart(at(5_us)));
  EXPECT_TRUE(port.depart(at(5_us + 1_ps)));
}

TEST_F(ForeignPortTest, APausedClassWaitsAndOthersPassItBy) {
  pause(kData, 100, at(0_us));  // 100 x 512 bit times at 8 Gb/s: 6.4 us
  port.push(1, 1000, kData, at(1_us));
  port.push(2, 60, kCnp, at(2_us));
  EXPECT_EQ(counters.rx_prio3_pause, 1u);
  EXPECT_EQ(port.depart(at(1_ms))->frame, 2u);
  EXPECT_EQ(port.next_departure(), at(6400_ns));
  EXPECT_EQ(port.depart(at(1_ms))->frame, 1u);
}

TEST_F(ForeignPortTest, XonLetsItGoAtOnce) {
  pause(kData, 0xffff, at(0_us));
  port.push(1, 1000, kData, at(1_us));
  pause(kData, 0, at(3_us));
  EXPECT_EQ(counters.rx_pause_duration_ns, 3000u);
  EXPECT_LE(port.next_departure(), at(3_us));
}

TEST_F(ForeignPortTest, ARefreshProlongsThePause) {
  pause(kData, 100, at(0_us));
  port.push(1, 1000, kData, at(1_us));
  EXPECT_EQ(port.next_departure(), at(6400_ns));
  pause(kData, 100, at(5_us));
  EXPECT_EQ(port.next_departure(), at(11400_ns));
}

TEST_F(ForeignPortTest, WhatCameFirstLeavesFirstWhenBothWaitForThePort) {
  port.push(1, 1000, kCnp, at(0_us));
  port.push(2, 1000, kData, at(100_ns));
  port.push(3, 1000, kCnp, at(200_ns));
  for (const std::uint32_t expected : {1u, 2u, 3u}) EXPECT_EQ(port.depart(at(1_ms))->frame, expected);
}

}  // namespace
}  // namespace rocelab
