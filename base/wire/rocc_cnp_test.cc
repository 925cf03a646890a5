#include "base/wire/rocc_cnp.h"

#include <gtest/gtest.h>

#include "base/packet.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

// tshark: Ethernet II, Dst 02:00:0a:00:00:01, Src 02:72:6c:00:00:02; Internet Protocol Version 4, Src
// 172.16.0.3, Dst 10.0.0.1, DSCP CS6; Internet Control Message Protocol, Type 253 (RFC3692-style experiment
// 1), Code 0, checksum correct
const char* const kCnp =
    "02000a000001 02726c000002 0800"
    "45c0 0024 0000 4000 4001 8405 ac100003 0a000001"
    "fd00 e75b 00000190 0a000002 00001011"
    "00000000000000000000";

RoccCnp cnp() {
  RoccCnp c;
  c.dst_mac = {2, 0, 10, 0, 0, 1};
  c.src_mac = {2, 'r', 'l', 0, 0, 2};
  c.dscp = 48;
  c.cp = 0xac100003;
  c.source = 0x0a000001;
  c.destination = 0x0a000002;
  c.dest = Qpn{0x1011};
  c.rate = 400;
  return c;
}

TEST(RoccCnpTest, FieldsStandAsTheDiagramSays) {
  const auto bytes = test::from_hex(kCnp);
  ASSERT_EQ(bytes.size(), RoccCnp::kSize);
  std::array<std::byte, RoccCnp::kSize> written;
  written.fill(std::byte{0xee});
  cnp().write(written);
  EXPECT_EQ(test::to_hex(written), test::to_hex(bytes));
  const auto parsed = RoccCnp::parse(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, cnp());
  EXPECT_EQ(to_string(*parsed), "RoCC CNP 172.16.0.3 -> 10.0.0.1: flow to 10.0.0.2 QPN 4113, rate 400");
}

// One flipped bit behind the Ethernet header is always seen: both checksums cover all there is.
TEST(RoccCnpTest, NoFlippedBitPasses) {
  const auto good = test::from_hex(kCnp);
  for (std::size_t bit = 14 * 8; bit < 50 * 8; ++bit) {
    auto bytes = good;
    bytes[bit / 8] ^= std::byte{static_cast<std::uint8_t>(1u << (bit % 8))};
    EXPECT_FALSE(RoccCnp::parse(bytes)) << "bit " << bit;
  }
}

TEST(RoccCnpTest, OtherFramesAndShortOnesAreNone) {
  const auto good = test::from_hex(kCnp);
  for (std::size_t length = 0; length < 50; ++length)
    EXPECT_FALSE(RoccCnp::parse(std::span(good).first(length))) << length;
  for (const test::NamedFrame& frame : test::made_frames()) EXPECT_FALSE(RoccCnp::parse(frame.bytes));
}

TEST(RoccCnpTest, RidesInAPacketWithoutLoss) {
  Packet packet;
  const FairRateFeedback feedback{0xac1fffff, 0xfedcba98, 0x0affff01, Qpn{0xabcdef}};
  put_fair_rate(packet, feedback);
  EXPECT_EQ(fair_rate_of(packet), feedback);
  EXPECT_TRUE(is_from_switches(packet.kind));
  EXPECT_EQ(packet.frame_length, RoccCnp::kSize);
}

TEST(RoccCnpTest, CongestionPointsHaveANetworkOfTheirOwn) {
  EXPECT_TRUE(is_cp_address(kCpNetwork + 1));
  EXPECT_TRUE(is_cp_address(0xac1fffff));
  EXPECT_FALSE(is_cp_address(0xac200000));
  EXPECT_FALSE(is_cp_address(0x0a000001));
}

}  // namespace
}  // namespace rocelab
