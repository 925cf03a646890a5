#include "base/wire/clcm.h"

#include <gtest/gtest.h>

#include "base/packet.h"
#include "base/wire/controls.h"
#include "base/wire/etf.h"
#include "base/wire/pfc.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

const char* const kMessage =
    "0180c2000001 020000000009 8808 0103 0300 0002 00000007 0123456789abcdef"
    "00000000000000000000000000000000000000000000000000000000";
constexpr Clcm kFields{Tc{3}, 2, 7, 0x0123456789abcdef};

TEST(ClcmTest, FieldsStandAsTheDiagramSays) {
  const auto bytes = test::from_hex(kMessage);
  ASSERT_EQ(bytes.size(), Clcm::kSize);
  std::array<std::byte, Clcm::kSize> written;
  written.fill(std::byte{0xee});
  kFields.write(written, {2, 0, 0, 0, 0, 9});
  EXPECT_EQ(test::to_hex(written), test::to_hex(bytes));
  EXPECT_EQ(Clcm::parse(bytes), kFields);
  EXPECT_EQ(to_string(kFields), "CLCM TC3 hops 2 round 7 id 81985529216486895");
}

TEST(ClcmTest, OtherFramesAndShortOnesAreNone) {
  const auto good = test::from_hex(kMessage);
  for (std::size_t length = 0; length < 32; ++length)
    EXPECT_FALSE(Clcm::parse(std::span(good).first(length))) << length;
  EXPECT_TRUE(Clcm::parse(std::span(good).first(32))) << "padding is not asked for";
  EXPECT_FALSE(PfcFrame::parse(good));
  EXPECT_FALSE(EscapeTokenFrame::parse(good));
  for (const auto& [at, value] : {std::pair{13, 0x00}, {15, 0x02}, {16, 8}, {19, 0}}) {
    auto bytes = good;  // another EtherType, another opcode, a class that is none, no hops
    bytes[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    EXPECT_FALSE(Clcm::parse(bytes)) << at;
  }
  for (const test::NamedFrame& frame : test::made_frames()) EXPECT_FALSE(Clcm::parse(frame.bytes));
}

}  // namespace
}  // namespace rocelab
