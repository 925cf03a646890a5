#include "irn_provider/cc/segment_clock.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

constexpr Time at(Duration d) { return Time::zero() + d; }

// Two packets of 1,250 wire bytes at 40 Gb/s take 500 ns; acknowledged 10.5 us after the first one left.
TEST(SegmentClockTest, TheSampleLeavesTheSerialisationOut) {
  SegmentClock clock;
  clock.on_sent(100, 1250_B, 1250_B, false, at(1_us));
  clock.on_sent(101, 1250_B, 2500_B, true, at(1'250_ns));
  EXPECT_FALSE(clock.take(101, 2500_B, 40_Gbps, 40_Gbps, at(9_us)))
      << "its last packet is not acknowledged yet";
  const auto sample = clock.take(102, 5000_B, 40_Gbps, 40_Gbps, at(11'500_ns));
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->rtt, 10_us);
  EXPECT_EQ(sample->elapsed, 10'500_ns);
  EXPECT_EQ(sample->sent, 5000_B);
  EXPECT_FALSE(clock.take(102, 5000_B, 40_Gbps, 40_Gbps, at(11'500_ns)));
}

// The same at 4 Gb/s inside the segment: its second packet begins 2.5 us after the first and takes 250 ns, so
// that the segment is 2.75 us long and not the 5 us of both packets at that rate.
TEST(SegmentClockTest, OfAPacedSegmentTheLastPacketTakesTheLinesTime) {
  SegmentClock clock;
  clock.on_sent(100, 1250_B, 1250_B, false, at(1_us));
  clock.on_sent(101, 1250_B, 2500_B, true, at(3'500_ns));
  const auto sample = clock.take(102, 2500_B, 4_Gbps, 40_Gbps, at(7'750_ns));
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->rtt, 4_us);
  EXPECT_EQ(sample->elapsed, 6'750_ns);
}

TEST(SegmentClockTest, ASegmentWithAResentPacketGivesNoSample) {
  SegmentClock clock;
  clock.on_sent(0, 1250_B, 1250_B, true, at(0_us));
  clock.on_sent(1, 1250_B, 2500_B, true, at(1_us));
  clock.on_resent(0);
  const auto sample = clock.take(2, 2500_B, 40_Gbps, 40_Gbps, at(5_us));
  ASSERT_TRUE(sample) << "the second one is clean";
  EXPECT_EQ(sample->elapsed, 4_us);
}

TEST(SegmentClockTest, AnOpenSegmentIsNotComplete) {
  SegmentClock clock;
  clock.on_sent(0, 1250_B, 1250_B, false, at(0_us));
  EXPECT_FALSE(clock.take(1, 1250_B, 40_Gbps, 40_Gbps, at(5_us)));
}

}  // namespace
}  // namespace rocelab
