#include "base/wire/frame.h"

#include <gtest/gtest.h>

#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

using test::ByteVector;
using test::from_hex;
using test::NamedFrame;

FrameError error_of(std::span<const std::byte> frame, IcrcCheck check = IcrcCheck::kVerify) {
  FrameError why = FrameError::kNone;
  const auto parsed = parse_frame(frame, check, &why);
  EXPECT_EQ(parsed.has_value(), why == FrameError::kNone);
  return why;
}

// rc_write_only.pcap frame 2. Ethernet II, Src 52:54:00:77:00:0a, Dst 52:54:00:77:00:0b; IPv4 Src 10.77.0.10,
// Dst 10.77.0.11, DSCP 0, Not-ECT, Total Length 48, Identification 0x54ee, Don't fragment, TTL 64, UDP,
// Header Checksum 0xd120; UDP Src Port 60657, Dst Port 4791, Length 28, Checksum 0; RC - Acknowledge, QP
// 0x0000a8, PSN 1048576, AETH Ack, MSN 1; Invariant CRC 0x85d3300b
const char* const kAck =
    "52540077000b 52540077000a 0800 45000030 54ee4000 4011d120 0a4d000a 0a4d000b ecf112b7 001c0000"
    "1100ffff 000000a8 00100000 1f000001 85d3300b";

TEST(FrameTest, AckOfACaptureParsesAsTsharkSays) {
  const ByteVector bytes = from_hex(kAck);
  const auto frame = parse_frame(bytes);
  ASSERT_TRUE(frame);
  FrameAddress want;
  want.dst_mac = {0x52, 0x54, 0, 0x77, 0, 0x0b};
  want.src_mac = {0x52, 0x54, 0, 0x77, 0, 0x0a};
  want.src_gid = ipv4_mapped({10, 77, 0, 10});
  want.dst_gid = ipv4_mapped({10, 77, 0, 11});
  want.ip_id = 0x54ee;
  want.udp_src_port = 60657;
  EXPECT_EQ(frame->address, want);
  EXPECT_EQ(to_string(frame->roce), "RC_ACKNOWLEDGE QPN 0xa8 PSN 0x100000, AETH ACK MSN 1");
  EXPECT_TRUE(frame->payload.empty());
  EXPECT_EQ(frame->layout.icrc, 58u);
  EXPECT_EQ(frame->layout.length, 62u);
  ByteVector written(62);
  EXPECT_EQ(write_frame(frame->address, frame->roce, {}, written), 62u);
  EXPECT_EQ(written, bytes);
}

TEST(FrameTest, EveryOpcodeOverIpv4Ipv6AndVlanRoundTrips) {
  const auto frames = test::made_frames();
  ASSERT_GT(frames.size(), 300u);
  for (const NamedFrame& made : frames) {
    SCOPED_TRACE(made.name);
    const auto frame = parse_frame(made.bytes);
    ASSERT_TRUE(frame) << to_string(error_of(made.bytes));
    EXPECT_EQ(frame->roce, test::filled_headers(frame->roce.opcode, frame->payload.size()));
    ByteVector written(made.bytes.size());
    ASSERT_EQ(write_frame(frame->address, frame->roce, frame->payload, written), made.bytes.size());
    EXPECT_EQ(written, made.bytes);
  }
}

// scapy 2.5 (contrib.roce), cnp(dqpn=0x12) over IPv4 with TOS 0xc0, DF, ID 0: a writer and an ICRC that are
// not ours.
TEST(FrameTest, CnpIsWhatScapyBuilds) {
  FrameAddress a = test::address_v4();
  a.dscp = 48;
  a.ecn = Ecn::kNotEct;
  RoceHeaders cnp;
  cnp.opcode = kCnpOpcode;
  cnp.mig_req = false;
  cnp.becn = true;
  cnp.dest = Qpn{0x12};
  ByteVector written(74);
  ASSERT_EQ(write_frame(a, cnp, {}, written), 74u);
  EXPECT_EQ(
      test::to_hex(written),
      "02000000000202000000000108004"
      "5c0003c00004000401125ef0a0000010a000002c00112b7002800008100ffff4000001200000000000000000000000000"
      "00000000000000b2784792");
  EXPECT_EQ(packet_kind(kCnpOpcode), PacketKind::kCnp);
}

TEST(FrameTest, PayloadMayBeGatheredInPlace) {
  const RoceHeaders send = test::filled_headers(0x04, 61);
  ByteVector in_place(256, std::byte{0xee}), copied(256);
  const ByteVector payload(61, std::byte{0x77});
  const FrameLayout layout = write_frame_headers(test::address_v4(), send, 61, in_place);
  std::ranges::copy(payload, in_place.begin() + layout.payload);
  seal_frame(layout, in_place);
  copied.resize(write_frame(test::address_v4(), send, payload, copied));
  ASSERT_EQ(layout.length, copied.size());
  in_place.resize(layout.length);
  EXPECT_EQ(in_place, copied);
}

TEST(FrameTest, LengthCountsHeadersPadAndIcrcButAtLeast60) {
  RoceHeaders r;
  r.opcode = 0x04;  // 14 + 20 + 8 + 12 + 4 = 58
  EXPECT_EQ(frame_length(r, 0, true), 60u);
  EXPECT_EQ(frame_length(r, 0, true, true), 62u);
  EXPECT_EQ(frame_length(r, 0, false), 78u);
  EXPECT_EQ(frame_length(r, 1, true), 62u);
  EXPECT_EQ(frame_length(r, 61, true), 122u);  // rc_send_pad.pcap frame 1
  EXPECT_EQ(frame_length(r, 64, true), 122u);
  r.opcode = 0x06;
  EXPECT_EQ(frame_length(r, 1024, true), 1098u);  // rc_write_imm.pcap frame 1
}

