#include "irn_provider/cc/hpcc.h"

#include <gtest/gtest.h>

#include <optional>

namespace rocelab {
namespace {

// 100 Gb/s, T = 10 us: W_init = 125,000 B; W_AI = 125,000 x 0.05 / 100 = 62.5 B.
HpccParams params() {
  HpccParams p;
  p.base_rtt = 10_us;
  return p;
}

// One port of 100 Gb/s; what it says is set step by step.
struct Bench {
  // `elapsed` after the last record, `sent` bytes more; `una` and `next` of the acknowledgement.
  void ack(Duration elapsed, std::int64_t sent, Bytes queue, UnwrappedPsn una, UnwrappedPsn next) {
    hop.time = (hop.time + static_cast<std::uint32_t>(elapsed.ps() / 1000)) & 0xffffff;
    hop.sent = (hop.sent + static_cast<std::uint32_t>(sent / 128)) & 0xfffff;
    hop.queue = static_cast<std::uint32_t>(queue.count() / 80);
    Telemetry telemetry;
    telemetry.push(path, hop);
    law.on_ack({.packets = 1, .una = una, .next = next, .telemetry = &telemetry}, Time::zero());
  }
  std::uint16_t path = 7;
  TelemetryHop hop{
      .rate_code = *telemetry_rate_code(100_Gbps), .time = 0xfffff0, .sent = 0xffff0, .queue = 0};
  Hpcc law{params(), {100_Gbps}};
};

TEST(HpccTest, BeginsWithABdpAtLineRate) {
  Bench b;
  EXPECT_DOUBLE_EQ(b.law.window_bytes(), 125'000);
  EXPECT_EQ(b.law.rate(Time::zero()), 100_Gbps);
  EXPECT_EQ(b.law.window(), 123) << "125,000 / 1,024, rounded up";
  b.ack(0_ns, 0, 0_B, 1, 100);
  EXPECT_DOUBLE_EQ(b.law.window_bytes(), 125'000) << "the first record only sets L";
}

// Algorithm 1 by hand. u' = min(qlen) / (B T) + txRate / B, B T = 125,000 B; U = (1 - tau / T) U + tau / T
// u'.
TEST(HpccTest, FollowsAHandComputedTrace) {
  Bench b;
  b.ack(0_ns, 0, 0_B, 1, 100);
  // 5 us, 62,464 B: txRate / B = 0.999424; min(80,000, 0) = 0. tau / T = 1/2: U = 0.499712 < eta: W^c + W_AI,
  // not kept.
  b.ack(5_us, 62'464, 80'000_B, 50, 150);
  EXPECT_NEAR(b.law.utilisation(), 0.499712, 1e-9);
  EXPECT_NEAR(b.law.window_bytes(), 125'000, 1e-6) << "never beyond W_init";
  // 10 us, 124,928 B, 80,000 B again: u' = 0.64 + 0.999424; tau / T = 1: U = u'. una 101 > 100: kept.
  // W = 125,000 / (1.639424 / 0.95) + 62.5 = 72,496.4.
  b.ack(10_us, 124'928, 80'000_B, 101, 201);
  EXPECT_NEAR(b.law.utilisation(), 1.639424, 1e-9);
  EXPECT_NEAR(b.law.window_bytes(), 72'496.4, 0.1);
  EXPECT_NEAR(static_cast<double>(b.law.rate(Time::zero()).bps()), 72'496.4 * 8 / 10e-6, 1e5);
  // Within the same round W comes from W^c anew: 72,496.4 / (u / 0.95) + 62.5 with u = 0.999424.
  b.ack(10_us, 124'928, 0_B, 150, 250);
  EXPECT_NEAR(b.law.window_bytes(), 72'496.4 * 0.95 / 0.999424 + 62.5, 0.1);
  b.ack(10_us, 124'928, 0_B, 160, 260);
  EXPECT_NEAR(b.law.window_bytes(), 72'496.4 * 0.95 / 0.999424 + 62.5, 0.1) << "and once more, not twice";
}

// maxStage = 5: five additive steps below eta, then a multiplicative one towards eta.
TEST(HpccTest, AfterFiveAdditiveRoundsTheWindowGoesToEta) {
  Bench b;
  b.ack(0_ns, 0, 0_B, 1, 1);
  UnwrappedPsn psn = 1;
  const auto round = [&](std::int64_t sent) {
    ++psn;
    b.ack(10_us, sent, 0_B, psn, psn);
  };
  round(250'112);  // U = 2.000896: a decrease, to 59,411 B
  const double w = b.law.window_bytes();
  EXPECT_NEAR(w, 125'000 * 0.95 / 2.000896 + 62.5, 0.1);
  for (int i = 1; i <= 5; ++i) {
    round(62'464);  // U = 0.499712
    EXPECT_NEAR(b.law.window_bytes(), w + 62.5 * i, 0.1) << i;
  }
  round(62'464);
  EXPECT_NEAR(b.law.window_bytes(), (w + 62.5 * 5) * 0.95 / 0.499712 + 62.5, 0.1);
}

TEST(HpccTest, TheMostUtilisedHopDecides) {
  Hpcc law(params(), {100_Gbps});
  const auto ack = [&](std::uint32_t us, std::uint32_t first, std::uint32_t second) {
    Telemetry telemetry;
    telemetry.push(1, {*telemetry_rate_code(100_Gbps), us * 1000, first / 128, 0});
    telemetry.push(2, {*telemetry_rate_code(40_Gbps), us * 1000, second / 128, 0});
    law.on_ack({.una = us, .next = us, .telemetry = &telemetry}, Time::zero());
  };
  ack(1, 0, 0);
  ack(11, 62'464, 49'920);  // 0.4997 of 100 Gb/s, 0.9984 of 40 Gb/s
  EXPECT_NEAR(law.utilisation(), 0.9984, 1e-9);
}

TEST(HpccTest, AnotherPathIsNotCompared) {
  Bench b;
  b.ack(0_ns, 0, 0_B, 1, 10);
  b.path = 9;
  b.ack(10_us, 1'250'000, 500'000_B, 11, 20);
  EXPECT_DOUBLE_EQ(b.law.window_bytes(), 125'000);
  b.ack(10_us, 124'928, 0_B, 21, 30);
  EXPECT_NEAR(b.law.window_bytes(), 125'000 * 0.95 / 0.999424 + 62.5, 0.1);
}

TEST(HpccTest, RateAndWindowStayBetweenTheirBounds) {
  Bench b;
  b.ack(0_ns, 0, 0_B, 1, 1);
  for (int i = 2; i < 500; ++i) b.ack(10_us, 124'928, 5'000'000_B, i, i);
  EXPECT_EQ(b.law.rate(Time::zero()), 100_Mbps);
  EXPECT_EQ(b.law.window(), 1);
  for (int i = 500; i < 1500; ++i) b.ack(10_us, 0, 0_B, i, i);
  EXPECT_EQ(b.law.rate(Time::zero()), 100_Gbps);
}

TEST(HpccTest, AcknowledgementsWithoutTelemetryChangeNothing) {
  Hpcc law(params(), {100_Gbps});
  const Telemetry empty;
  law.on_ack({.packets = 1, .una = 5, .next = 9}, Time::zero());
  law.on_ack({.packets = 1, .una = 6, .next = 9, .telemetry = &empty}, Time::zero());
  EXPECT_DOUBLE_EQ(law.window_bytes(), 125'000);
}

}  // namespace
}  // namespace rocelab
