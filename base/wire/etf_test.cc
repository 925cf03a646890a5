#include "base/wire/etf.h"

#include <gtest/gtest.h>

#include "base/wire/pfc.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

const char* const kToken =
    "0180c2000001 020000000009 8808 0102 0300 0002 0a000001 0a000103 00001011"
    "00000000000000000000000000000000000000000000000000000000";

// One of the second place of port 6, which comes back because no frame waits.
const char* const kReturned =
    "0180c2000001 020000000009 8808 0102 0300 0002 0a000001 0a000103 01001011 00070002"
    "000000000000000000000000000000000000000000000000";

const char* const kIpv6Token =
    "0180c2000001 020000000009 8808 0102 0301 0002"
    "fe80000000000000020000fffe000001 fe80000000000000020000fffe000103 00001011 00000000";

EscapeTokenFrame token() {
  EscapeTokenFrame t;
  t.tc = Tc{3};
  t.hops = 2;
  t.source = ipv4_mapped({10, 0, 0, 1});
  t.destination = ipv4_mapped({10, 0, 1, 3});
  t.dest = Qpn{0x1011};
  return t;
}
EscapeTokenFrame ipv6_token() {
  EscapeTokenFrame t = token();
  t.source = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xff, 0xfe, 0, 0, 1};
  t.destination = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xff, 0xfe, 0, 1, 3};
  return t;
}

EscapeTokenFrame returned() {
  EscapeTokenFrame t = token();
  t.mark = EscapeTokenMark::kNothingWaits;
  t.number = 0x00070002;
  return t;
}

TEST(EtfTest, FieldsStandAsTheDiagramSays) {
  for (const auto& [hex, want] :
       {std::pair{kToken, token()}, std::pair{kIpv6Token, ipv6_token()}, std::pair{kReturned, returned()}}) {
    const auto bytes = test::from_hex(hex);
    ASSERT_EQ(bytes.size(), EscapeTokenFrame::kSize);
    std::array<std::byte, EscapeTokenFrame::kSize> written;
    written.fill(std::byte{0xee});
    want.write(written, {2, 0, 0, 0, 0, 9});
    EXPECT_EQ(test::to_hex(written), test::to_hex(bytes));
    const auto parsed = EscapeTokenFrame::parse(bytes);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, want);
    EXPECT_EQ(to_string(*parsed), want.number == 0 ? "ETF TC3 hops 2 QPN 4113"
                                                   : "ETF TC3 hops 2 QPN 4113 number 458754 comes back");
  }
}

TEST(EtfTest, OtherFramesAndShortOnesAreNone) {
  const auto good = test::from_hex(kToken), good6 = test::from_hex(kIpv6Token);
  for (std::size_t length = 0; length < 36; ++length)
    EXPECT_FALSE(EscapeTokenFrame::parse(std::span(good).first(length))) << length;
  for (std::size_t length = 0; length < 60; ++length)
    EXPECT_FALSE(EscapeTokenFrame::parse(std::span(good6).first(length))) << length;
  EXPECT_FALSE(PfcFrame::parse(good));
  for (const auto& [at, value] : {std::pair{15, 0x01}, {16, 8}, {17, 2}, {19, 0}, {28, 3}, {28, 1}}) {
    // Another opcode, a class that is none, no such form, no hops, no such mark, a mark without a number.
    auto bytes = good;
    bytes[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    EXPECT_FALSE(EscapeTokenFrame::parse(bytes)) << at;
  }
  // An IPv4 address has a form of its own.
  EscapeTokenFrame mixed = ipv6_token();
  std::array<std::byte, EscapeTokenFrame::kSize> bytes;
  mixed.write(bytes, {});
  const Gid ipv4 = ipv4_mapped({10, 0, 0, 1});
  for (std::size_t i = 0; i < ipv4.size(); ++i) bytes[36 + i] = std::byte{ipv4[i]};
  EXPECT_FALSE(EscapeTokenFrame::parse(bytes));
  for (const test::NamedFrame& frame : test::made_frames())
    EXPECT_FALSE(EscapeTokenFrame::parse(frame.bytes));
}

}  // namespace
}  // namespace rocelab
