#include "base/wire/rocc_cnp.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/packet.h"
#include "base/wire/bytes.h"
#include "base/wire/controls.h"
#include "base/wire/ipv4.h"
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

std::vector<std::byte> written(const RoccCnp& cnp) {
  std::array<std::byte, RoccCnp::kMaxSize> bytes;
  bytes.fill(std::byte{0xee});
  cnp.write(bytes);
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(cnp.size())};
}

// Menikkumbura, 3.3.6: what the host computes from. Headers as above, of their lengths.
const char* const kQueue =
    "02000a000001 02726c000002 0800"
    "45c0 002c 0000 4000 4001 83fd ac100003 0a000001"
    "fd01 d849 00000fa0 0a000002 00001011 00000007 000000fa"
    "0000";
const char* const kValues =
    "02000a000001 02726c000002 0800"
    "45c0 004c 0000 4000 4001 83dd ac100003 0a000001"
    "fd02 29bd 00000fa0 0a000002 00001011 00000007 000000fa"
    "000000fa 000001f4 00000258 0000000a 00000fa0 00004ccccccd 000180000000";

RoccCnp report(RoccForm form) {
  RoccCnp c = cnp();
  c.rate = 4000;
  c.report = {form, 7, 250, form == RoccForm::kValues ? rocc_values(RoccParams{}) : RoccValues{}};
  return c;
}

TEST(RoccCnpTest, TheHostsFormsSayMore) {
  for (const auto& [form, hex] :
       {std::pair{RoccForm::kQueue, kQueue}, std::pair{RoccForm::kValues, kValues}}) {
    const auto bytes = test::from_hex(hex);
    ASSERT_EQ(bytes.size(), report(form).size());
    EXPECT_EQ(test::to_hex(written(report(form))), test::to_hex(bytes));
    const auto parsed = RoccCnp::parse(bytes);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, report(form));
  }
  EXPECT_EQ(
      to_string(report(RoccForm::kValues)),
      "RoCC CNP 172.16.0.3 -> 10.0.0.1: flow to 10.0.0.2 QPN 4113, rate 4000, period 7, queue 250, with its "
      "values");
}

// A frame whose length is not that of its code, an unknown code, values that no law can work with.
TEST(RoccCnpTest, AFormThatDoesNotFitIsNone) {
  for (const RoccForm form : {RoccForm::kQueue, RoccForm::kValues}) {
    const auto good = written(report(form));
    const std::size_t end = RoccCnp::kIcmpAt + RoccCnp::icmp_bytes(form);
    for (std::size_t length = 0; length < end; ++length)
      EXPECT_FALSE(RoccCnp::parse(std::span(good).first(length))) << length;
    for (std::size_t bit = 14 * 8; bit < end * 8; ++bit) {
      auto bytes = good;
      bytes[bit / 8] ^= std::byte{static_cast<std::uint8_t>(1u << (bit % 8))};
      EXPECT_FALSE(RoccCnp::parse(bytes)) << "bit " << bit;
    }
    for (std::uint8_t code = 0; code < 8; ++code) {
      auto bytes = good;
      bytes[RoccCnp::kIcmpAt + 1] = std::byte{code};
      bytes[RoccCnp::kIcmpAt + 2] = bytes[RoccCnp::kIcmpAt + 3] = std::byte{0};
      const auto icmp = std::span(bytes).subspan(RoccCnp::kIcmpAt, RoccCnp::icmp_bytes(form));
      wire::store16(icmp, 2, internet_checksum(icmp));
      EXPECT_EQ(RoccCnp::parse(bytes).has_value(), code == static_cast<std::uint8_t>(form)) << int{code};
    }
  }
  RoccCnp bad = report(RoccForm::kValues);
  bad.report.values.f_min = 0;
  EXPECT_FALSE(RoccCnp::parse(written(bad)));
}

TEST(RoccCnpTest, FieldsStandAsTheDiagramSays) {
  const auto bytes = test::from_hex(kCnp);
  ASSERT_EQ(bytes.size(), cnp().size());
  EXPECT_EQ(test::to_hex(written(cnp())), test::to_hex(bytes));
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
  const RoccFeedback feedback{0xac1fffff, 0xfedcba98, Qpn{0xabcdef}};
  put_control(packet, feedback);
  EXPECT_EQ(control_of<RoccFeedback>(packet), feedback);
  EXPECT_TRUE(is_from_switches(packet.kind));
  EXPECT_EQ(packet.frame_length, 60u);
  RoccValues most = rocc_values(RoccParams{});
  most.q_ref = 0xfffffffd, most.q_mid = 0xfffffffe, most.q_max = 0xffffffff;
  most.f_min = RoccValues::whole(0xfffffff0), most.f_max = RoccValues::whole(0xfffffff1);
  most.alpha = 0xfedcba987654, most.beta = 0xabcdef012345;
  for (const RoccForm form : {RoccForm::kQueue, RoccForm::kValues}) {
    const RoccReport said{form, 0xfedcba97, 0xfedcba96, form == RoccForm::kValues ? most : RoccValues{}};
    const RoccFeedback more(feedback.cp, feedback.rate, feedback.dest, said);
    EXPECT_EQ(more.report(), said);
    put_control(packet, more);
    EXPECT_EQ(control_of<RoccFeedback>(packet), more);
    EXPECT_EQ(packet.frame_length, report(form).size());
  }
}

TEST(RoccCnpTest, CongestionPointsHaveANetworkOfTheirOwn) {
  EXPECT_TRUE(is_cp_address(kCpNetwork + 1));
  EXPECT_TRUE(is_cp_address(0xac1fffff));
  EXPECT_FALSE(is_cp_address(0xac200000));
  EXPECT_FALSE(is_cp_address(0x0a000001));
}

}  // namespace
}  // namespace rocelab
