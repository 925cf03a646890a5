#include "irn_provider/cc/rcp.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

struct Bench {
  void ack(std::optional<Rate> rate) {
    law.on_ack({.packets = 1,
                .una = 1,
                .next = 2,
                .path_rate = rate ? std::optional(RcpHeader::of(*rate, {})) : std::nullopt},
               Time::zero());
  }
  Rate rate() { return law.rate(Time::zero()); }
  Rcp law{{}, {10_Gbps}};
};

// The request leaves at once and alone; what comes behind it goes at the rate that the path answers.
TEST(RcpTest, OnePacketAsksAndTheOthersWaitForTheAnswer) {
  Bench b;
  EXPECT_EQ(b.law.window(), 1);
  EXPECT_EQ(b.rate(), 10_Gbps);
  b.ack(std::nullopt);
  EXPECT_EQ(b.law.window(), 1) << "an acknowledgement that brings no rate is none to go by";
  b.ack(3_Gbps);
  EXPECT_EQ(b.law.window(), kNoWindow);
  EXPECT_EQ(b.rate(), 3_Gbps);
}

TEST(RcpTest, EachAnswerIsTheRateFromThenOn) {
  Bench b;
  for (const Rate rate : {1_Gbps, 7_Gbps, 20_Mbps}) {
    b.ack(rate);
    EXPECT_EQ(b.rate(), rate);
    b.ack(std::nullopt);
    EXPECT_EQ(b.rate(), rate);
  }
}

// A peer may say anything.
TEST(RcpTest, AnswersOutsideOfTheLineAndTheFloorAreTakenAsThese) {
  Bench b;
  b.ack(400_Gbps);
  EXPECT_EQ(b.rate(), 10_Gbps);
  b.ack(Rate::from_bps(1));
  EXPECT_EQ(b.rate(), Rate::from_bps(128'000));
  Rcp slow({.min_rate = 5_Gbps}, {1_Gbps});
  slow.on_ack({.path_rate = RcpHeader{1, 0}}, Time::zero());
  EXPECT_EQ(slow.rate(Time::zero()), 1_Gbps);
}

// 1,126 B on the wire in four times 10 us.
TEST(RcpTest, AFlowAsksAgainWithinFourRoundTrips) {
  Bench b;
  b.law.on_sent(1'102_B, Time::zero());
  b.ack(Rate::from_bps(128'000));
  EXPECT_EQ(b.rate(), Rate::from_bps(128'000)) << "no round trip is known";
  b.law.on_rtt({.rtt = 9_us, .elapsed = 10_us, .sent = {}}, Time::zero());
  EXPECT_NEAR(static_cast<double>(b.rate().bps()), 1'126 * 8 / 40e-6, 1);
  b.ack(1_Gbps);
  EXPECT_EQ(b.rate(), 1_Gbps);
  b.law.on_rtt({.rtt = 40_ms, .elapsed = 40_ms, .sent = {}}, Time::zero());
  b.ack(Rate::from_bps(128'000));
  EXPECT_EQ(b.rate(), Rate::from_bps(128'000)) << "less often than that anyway";
}

// It asks for the line, and tells the round trip with the packet's own time on the wire, as a time stamp
// would.
TEST(RcpTest, DataAsksForTheLineAndTellsTheLastRoundTrip) {
  Bench b;
  EXPECT_EQ(b.law.path_request(), (RcpHeader{10'000'000, 0}));
  b.law.on_rtt({.rtt = 38_ms, .elapsed = 40_ms, .sent = {}}, Time::zero());
  EXPECT_EQ(b.law.path_request(), (RcpHeader{10'000'000, 400'000}));
  b.ack(1_Gbps);
  EXPECT_EQ(b.law.path_request().rate(), 10_Gbps);
}

TEST(RcpTest, AConnectionThatBeginsAnewAsksAnew) {
  Bench b;
  b.ack(1_Gbps);
  b.law.on_rtt({.rtt = 38_ms, .elapsed = 40_ms, .sent = {}}, Time::zero());
  b.law.start(Time::zero());
  EXPECT_EQ(b.law.window(), 1);
  EXPECT_EQ(b.rate(), 10_Gbps);
  EXPECT_EQ(b.law.path_request(), (RcpHeader{10'000'000, 0}));
}

// Rates and times beyond what 32 bits of their units hold are the most, and the least rate is one unit.
TEST(RcpTest, TheHeaderCountsInUnitsOfTheWire) {
  EXPECT_EQ(RcpHeader::of(Rate::from_bps(1'999), 199_ns), (RcpHeader{1, 1}));
  EXPECT_EQ(RcpHeader::of(Rate::from_bps(5), 99_ns), (RcpHeader{1, 0}));
  EXPECT_EQ(RcpHeader::of(10'000_Gbps, 500_s), (RcpHeader{0xffffffff, 0xffffffff}));
  EXPECT_EQ((RcpHeader{741'678, 436'000}).rate(), Rate::from_bps(741'678'000));
  EXPECT_EQ((RcpHeader{741'678, 436'000}).rtt(), 43'600_us);
}

}  // namespace
}  // namespace rocelab
