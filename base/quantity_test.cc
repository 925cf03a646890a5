#include "base/quantity.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

std::string complaint_about(const char* text) {
  try {
    parse_rate(text);
  } catch (const QuantityError& error) {
    return error.what();
  }
  return "none";
}

TEST(QuantityTest, ReadsEveryUnit) {
  EXPECT_EQ(parse_rate("40Gb/s"), 40_Gbps);
  EXPECT_EQ(parse_rate("40Gbps"), 40_Gbps);
  EXPECT_EQ(parse_rate("100 Mbit/s"), 100_Mbps);
  EXPECT_EQ(parse_rate("0.1Tb/s"), 100_Gbps);
  EXPECT_EQ(parse_duration("2us"), 2_us);
  EXPECT_EQ(parse_duration("2.5ns"), 2500_ps);
  EXPECT_EQ(parse_duration("1s"), 1_s);
  EXPECT_EQ(parse_bytes("240KB"), 240_KB);
  EXPECT_EQ(parse_bytes("1KiB"), 1024_B);
  EXPECT_EQ(parse_bytes("8MB"), 8_MB);
}

TEST(QuantityTest, DecimalsAreExact) {
  EXPECT_EQ(parse_duration("0.000001us"), 1_ps);
  EXPECT_EQ(parse_rate("2.5Gb/s").bps(), 2'500'000'000);
  EXPECT_THROW(parse_duration("0.0000001us"), QuantityError);
  EXPECT_THROW(parse_bytes("1.5B"), QuantityError);
}

TEST(QuantityTest, ComplaintsSayWhatToWrite) {
  EXPECT_NE(complaint_about("40").find("has no unit; write for example \"40Gb/s\""), std::string::npos);
  EXPECT_NE(complaint_about("40GB/s").find("unknown unit \"GB/s\""), std::string::npos);
  EXPECT_NE(complaint_about("fast").find("is not a rate"), std::string::npos);
  EXPECT_NE(complaint_about("-1Gb/s").find("is not a rate"), std::string::npos);
}

TEST(QuantityTest, RefusesWhatDoesNotFit) {
  EXPECT_THROW(parse_duration("9300000000s"), QuantityError);
  EXPECT_THROW(parse_bytes("99999999999999999999B"), QuantityError);
  EXPECT_THROW(parse_bytes("1001GB"), QuantityError);
  EXPECT_THROW(parse_duration("1000001s"), QuantityError);
  EXPECT_EQ(parse_duration("1000000s"), kLongestDuration);
  EXPECT_NE(complaint_about("101Tb/s").find("is more than 100Tb/s"), std::string::npos);
}

TEST(QuantityTest, DecimalsWithoutEndAreRefused) {
  EXPECT_THROW(parse_duration("0." + std::string(140, '0') + "s"), QuantityError);  // 10^140 is 0 in 128 bits
  EXPECT_THROW(parse_duration("0." + std::string(140, '0') + "1s"), QuantityError);
  EXPECT_EQ(parse_duration("2." + std::string(15, '0') + "us"), 2_us);
}

TEST(QuantityTest, ReadsBackWhatIsPrinted) {
  for (const Duration d : {1_ps, 217600_ps, 2_us, 320_us, 5_ms}) EXPECT_EQ(parse_duration(to_string(d)), d);
  for (const Rate r : {1_bps, 100_Mbps, 40_Gbps}) EXPECT_EQ(parse_rate(to_string(r)), r);
  for (const Bytes b : {1_B, 24059_B, 240_KB, 8_MB}) EXPECT_EQ(parse_bytes(to_string(b)), b);
}

}  // namespace
}  // namespace rocelab
