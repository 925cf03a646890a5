#include "irn_provider/cc/pacer.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

constexpr Time at(Duration d) { return Time::zero() + d; }

TEST(PacerTest, SpacesPacketsByTheirBytesAtTheRate) {
  Pacer pacer(40_Gbps, false);
  EXPECT_LE(pacer.not_before(10_Gbps, at(1_us)), at(1_us));
  pacer.on_sent(1250_B, true, 10_Gbps, 40_Gbps, at(1_us));
  EXPECT_EQ(pacer.not_before(10_Gbps, at(1_us)), at(2_us));  // 10,000 bits at 10 Gb/s
}

TEST(PacerTest, HoldsNothingBackAtLineRate) {
  Pacer pacer(40_Gbps, false);
  pacer.on_sent(1250_B, true, 40_Gbps, 40_Gbps, at(1_us));
  EXPECT_LE(pacer.not_before(40_Gbps, at(1_us)), at(1_us));
}

TEST(PacerTest, AHeldFlowSendsNothingUntilItIsReleased) {
  Pacer pacer(40_Gbps, false);
  pacer.hold(true, 40_Gbps);
  EXPECT_TRUE(pacer.not_before(40_Gbps, at(1_us)).is_never()) << "before its first packet";
  pacer.hold(false, 40_Gbps);
  EXPECT_LE(pacer.not_before(40_Gbps, at(1_us)), at(1_us));
  pacer.on_sent(1250_B, true, 40_Gbps, 40_Gbps, at(1_us));
  pacer.hold(true, 40_Gbps);
  EXPECT_TRUE(pacer.not_before(40_Gbps, at(2_us)).is_never());
  pacer.hold(false, 40_Gbps);
  EXPECT_LE(pacer.not_before(40_Gbps, at(3_us)), at(3_us));
}

TEST(PacerTest, ABurstIsSpacedFromItsStartByAllItsBytes) {
  Pacer pacer(40_Gbps, true);
  pacer.on_sent(1250_B, false, 10_Gbps, 40_Gbps, at(1_us));
  EXPECT_LE(pacer.not_before(10_Gbps, at(1_us)), at(1_us)) << "inside a burst";
  pacer.on_sent(1250_B, true, 10_Gbps, 40_Gbps, at(1'250_ns));
  EXPECT_EQ(pacer.not_before(10_Gbps, at(1'250_ns)), at(3_us));
}

TEST(PacerTest, PacketsOfABurstAreSpacedByTheBurstRate) {
  Pacer pacer(40_Gbps, true);
  pacer.on_sent(1250_B, false, 10_Gbps, 20_Gbps, at(1_us));
  EXPECT_EQ(pacer.not_before(10_Gbps, at(1_us)), at(1'500_ns));
}

TEST(PacerTest, LazyLooksAtTheRateOnlyAtTheSendTimeAndOnlyDownwards) {
  Pacer pacer(40_Gbps, true);
  pacer.on_sent(1250_B, true, 10_Gbps, 40_Gbps, at(0_us));
  EXPECT_EQ(pacer.not_before(20_Gbps, at(400_ns)), at(1_us)) << "a rise does not bring it forward";
  EXPECT_EQ(pacer.not_before(5_Gbps, at(900_ns)), at(1_us)) << "not looked at before the send time";
  EXPECT_EQ(pacer.not_before(5_Gbps, at(1_us)), at(2_us)) << "the rate has fallen: later";
  EXPECT_EQ(pacer.not_before(20_Gbps, at(2_us)), at(2_us));
}

TEST(PacerTest, AHardwareLimiterFollowsTheRateWhileItWaits) {
  Pacer pacer(40_Gbps, false);
  pacer.on_sent(1250_B, true, 10_Gbps, 40_Gbps, at(0_us));
  EXPECT_EQ(pacer.not_before(20_Gbps, at(100_ns)), at(500_ns));
  EXPECT_EQ(pacer.not_before(5_Gbps, at(200_ns)), at(2_us));
}

}  // namespace
}  // namespace rocelab
