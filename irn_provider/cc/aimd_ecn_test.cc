#include "irn_provider/cc/aimd_ecn.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rocelab {
namespace {

// A sender that keeps its window full; every packet is acknowledged alone.
struct Bench {
  explicit Bench(const AimdParams& params) : aimd(params, {1_Gbps, 1024, 0}) { fill(); }
  void fill() { next = std::max(next, una + aimd.window()); }
  void ack(int count, bool marked = false) {
    for (int i = 0; i < count; ++i) {
      ++una;
      aimd.on_ack({1, marked, una, next}, Time::zero());
      fill();
    }
  }
  AimdEcn aimd;
  UnwrappedPsn una = 0, next = 0;
};

TEST(AimdEcnTest, TheMarksOfAWindowHalveItOnce) {
  Bench b({.initial_window = 20});
  b.ack(1, true);
  EXPECT_EQ(b.aimd.window(), 10);
  b.ack(19, true);
  EXPECT_EQ(b.aimd.window(), 10) << "of packets that were out when the first mark was answered";
  b.ack(1, true);
  EXPECT_EQ(b.aimd.window(), 5);
}

TEST(AimdEcnTest, WithoutMarksItIsAimd) {
  const AimdParams params{.initial_window = 4, .slow_start = true};
  Bench b(params);
  Aimd plain(params, {1_Gbps, 1024, 0});
  UnwrappedPsn una = 0, next = plain.window();
  for (int i = 0; i < 50; ++i) {
    b.ack(1);
    plain.on_ack({1, false, ++una, next}, Time::zero());
    next = std::max(next, una + plain.window());
    ASSERT_EQ(b.aimd.window(), plain.window());
  }
  b.aimd.on_loss(CcLoss::kTimeout, Time::zero());
  EXPECT_EQ(b.aimd.window(), 1) << "slow start begins again";
}

TEST(AimdEcnTest, AMarkEndsSlowStart) {
  Bench b({.initial_window = 4, .slow_start = true});
  b.ack(4);
  EXPECT_EQ(b.aimd.window(), 8);
  b.ack(1, true);
  EXPECT_EQ(b.aimd.window(), 4);
  b.ack(20);
  EXPECT_LE(b.aimd.window(), 7) << "by one packet a window";
}

}  // namespace
}  // namespace rocelab
