#include "irn_provider/cc/dcqcn_rp.h"

#include <gtest/gtest.h>

#include <vector>

namespace rocelab {
namespace {

constexpr Time at(Duration d) { return Time::zero() + d; }
constexpr Rate kbps(std::int64_t n) { return Rate::from_bps(n * 1'000); }

DcqcnRp make(DcqcnParams params = {}) { return DcqcnRp(params, {40_Gbps}); }

TEST(DcqcnRpTest, StartsAtLineRateAndStaysThereWithoutCnps) {
  DcqcnRp rp = make();
  EXPECT_EQ(rp.rate(at(1_s)), 40_Gbps);
  EXPECT_TRUE(rp.next_change().is_never()) << "nothing to control, no timer";
}

// Equations 1 and 3 by hand: a CNP at 100 us with alpha = 1 halves; five times T halve the way back to R_T.
TEST(DcqcnRpTest, ACnpHalvesAndFiveTimersHalveTheWayBack) {
  DcqcnRp rp = make();
  rp.on_cnp(at(100_us));
  EXPECT_EQ(rp.rate(at(100_us)), 20_Gbps);
  EXPECT_EQ(rp.target(), 40_Gbps);
  const std::vector<Rate> want{30_Gbps,          35_Gbps,          kbps(37'500'000),
                               kbps(38'750'000), kbps(39'375'000), kbps(39'687'500)};
  for (std::size_t k = 0; k < want.size(); ++k) {
    const Time deadline = at(100_us + 55_us * static_cast<std::int64_t>(k + 1));
    EXPECT_EQ(rp.next_change(), deadline);
    EXPECT_EQ(rp.rate(deadline - 1_ps), k == 0 ? 20_Gbps : want[k - 1]);
    EXPECT_EQ(rp.rate(deadline), want[k]) << "timer " << k + 1;
  }
}

// Two CNPs 50 us apart: R_T = 20, R_C = 10 Gb/s. After five halvings the sixth timer adds R_AI to R_T.
TEST(DcqcnRpTest, TheSixthTimerIncreasesTheTargetAdditively) {
  DcqcnRp rp = make();
  rp.on_cnp(at(0_us));
  rp.on_cnp(at(50_us));
  EXPECT_EQ(rp.target(), 20_Gbps);
  EXPECT_EQ(rp.rate(at(50_us)), 10_Gbps);
  EXPECT_EQ(rp.rate(at(50_us + 55_us * 5)), kbps(19'687'500));
  EXPECT_EQ(rp.target(), 20_Gbps);
  EXPECT_EQ(rp.rate(at(50_us + 55_us * 6)), kbps(19'863'750));  // (19.6875 + 20.04) / 2
  EXPECT_EQ(rp.target(), kbps(20'040'000));
  EXPECT_EQ(rp.rate(at(50_us + 55_us * 7)), kbps(19'971'875));  // (19.86375 + 20.08) / 2
}

TEST(DcqcnRpTest, AlphaDecaysOncePerSilentKAndScalesTheNextCut) {
  DcqcnRp rp = make();
  rp.on_cnp(at(0_us));
  EXPECT_DOUBLE_EQ(rp.alpha(), 1.0);
  rp.on_cnp(at(60_us));  // one K of 55 us has passed: alpha = 255/256; one T as well: R_C = 30 Gb/s
  EXPECT_EQ(rp.target(), 30_Gbps);
  EXPECT_EQ(rp.rate(at(60_us)), Rate::from_bps(15'058'593'750));  // 30 G * (1 - 255/512)
  EXPECT_DOUBLE_EQ(rp.alpha(), 255.0 / 256 * 255.0 / 256 + 1.0 / 256);
}

TEST(DcqcnRpTest, AlphaIsOneAtTheFirstCnpHoweverLateItComes) {
  DcqcnRp rp = make();
  rp.on_cnp(at(900_ms));
  EXPECT_EQ(rp.rate(at(900_ms)), 20_Gbps);
}

TEST(DcqcnRpTest, BytesIncreaseTheRateWithoutTheTimer) {
  DcqcnRp rp = make();
  rp.on_cnp(at(0_us));
  rp.on_sent(9'999'999_B, at(1_us));
  EXPECT_EQ(rp.rate(at(1_us)), 20_Gbps);
  rp.on_sent(1_B, at(2_us));
  EXPECT_EQ(rp.rate(at(2_us)), 30_Gbps);
}

// Hyper increase needs both counters beyond F (figure 7): with six timers the sixth byte increase begins it.
TEST(DcqcnRpTest, BothCountersBeyondFBeginHyperIncrease) {
  DcqcnParams params;
  params.byte_counter = 1_KB;
  DcqcnRp rp = make(params);
  rp.on_cnp(at(0_us));
  rp.on_cnp(at(10_us));
  rp.on_cnp(at(20_us));  // R_T = 10, R_C = 5 Gb/s
  for (int i = 0; i < 5; ++i) rp.on_sent(1_KB, at(21_us));
  EXPECT_EQ(rp.target(), 10_Gbps);
  rp.rate(at(20_us + 55_us * 5));
  EXPECT_EQ(rp.target(), 10_Gbps) << "five of either: fast recovery";
  rp.rate(at(20_us + 55_us * 6));
  EXPECT_EQ(rp.target(), kbps(10'040'000)) << "six timers, five byte increases: additive";
  rp.on_sent(1_KB, at(20_us + 55_us * 6));
  EXPECT_EQ(rp.target(), kbps(10'440'000)) << "six of either: hyper";
}

TEST(DcqcnRpTest, TheRateNeverFallsBelowItsFloor) {
  DcqcnRp rp = make();
  for (int i = 0; i < 100; ++i) rp.on_cnp(at(1_us * i));
  EXPECT_EQ(rp.rate(at(100_us)), 1_Mbps);
}

TEST(DcqcnRpTest, TheTimerStopsWhenTheLineRateIsReachedAgain) {
  DcqcnRp rp = make();
  rp.on_cnp(at(0_us));
  EXPECT_EQ(rp.rate(at(10_ms)), 40_Gbps);
  EXPECT_TRUE(rp.next_change().is_never());
}

// The adapters' law: one cut per period, and alpha raised once for a period however many CNPs it had.
TEST(DcqcnRpTest, PeriodicCutsOncePerPeriod) {
  DcqcnParams params;
  params.periodic = true;
  params.alpha_interval = 1_us;
  params.decrease_interval = 4_us;
  params.g = 0.5;
  DcqcnRp rp = make(params);
  rp.on_cnp(at(0_us));
  EXPECT_EQ(rp.rate(at(0_us)), 20_Gbps);
  rp.on_cnp(at(1_us));
  rp.on_cnp(at(2_us));
  EXPECT_EQ(rp.next_change(), at(4_us));
  EXPECT_EQ(rp.rate(at(4_us) - 1_ps), 20_Gbps);
  // alpha: 1 up to 3 us (each of the three periods had a CNP), then one silent period halves it.
  EXPECT_EQ(rp.rate(at(4_us)), 15_Gbps);
  EXPECT_DOUBLE_EQ(rp.alpha(), 0.5);
}

// clamp_tgt_rate 0: R_T stays at 40 Gb/s over a row of CNPs, and the first timer goes half the way to it.
TEST(DcqcnRpTest, WithoutClampingARowOfCnpsLeavesTheTarget) {
  DcqcnParams params;
  params.clamp_target = false;
  DcqcnRp rp = make(params);
  rp.on_cnp(at(0_us));
  rp.on_cnp(at(50_us));
  EXPECT_EQ(rp.rate(at(50_us)), 10_Gbps);
  EXPECT_EQ(rp.target(), 40_Gbps);
  EXPECT_EQ(rp.rate(at(105_us)), 25_Gbps);
  rp.on_cnp(at(106_us));  // alpha is 1 - 1/256 by now
  EXPECT_EQ(rp.target(), 25_Gbps) << "an increase came before this one";
}

TEST(DcqcnRpTest, ALossBacksOffOnlyWhenAskedTo) {
  DcqcnRp plain = make();
  plain.on_loss(CcLoss::kRecovery, at(1_us));
  EXPECT_EQ(plain.rate(at(1_us)), 40_Gbps);
  DcqcnParams params;
  params.loss_backoff = 0.5;
  DcqcnRp backs_off = make(params);
  backs_off.on_loss(CcLoss::kRecovery, at(1_us));
  EXPECT_EQ(backs_off.rate(at(1_us)), 20_Gbps);
}

TEST(DcqcnRpTest, LookingMoreOftenChangesNothing) {
  DcqcnRp often = make(), seldom = make();
  for (DcqcnRp* rp : {&often, &seldom}) rp->on_cnp(at(3_us)), rp->on_cnp(at(70_us));
  for (Duration d = 70_us; d < 900_us; d += 777_ns) often.rate(at(d));
  EXPECT_EQ(often.rate(at(900_us)), seldom.rate(at(900_us)));
  often.on_cnp(at(900_us)), seldom.on_cnp(at(900_us));
  EXPECT_EQ(often.rate(at(900_us)), seldom.rate(at(900_us)));
  EXPECT_EQ(often.alpha(), seldom.alpha());
}

}  // namespace
}  // namespace rocelab
