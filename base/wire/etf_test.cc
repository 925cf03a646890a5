#include "base/wire/etf.h"

#include <gtest/gtest.h>

#include "base/wire/pfc.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

const char* const kToken =
    "0180c2000001 020000000009 8808 0102 0300 0002 0a000001 0a000103 00001011"
    "00000000000000000000000000000000000000000000000000000000";

EscapeTokenFrame token() {
  EscapeTokenFrame t;
  t.tc = Tc{3};
  t.hops = 2;
  t.source = 0x0a000001;
  t.destination = 0x0a000103;
  t.dest = Qpn{0x1011};
  return t;
}

TEST(EtfTest, FieldsStandAsTheDiagramSays) {
  const auto bytes = test::from_hex(kToken);
  ASSERT_EQ(bytes.size(), EscapeTokenFrame::kSize);
  std::array<std::byte, EscapeTokenFrame::kSize> written;
  written.fill(std::byte{0xee});
  token().write(written, {2, 0, 0, 0, 0, 9});
  EXPECT_EQ(test::to_hex(written), test::to_hex(bytes));
  const auto parsed = EscapeTokenFrame::parse(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, token());
  EXPECT_EQ(to_string(*parsed), "ETF TC3 hops 2 QPN 4113");
}

TEST(EtfTest, OtherFramesAndShortOnesAreNone) {
  const auto good = test::from_hex(kToken);
  for (std::size_t length = 0; length < 32; ++length)
    EXPECT_FALSE(EscapeTokenFrame::parse(std::span(good).first(length))) << length;
  EXPECT_FALSE(PfcFrame::parse(good));
  for (const auto& [at, value] : {std::pair{15, 0x01}, std::pair{16, 8}, std::pair{19, 0}}) {
    auto bytes = good;  // another opcode, a class that is none, no hops
    bytes[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    EXPECT_FALSE(EscapeTokenFrame::parse(bytes)) << at;
  }
  for (const test::NamedFrame& frame : test::made_frames())
    EXPECT_FALSE(EscapeTokenFrame::parse(frame.bytes));
}

}  // namespace
}  // namespace rocelab