TEST(FrameTest, BytesBehindTheIcrcAreLeftAlone) {
  ByteVector bytes = from_hex(kAck);
  const ByteVector trailer(12, std::byte{0x99});
  bytes.insert(bytes.end(), trailer.begin(), trailer.end());
  const auto frame = parse_frame(bytes);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->layout.length, 62u);
}

TEST(FrameTest, EveryTruncationIsRefused) {
  for (const NamedFrame& made : test::made_frames()) {
    const std::size_t end = parse_frame(made.bytes)->layout.icrc + kIcrcBytes;
    const std::size_t step = end > 200 ? 37 : 1;
    for (std::size_t length = 0; length < end; length += step) {
      const ByteVector cut(made.bytes.begin(), made.bytes.begin() + static_cast<std::ptrdiff_t>(length));
      const FrameError why = error_of(cut, IcrcCheck::kSkip);
      EXPECT_TRUE(why == FrameError::kTooShort || why == FrameError::kLengthMismatch)
          << made.name << " cut to " << length << ": " << to_string(why);
    }
  }
}

// Changes the ACK at one place, puts the IP checksum right, and expects the reason.
void expect_error(std::size_t at, std::string_view hex, FrameError want) {
  ByteVector bytes = from_hex(kAck);
  std::ranges::copy(from_hex(hex), bytes.begin() + static_cast<std::ptrdiff_t>(at));
  Ipv4Header::write_checksum(std::span(bytes).subspan(14).first<Ipv4Header::kSize>());
  EXPECT_EQ(error_of(bytes), want) << hex << " at " << at << ": " << to_string(error_of(bytes));
}

TEST(FrameTest, NamesTheReasonWhenItRefuses) {
  expect_error(12, "0806", FrameError::kNotIp);
  expect_error(12, "86dd", FrameError::kNotIp);
  expect_error(14, "46", FrameError::kNotIp);  // options
  expect_error(16, "0031", FrameError::kLengthMismatch);
  expect_error(16, "002f", FrameError::kLengthMismatch);
  expect_error(16, "0013", FrameError::kLengthMismatch);
  expect_error(16, "0020", FrameError::kLengthMismatch);
  expect_error(20, "6000", FrameError::kFragment);
  expect_error(20, "0001", FrameError::kFragment);
  expect_error(23, "06", FrameError::kNotRoce);
  expect_error(36, "12b8", FrameError::kNotRoce);
  expect_error(38, "001b", FrameError::kLengthMismatch);
  expect_error(42, "e3", FrameError::kShim);
  expect_error(42, "15", FrameError::kUnknownOpcode);
  expect_error(42, "0a", FrameError::kTooShort);  // RETH does not fit
  expect_error(42, "1101", FrameError::kBadTransportVersion);
  expect_error(42, "1110", FrameError::kBadPad);    // no payload, so no pad
  expect_error(42, "d9", FrameError::kBadPayload);  // READ_ACK has none: 4 bytes too many
  expect_error(42, "0010", FrameError::kBadPad);    // SEND_FIRST is never padded
  expect_error(50, "80", FrameError::kBadIcrc);
  ByteVector bytes = from_hex(kAck);
  bytes[22] = std::byte{63};
  EXPECT_EQ(error_of(bytes), FrameError::kBadIpChecksum);
}

TEST(FrameTest, UnalignedPayloadIsRefused) {
  RoceHeaders send = test::filled_headers(0x04, 4);
  ByteVector bytes(256);
  bytes.resize(write_frame(test::address_v6(), send, ByteVector(4), bytes));
  bytes.pop_back();
  wire::store16(bytes, 14 + Ipv6Header::kPayloadLength, static_cast<std::uint16_t>(bytes.size() - 54));
  wire::store16(bytes, 54 + UdpHeader::kLength, static_cast<std::uint16_t>(bytes.size() - 54));
  EXPECT_EQ(error_of(bytes), FrameError::kBadPayload);
}

TEST(FrameTest, KindsTellDataFromAcknowledgements) {
  for (const int opcode : {0x00, 0x06, 0x0c, 0x0d, 0x13, 0x64, 0xc7, 0xcd})
    EXPECT_EQ(packet_kind(static_cast<std::uint8_t>(opcode)), PacketKind::kData) << opcode;
  for (const int opcode : {0x11, 0x12, 0xd1, 0xd8, 0xd9, 0xda})
    EXPECT_EQ(packet_kind(static_cast<std::uint8_t>(opcode)), PacketKind::kAck) << opcode;
  EXPECT_EQ(packet_kind(0xff), PacketKind::kOther);
}

TEST(FrameTest, AddressesPrintAsPeopleWriteThem) {
  EXPECT_EQ(to_string(MacAddress{0x52, 0x54, 0, 0x77, 0, 0x0a}), "52:54:00:77:00:0a");
  EXPECT_EQ(to_string(ipv4_mapped({10, 77, 0, 11})), "::ffff:10.77.0.11");
  EXPECT_EQ(to_string(test::address_v6().src_gid), "fe80::1");
  EXPECT_EQ(to_string(Ipv6Address{}), "::");
  EXPECT_EQ(to_string(Ipv6Address{0x20, 1, 0x0d, 0xb8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}),
            "2001:db8:0:1::1");
  EXPECT_EQ(to_string(Ipv6Address{0, 1, 0, 0, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7}), "1:0:2:3:4:5:6:7");
}

}  // namespace
}  // namespace rocelab
