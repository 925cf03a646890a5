#include "base/wire/pfc.h"

#include <gtest/gtest.h>

#include "base/packet.h"
#include "base/wire/controls.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

// tshark: MAC Control, Dst 01:80:c2:00:00:01, Src 02:00:00:00:00:09; Opcode: Class Based Flow Control [CBFC]
// Pause (0x0101); CBFC Class Enable Vector: 0x0048 (C3, C6); CBFC Class Pause Times: C3 65535, C6 0
const char* const kPause3Resume6 =
    "0180c2000001 020000000009 8808 0101 0048 0000 0000 0000 ffff 0000 0000 0000 0000"
    "0000000000000000000000000000000000000000000000000000";

PfcFrame pause3_resume6() {
  PfcFrame pfc;
  pfc.class_enable = 0x48;
  pfc.time[3] = 0xffff;
  return pfc;
}

TEST(PfcTest, ClassesAndTimesStandWhereTsharkFindsThem) {
  const auto bytes = test::from_hex(kPause3Resume6);
  ASSERT_EQ(bytes.size(), PfcFrame::kSize);
  const auto parsed = PfcFrame::parse(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, pause3_resume6());
  EXPECT_EQ(to_string(*parsed), "PFC TC3=65535 TC6=0");
  std::array<std::byte, PfcFrame::kSize> written;
  written.fill(std::byte{0xee});
  pause3_resume6().write(written, {2, 0, 0, 0, 0, 9});
  EXPECT_EQ(test::to_hex(written), test::to_hex(bytes));
}

TEST(PfcTest, OtherFramesAndShortOnesAreNotPfc) {
  auto bytes = test::from_hex(kPause3Resume6);
  for (std::size_t length = 0; length < 34; ++length)
    EXPECT_FALSE(PfcFrame::parse(
        test::ByteVector(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length))));
  bytes[15] = std::byte{0x02};  // opcode 0x0102
  EXPECT_FALSE(PfcFrame::parse(bytes));
  bytes = test::from_hex(kPause3Resume6);
  bytes[12] = std::byte{0x08}, bytes[13] = std::byte{0x00};  // IPv4
  EXPECT_FALSE(PfcFrame::parse(bytes));
}

TEST(PfcTest, AQuantumIs512BitTimes) {
  EXPECT_EQ(pause_duration(1, 40_Gbps), Duration::from_ps(12'800));
  EXPECT_EQ(pause_duration(0xffff, 40_Gbps), Duration::from_ps(12'800) * 65'535);
  EXPECT_EQ(pause_duration(0, 40_Gbps), 0_ps);
}

}  // namespace
}  // namespace rocelab
