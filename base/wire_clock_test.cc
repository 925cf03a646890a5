#include "base/wire_clock.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

TEST(WireClockTest, AgreesWithWireTimeAtWholeAndOddRates) {
  for (const Rate rate : {10_Gbps, 25_Gbps, 40_Gbps, 100_Gbps, 400_Gbps, 33_Gbps, 7_Mbps, 12'345'678_bps}) {
    const WireClock clock(rate);
    for (const Bytes frame : {60_B, 61_B, 1098_B, 9216_B})
      EXPECT_EQ(clock.wire_time(frame), wire_time(frame, rate));
  }
}

}  // namespace
}  // namespace rocelab
