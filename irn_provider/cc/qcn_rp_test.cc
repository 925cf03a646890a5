#include "irn_provider/cc/qcn_rp.h"

#include <gtest/gtest.h>

#include "base/wire/controls.h"

namespace rocelab {
namespace {

constexpr Time at(Duration d) { return Time::zero() + d; }

QcnRpParams exact() { return {.jitter = 0}; }
QcnRp make(const QcnRpParams& params = exact(), Rate line = 10_Gbps) { return QcnRp(params, {line}); }

FeedbackResult cnm(QcnRp& rp, int feedback, Time now, std::uint32_t cp = kCpNetwork + 1) {
  Cnm said;
  said.cp = cp;
  said.feedback = static_cast<std::uint8_t>(feedback);
  said.q_offset = 10;
  Packet packet;
  put_control(packet, said);
  return rp.on_feedback(packet, now);
}

TEST(QcnRpTest, ACnmTakes128thsOfTheRate) {
  QcnRp rp = make();
  const FeedbackResult result = cnm(rp, 32, at(0_us));
  EXPECT_TRUE(result.accepted);
  EXPECT_EQ(result.rate, 7'500_Mbps);
  EXPECT_EQ(result.queue, 640u);
  EXPECT_EQ(rp.rate(at(0_us)), 7'500_Mbps);
  EXPECT_EQ(rp.target(), 10_Gbps);
}

TEST(QcnRpTest, OneCnmTakesAtMostHalfWhateverTheGain) {
  QcnRpParams params = exact();
  params.gain = 1.0 / 64;
  QcnRp rp = make(params);
  cnm(rp, 63, at(0_us));
  EXPECT_EQ(rp.rate(at(0_us)), 5_Gbps);
}

// The way back is to where the rate was before the row.
TEST(QcnRpTest, OfCnmsInARowOnlyTheFirstMovesTheTarget) {
  QcnRp rp = make();
  cnm(rp, 32, at(0_us));
  cnm(rp, 32, at(1_us));
  EXPECT_EQ(rp.rate(at(1_us)), 5'625_Mbps);
  EXPECT_EQ(rp.target(), 10_Gbps);
  EXPECT_EQ(rp.next_change(), at(1_us + 15_ms)) << "the stages begin anew";
  EXPECT_EQ(rp.rate(at(1_us + 15_ms) - 1_ps), 5'625_Mbps);
  EXPECT_EQ(rp.rate(at(1_us + 15_ms)), Rate::from_bps(7'812'500'000));
  cnm(rp, 32, at(20_ms));
  EXPECT_EQ(rp.target(), Rate::from_bps(7'812'500'000)) << "a stage has come between";
}

TEST(QcnRpTest, BytesMakeStagesOfTheirOwn) {
  QcnRp rp = make();
  cnm(rp, 32, at(0_us));
  rp.on_sent(149'999_B, at(1_us));
  EXPECT_EQ(rp.rate(at(1_us)), 7'500_Mbps);
  rp.on_sent(1_B, at(2_us));
  EXPECT_EQ(rp.rate(at(2_us)), 8'750_Mbps);
}

TEST(QcnRpTest, TheRateNeverFallsBelowItsFloor) {
  QcnRp rp = make();
  for (int i = 0; i < 100; ++i) cnm(rp, 63, at(1_us * i));
  EXPECT_EQ(rp.rate(at(100_us)), 10_Mbps);
}

TEST(QcnRpTest, BytesAndRatesGrowWithTheLinkAndTimesDoNot) {
  QcnRpParams params = exact();
  params.scale_from = 10_Gbps;
  QcnRp rp = make(params, 40_Gbps);
  for (int i = 0; i < 100; ++i) cnm(rp, 63, at(0_us));
  EXPECT_EQ(rp.rate(at(0_us)), 40_Mbps);
  EXPECT_EQ(rp.next_change(), at(15_ms));
  rp.on_sent(599'999_B, at(1_us));
  EXPECT_EQ(rp.rate(at(1_us)), 40_Mbps);
  rp.on_sent(1_B, at(1_us));
  EXPECT_GT(rp.rate(at(1_us)), 40_Mbps);
}

TEST(QcnRpTest, StreamsOfQueuePairsDiffer) {
  QcnRp one = make({}), other = make({}), same = make({});
  one.seed(Rng(1)), other.seed(Rng(2)), same.seed(Rng(1));
  for (QcnRp* rp : {&one, &other, &same}) cnm(*rp, 32, at(0_us));
  EXPECT_NE(one.next_change(), other.next_change());
  EXPECT_EQ(one.next_change(), same.next_change());
}

TEST(QcnRpTest, FeedbackThatCannotBeRightIsRefused) {
  QcnRp rp = make();
  EXPECT_FALSE(cnm(rp, 0, at(0_us)).accepted) << "a congestion point says nothing then";
  EXPECT_FALSE(cnm(rp, 32, at(0_us), 0x0a000001).accepted);
  Packet packet;
  put_control(packet, P4qcnFbp{kCpNetwork + 1, 12, Qpn{1}});
  EXPECT_FALSE(rp.on_feedback(packet, at(0_us)).accepted);
  EXPECT_EQ(rp.rate(at(0_us)), 10_Gbps);
}

}  // namespace
}  // namespace rocelab
