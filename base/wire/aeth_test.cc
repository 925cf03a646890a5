#include "base/wire/aeth.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

TEST(AethTest, SyndromesOfTheCapturesMeanWhatTsharkSays) {
  EXPECT_TRUE(is_ack(0x1f));  // "Syndrome: 31, Ack", credit count invalid
  EXPECT_FALSE(credits_of(0x1f));
  EXPECT_TRUE(is_rnr_nak(0x34));  // "Syndrome: 52, RNR Nak", "Timer: 10.24 ms (20)"
  EXPECT_EQ(rnr_timer(aeth_value(0x34)), Duration::from_ps(10'240'000'000));
  EXPECT_TRUE(is_nak(kNakPsnSequence));
  EXPECT_TRUE(is_nak(kNakRemoteAccess));  // "Syndrome: 98, Nak", "Error Code: Remote Access Error (2)"
  EXPECT_EQ(aeth_value(kNakRemoteAccess), 2);
  EXPECT_EQ(aeth_type(0x45), AethType::kReserved);
  EXPECT_EQ(rnr_syndrome(20), 0x34);
}

TEST(AethTest, CreditsPromiseAsMuchAsTheTableCanAndNeverMoreThanThereAre) {
  for (std::uint32_t credits = 0; credits < 32'768; ++credits) {
    const std::uint8_t code = ack_syndrome(credits);
    const auto told = credits_of(code), next = credits_of(static_cast<std::uint8_t>(code + 1));
    ASSERT_TRUE(told && next) << credits;
    ASSERT_LE(*told, credits);
    ASSERT_GT(*next, credits);
  }
}

// IBTA table 46.
TEST(AethTest, CreditCodesAreThoseOfTheTable) {
  EXPECT_EQ(ack_syndrome(0), 0);
  EXPECT_EQ(ack_syndrome(5), 4);
  EXPECT_EQ(ack_syndrome(6), 5);
  EXPECT_EQ(ack_syndrome(23), 8);
  EXPECT_EQ(ack_syndrome(24), 9);
  EXPECT_EQ(ack_syndrome(1'000'000), 30);
  EXPECT_EQ(credits_of(9), 24u);
  EXPECT_EQ(credits_of(30), 32'768u);
  EXPECT_FALSE(credits_of(kNakPsnSequence));
}

// IBTA table 45, against the names that wireshark gives its codes, in ms.
TEST(AethTest, RnrTimersAreThoseOfTheTable) {
  constexpr double kMs[32] = {655.36, 0.01,  0.02,  0.03,   0.04,   0.06,   0.08,   0.12,
                              0.16,   0.24,  0.32,  0.48,   0.64,   0.96,   1.28,   1.92,
                              2.56,   3.84,  5.12,  7.68,   10.24,  15.36,  20.48,  30.72,
                              40.96,  61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52};
  for (std::uint8_t code = 0; code < 32; ++code)
    EXPECT_NEAR(rnr_timer(code).seconds() * 1e3, kMs[code], 1e-9) << int{code};
}

}  // namespace
}  // namespace rocelab
