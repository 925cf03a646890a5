#include "irn_provider/cc/aimd.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

// A sender that keeps its window full; every packet is acknowledged alone.
struct Bench {
  explicit Bench(const AimdParams& params, std::uint32_t cap = 0) : aimd(params, {40_Gbps, 1024, cap}) {
    fill();
  }
  void fill() { next = std::max(next, una + aimd.window()); }
  void ack(int count) {
    for (int i = 0; i < count; ++i) {
      ++una;
      aimd.on_ack({1, false, una, next}, Time::zero());
      fill();
    }
  }
  Aimd aimd;
  UnwrappedPsn una = 0, next = 0;
};

AimdParams of(std::uint32_t window) {
  AimdParams params;
  params.initial_window = window;
  return params;
}

TEST(AimdTest, BeginsWithTheBdpAndStaysWithinIt) {
  Bench b({}, 30);
  b.ack(100);
  EXPECT_EQ(b.aimd.window(), 30);
  b.aimd.on_loss(CcLoss::kTimeout, Time::zero());
  b.ack(2000);
  EXPECT_EQ(b.aimd.window(), 30);
}

TEST(AimdTest, GrowsByOnePacketAWindow) {
  Bench b(of(8));
  EXPECT_EQ(b.aimd.window(), 8);
  b.ack(8);  // 8 + 8 steps of just below 1/8
  EXPECT_EQ(b.aimd.window(), 8);
  b.ack(1);
  EXPECT_EQ(b.aimd.window(), 9);
  b.ack(10);
  EXPECT_EQ(b.aimd.window(), 10);
}

TEST(AimdTest, ALossHalvesOnceAndGrowthWaitsForTheEndOfItsRecovery) {
  Bench b(of(20));
  b.ack(1);
  const UnwrappedPsn recovery = b.next;
  b.aimd.on_loss(CcLoss::kRecovery, Time::zero());
  EXPECT_EQ(b.aimd.window(), 10);
  b.ack(static_cast<int>(recovery - b.una) - 1);
  EXPECT_EQ(b.aimd.window(), 10) << "packets that were out at the loss do not count";
  b.ack(13);
  EXPECT_EQ(b.aimd.window(), 11);
}

TEST(AimdTest, TheWindowNeverFallsBelowTwo) {
  Bench b(of(8));
  for (int i = 0; i < 9; ++i) b.aimd.on_loss(CcLoss::kTimeout, Time::zero());
  EXPECT_EQ(b.aimd.window(), 2);
}

TEST(AimdTest, AWindowOfWhichLessThanHalfIsUsedDoesNotGrow) {
  Bench b(of(8));
  for (int i = 1; i < 100; ++i) b.aimd.on_ack({1, false, i, i + 1}, Time::zero());
  EXPECT_EQ(b.aimd.window(), 8);
}

// RFC 5681: 1, 2, 4, 8 by slow start; a timeout at 8 sets ssthresh 4: 1, 2, 4, then one packet a window.
TEST(AimdTest, SlowStartDoublesUpToHalfTheWindowOfTheLastTimeout) {
  AimdParams params;
  params.slow_start = true;
  params.initial_window = 1;
  Bench b(params);
  for (const std::int64_t want : {2, 4, 8}) {
    b.ack(static_cast<int>(b.aimd.window()));
    EXPECT_EQ(b.aimd.window(), want);
  }
  b.aimd.on_loss(CcLoss::kTimeout, Time::zero());
  EXPECT_EQ(b.aimd.window(), 1);
  b.una = b.next;
  b.fill();
  for (const std::int64_t want : {2, 4}) {
    b.ack(static_cast<int>(b.aimd.window()));
    EXPECT_EQ(b.aimd.window(), want);
  }
  b.ack(3);
  EXPECT_EQ(b.aimd.window(), 4);
  b.ack(2);
  EXPECT_EQ(b.aimd.window(), 5);
}

}  // namespace
}  // namespace rocelab
