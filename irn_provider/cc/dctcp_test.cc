#include "irn_provider/cc/dctcp.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

struct Bench {
  explicit Bench(std::uint32_t window) : dctcp(DctcpParams{.initial_window = window}, {40_Gbps}) {
    next = window;
  }
  // `count` packets are acknowledged one by one, the first `marked` of them with a mark; the window stays
  // full.
  void ack(int count, int marked) {
    for (int i = 0; i < count; ++i) {
      ++una;
      dctcp.on_ack({1, i < marked, una, next}, Time::zero());
      next = std::max(next, una + dctcp.window());
    }
  }
  Dctcp dctcp;
  UnwrappedPsn una = 0, next = 0;
};

// Equations 1 and 2 by hand: alpha 1, a window of 16 with 4 marks: alpha = 15/16 + 1/16 * 1/4 = 61/64.
TEST(DctcpTest, AWindowWithMarksShrinksByHalfOfAlpha) {
  Bench b(16);
  b.ack(16, 16);
  EXPECT_DOUBLE_EQ(b.dctcp.alpha(), 1.0);
  EXPECT_EQ(b.dctcp.window(), 8) << "all marked: halved";
  Bench c(16);
  c.ack(15, 4);
  EXPECT_EQ(c.dctcp.alpha(), 1.0) << "once per window";
  c.ack(1, 0);
  EXPECT_DOUBLE_EQ(c.dctcp.alpha(), 61.0 / 64);
  EXPECT_EQ(c.dctcp.window(), 8);  // (16 + 12/16) * (1 - 61/128) = 8.77
}

TEST(DctcpTest, WithoutMarksAlphaDecaysAndTheWindowGrowsByOneAWindow) {
  Bench b(16);
  b.ack(16, 0);
  EXPECT_DOUBLE_EQ(b.dctcp.alpha(), 15.0 / 16);
  b.ack(1, 0);
  EXPECT_EQ(b.dctcp.window(), 17);
}

TEST(DctcpTest, ALossHalves) {
  Bench b(16);
  b.dctcp.on_loss(CcLoss::kRecovery, Time::zero());
  EXPECT_EQ(b.dctcp.window(), 8);
  for (int i = 0; i < 9; ++i) b.dctcp.on_loss(CcLoss::kTimeout, Time::zero());
  EXPECT_EQ(b.dctcp.window(), 2);
}

}  // namespace
}  // namespace rocelab
