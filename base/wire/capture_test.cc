// The wire truth: frames that Linux rxe sent and accepted (tests/data/captures/README.md) are read, written
// back and verified.
#include <gtest/gtest.h>

#include <set>

#include "base/wire/frame.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

using test::ByteVector;
using test::NamedFrame;

// One frame: it parses, its ICRC verifies by both implementations, and writing what was parsed gives its
// bytes from the Ethernet header to the ICRC. Behind that a capture may have padding or none (a sender's own
// frames are captured before the NIC pads them).
void expect_round_trip(const NamedFrame& frame) {
  SCOPED_TRACE(frame.name + ": " + test::to_hex(frame.bytes));
  FrameError why = FrameError::kNone;
  const auto parsed = parse_frame(frame.bytes, IcrcCheck::kVerify, &why);
  ASSERT_TRUE(parsed) << to_string(why);
  const FrameLayout& layout = parsed->layout;
  const auto covered = std::span(frame.bytes).subspan(layout.ip, layout.icrc - layout.ip);
  const std::uint32_t on_wire = wire::load_le32(frame.bytes, layout.icrc);
  EXPECT_EQ(icrc_portable(covered, layout.is_ipv4), on_wire);
  if (has_pclmul()) {
    EXPECT_EQ(icrc_pclmul(covered, layout.is_ipv4), on_wire);
  }

  ByteVector written(frame.bytes.size() + 64, std::byte{0xa5});
  written.resize(write_frame(parsed->address, parsed->roce, parsed->payload, written));
  const std::size_t end = layout.icrc + kIcrcBytes;
  EXPECT_EQ(written.size(), std::max<std::size_t>(end, 60));
  EXPECT_EQ(written.size(), frame_length(parsed->roce, parsed->payload.size(), layout.is_ipv4,
                                         parsed->address.vlan.has_value()));
  EXPECT_EQ(test::to_hex(std::span(written).first(end)), test::to_hex(std::span(frame.bytes).first(end)));
  for (std::size_t i = end; i < written.size(); ++i)
    EXPECT_EQ(written[i], std::byte{0}) << "padding at " << i;
}

TEST(CaptureTest, EveryFrameParsesVerifiesAndIsWrittenBackToTheSameBytes) {
  const auto frames = test::load_captures(test::own_captures());
  EXPECT_EQ(frames.size(), 354u);  // sum of "pkts" in the captures' README
  for (const NamedFrame& frame : frames) expect_round_trip(frame);
}

TEST(CaptureTest, EveryFrameOfTheFurtherCapturesDoesToo) {
  if (test::further_captures().empty()) GTEST_SKIP() << "ROCELAB_CAPTURES names no folder";
  for (const auto& folder : test::further_captures()) {
    const auto frames = test::load_captures(folder);
    ASSERT_FALSE(frames.empty()) << folder << " holds no capture";
    for (const NamedFrame& frame : frames) expect_round_trip(frame);
  }
}

TEST(CaptureTest, OwnCapturesShowTheOpcodesThatTheirReadmeLists) {
  std::set<std::string_view> seen;
  for (const NamedFrame& frame : test::load_captures(test::own_captures()))
    seen.insert(opcode_info(parse_frame(frame.bytes)->roce.opcode).name);
  const std::set<std::string_view> want{"RC_SEND_FIRST",
                                        "RC_SEND_MIDDLE",
                                        "RC_SEND_LAST",
                                        "RC_SEND_ONLY",
                                        "RC_SEND_ONLY_WITH_IMMEDIATE",
                                        "RC_RDMA_WRITE_FIRST",
                                        "RC_RDMA_WRITE_MIDDLE",
                                        "RC_RDMA_WRITE_LAST",
                                        "RC_RDMA_WRITE_LAST_WITH_IMMEDIATE",
                                        "RC_RDMA_WRITE_ONLY",
                                        "RC_RDMA_READ_REQUEST",
                                        "RC_RDMA_READ_RESPONSE_FIRST",
                                        "RC_RDMA_READ_RESPONSE_MIDDLE",
                                        "RC_RDMA_READ_RESPONSE_LAST",
                                        "RC_RDMA_READ_RESPONSE_ONLY",
                                        "RC_ACKNOWLEDGE",
                                        "RC_ATOMIC_ACKNOWLEDGE",
                                        "RC_COMPARE_SWAP",
                                        "RC_FETCH_ADD",
                                        "UC_SEND_FIRST",
                                        "UC_SEND_MIDDLE",
                                        "UC_SEND_LAST",
                                        "UC_RDMA_WRITE_FIRST",
                                        "UC_RDMA_WRITE_MIDDLE",
                                        "UC_RDMA_WRITE_LAST",
                                        "UD_SEND_ONLY",
                                        "UD_SEND_ONLY_WITH_IMMEDIATE"};
  EXPECT_EQ(seen, want);
}

TEST(CaptureTest, RxeSetsWhatOurFramesTakeAsDefault) {
  const FrameAddress ours;
  for (const NamedFrame& frame : test::load_captures(test::own_captures())) {
    SCOPED_TRACE(frame.name);
    const auto parsed = parse_frame(frame.bytes);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->address.ttl, ours.ttl);
    EXPECT_EQ(parsed->address.dont_fragment, ours.dont_fragment);
    EXPECT_EQ(parsed->address.udp_checksum, ours.udp_checksum);
    EXPECT_EQ(parsed->roce.pkey, kDefaultPkey);
  }
}

// A single flipped bit that the ICRC covers is noticed; one in a masked field is not.
TEST(CaptureTest, IcrcNoticesEveryCoveredBitAndNoMaskedOne) {
  NamedFrame ack;
  for (const NamedFrame& frame : test::load_captures(test::own_captures()))
    if (frame.name == "rc_write_only.pcap frame 2") ack = frame;
  ASSERT_EQ(ack.bytes.size(), 62u);
  const std::set<std::size_t> masked{15, 22, 24, 25,
                                     40, 41, 46};  // TOS, TTL, IP checksum, UDP checksum, BTH byte 4
  for (std::size_t at = 14; at < ack.bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      ByteVector flipped = ack.bytes;
      flipped[at] ^= static_cast<std::byte>(1 << bit);
      const auto covered = std::span<const std::byte>(flipped).subspan(14, flipped.size() - 18);
      const bool same = icrc(covered, true) == wire::load_le32(flipped, flipped.size() - 4);
      EXPECT_EQ(same, masked.contains(at)) << "byte " << at << " bit " << bit;
    }
  }
}

}  // namespace
}  // namespace rocelab
