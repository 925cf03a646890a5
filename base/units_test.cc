#include "base/units.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

TEST(UnitsTest, LiteralsCountPicosecondsBytesAndBits) {
  EXPECT_EQ((1_ns).ps(), 1'000);
  EXPECT_EQ((1_us).ps(), 1'000'000);
  EXPECT_EQ((1_ms).ps(), 1'000'000'000);
  EXPECT_EQ((1_s).ps(), 1'000'000'000'000);
  EXPECT_EQ((1_KB).count(), 1'000);
  EXPECT_EQ((1_KiB).count(), 1'024);
  EXPECT_EQ((1_MB).count(), 1'000'000);
  EXPECT_EQ((1_MiB).count(), 1'048'576);
  EXPECT_EQ((40_Gbps).bps(), 40'000'000'000);
  EXPECT_EQ((100_Mbps).bps(), 100'000'000);
}

TEST(UnitsTest, TransferTimeRoundsUpToAPicosecond) {
  EXPECT_EQ(transfer_time(1_B, 40_Gbps), 200_ps);  // exact
  EXPECT_EQ(transfer_time(1_B, 3_bps), Duration::from_ps(2'666'666'666'667));
  EXPECT_EQ(transfer_time(1_B, 400_Gbps), 20_ps);
  EXPECT_EQ(transfer_time(1_B, 300_Gbps), 27_ps);   // 26.67
  EXPECT_EQ(transfer_time(1_B, 9'000_Gbps), 1_ps);  // 0.89
  EXPECT_EQ(transfer_time(0_B, 3_bps), 0_ps);
}

TEST(UnitsTest, TransferTimeDoesNotOverflowOnItsWay) {
  // 10^12 B * 8 * 10^12 passes 2^63 by far; the result, 200 s at 40 Gb/s, does not.
  EXPECT_EQ(transfer_time(Bytes::from_count(1'000'000'000'000), 40_Gbps), 200_s);
}

// 1098 B + 4 FCS + 20 preamble and gap = 1122 B.
TEST(UnitsTest, WireTimeAddsFcsPreambleAndGap) {
  EXPECT_EQ(wire_bytes(1098_B), 1122_B);
  EXPECT_EQ(wire_time(1098_B, 40_Gbps), Duration::from_ps(224'400));
  EXPECT_EQ(wire_time(kMinFrameBytes, 10_Gbps), Duration::from_ps(67'200));  // 14.88 M smallest frames/s
}

TEST(UnitsTest, BytesInRoundsDownAndUndoesTransferTime) {
  EXPECT_EQ(bytes_in(199_ps, 40_Gbps), 0_B);
  EXPECT_EQ(bytes_in(200_ps, 40_Gbps), 1_B);
  for (std::int64_t n = 1; n < 3'000; n += 7)
    for (const Rate rate : {1_Gbps, 3_Gbps, 25_Gbps, 40_Gbps, 400_Gbps})
      ASSERT_EQ(bytes_in(transfer_time(Bytes::from_count(n), rate), rate).count(), n) << to_string(rate);
}

TEST(UnitsTest, NeverAbsorbsAndComesLast) {
  EXPECT_TRUE((Time::never() + 1_s).is_never());
  EXPECT_TRUE((Time::never() - 1_s).is_never());
  EXPECT_TRUE((Time::zero() + Duration::infinite()).is_never());
  EXPECT_LT(Time::from_ps(std::numeric_limits<std::int64_t>::max() - 1), Time::never());
  EXPECT_FALSE((Time::zero() + 1_s).is_never());
}

TEST(UnitsTest, PointsAndLengthsAddAsTheyShould) {
  EXPECT_EQ(Time::zero() + 3_us - Time::zero(), 3_us);
  EXPECT_EQ((Time::zero() + 3_us) - (Time::zero() + 5_us), Duration::from_ps(-2'000'000));
  EXPECT_EQ(7_us / 2_us, 3);
  EXPECT_EQ(7_us / 2, Duration::from_ps(3'500'000));
  EXPECT_EQ(3 * 2_us, 6_us);
  EXPECT_EQ(240_KB / 1_KiB, 234);
}

TEST(UnitsTest, TextIsExactInTheLargestUnitThatDivides) {
  EXPECT_EQ(to_string(2_us), "2us");
  EXPECT_EQ(to_string(Duration::from_ps(217'600)), "217600ps");
  EXPECT_EQ(to_string(0_ps), "0ps");
  EXPECT_EQ(to_string(1'500_ms), "1500ms");
  EXPECT_EQ(to_string(Duration::infinite()), "infinite");
  EXPECT_EQ(to_string(Time::never()), "never");
  EXPECT_EQ(to_string(Time::zero() + 320_us), "320us");
  EXPECT_EQ(to_string(240_KB), "240KB");
  EXPECT_EQ(to_string(1_KiB), "1024B");
  EXPECT_EQ(to_string(40_Gbps), "40Gbps");
  EXPECT_EQ(to_string(36'250_Mbps), "36250Mbps");
  EXPECT_EQ(to_string(Duration::from_ps(-2'000)), "-2ns");
}

}  // namespace
}  // namespace rocelab
