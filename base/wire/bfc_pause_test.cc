#include "base/wire/bfc_pause.h"

#include <gtest/gtest.h>

#include "base/wire/clcm.h"
#include "base/wire/pfc.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

const char* const kFrame =
    "0180c2000001 020000000009 8808 0104 0300"
    "8000000000000005 0000000000000000 0000000000000001 4000000000000000"
    "00000000000000000000";

BfcPause fields() {
  BfcPause pause{Tc{3}, {}};
  for (const std::size_t queue : {0u, 2u, 63u, 128u, 254u}) pause.queues.set(queue, true);
  return pause;
}

TEST(BfcPauseTest, FieldsStandAsTheDiagramSays) {
  const auto bytes = test::from_hex(kFrame);
  ASSERT_EQ(bytes.size(), BfcPause::kSize);
  std::array<std::byte, BfcPause::kSize> written;
  written.fill(std::byte{0xee});
  fields().write(written, {2, 0, 0, 0, 0, 9});
  EXPECT_EQ(test::to_hex(written), test::to_hex(bytes));
  EXPECT_EQ(BfcPause::parse(bytes), fields());
  EXPECT_EQ(to_string(fields()), "BFC pause TC3 queues 0 2 63 128 254");
}

TEST(BfcPauseTest, OtherFramesAndShortOnesAreNone) {
  const auto good = test::from_hex(kFrame);
  for (std::size_t length = 0; length < 50; ++length)
    EXPECT_FALSE(BfcPause::parse(std::span(good).first(length))) << length;
  EXPECT_TRUE(BfcPause::parse(std::span(good).first(50))) << "padding is not asked for";
  EXPECT_FALSE(PfcFrame::parse(good));
  EXPECT_FALSE(Clcm::parse(good));
  for (const auto& [at, value] : {std::pair{13, 0x00}, {15, 0x03}, {16, 8}}) {
    auto bytes = good;  // another EtherType, another opcode, a class that is none
    bytes[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    EXPECT_FALSE(BfcPause::parse(bytes)) << at;
  }
}

TEST(BfcQueuesTest, ASetKnowsWhichQueuesAreInIt) {
  BfcQueues queues;
  EXPECT_EQ(queues.count(), 0u);
  queues.set(255, true);
  queues.set(64, true);
  EXPECT_TRUE(queues.has(255) && queues.has(64));
  EXPECT_FALSE(queues.has(63) || queues.has(0));
  EXPECT_EQ(queues.count(), 2u);
  queues.set(64, false);
  EXPECT_EQ(queues.count(), 1u);
  EXPECT_EQ(bfc_queue_of(Qpn{0x1234ff}), 255);
  EXPECT_EQ(bfc_queue_of(Qpn{0x123500}), 0);
}

}  // namespace
}  // namespace rocelab
