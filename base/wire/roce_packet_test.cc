// Transport headers: bytes of a capture with what tshark says about them above, then the round trip; and
// lengths that cannot be.
#include "base/wire/roce_packet.h"

#include <gtest/gtest.h>

#include "base/wire/aeth.h"
#include "base/wire/irn.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

using test::from_hex;

// Parses, compares, writes back.
void expect_headers(std::string_view hex, const RoceHeaders& want) {
  const auto bytes = from_hex(hex);
  const auto parsed = parse_roce_headers(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, want) << to_string(*parsed);
  std::array<std::byte, kMaxRoceHeaderBytes> written;
  const std::size_t length = write_roce_headers(want, written);
  EXPECT_EQ(test::to_hex(std::span(written).first(length)), test::to_hex(bytes));
}

RoceHeaders rxe_headers(std::uint8_t opcode, std::uint32_t qpn, std::uint32_t psn) {
  RoceHeaders r;
  r.opcode = opcode;
  r.mig_req = false;
  r.dest = Qpn{qpn};
  r.psn = Psn(psn);
  return r;
}

// rc_write_only.pcap frame 1: RC - RDMA WRITE Only (10); SE 0, MigReq 0, Pad 0, P_Key 65535; Destination QP
// 0x0000a6; AckReq 1; PSN 1048576; RETH Virtual Address 0x00005607ca3de000, Remote Key 0x00009da7, DMA Length
// 64
TEST(RocePacketTest, WriteOnlyHasReth) {
  RoceHeaders r = rxe_headers(0x0a, 0xa6, 0x100000);
  r.ack_req = true;
  r.va = 0x5607ca3de000;
  r.rkey = RKey{0x9da7};
  r.dma_length = 64;
  expect_headers("0a00ffff 000000a6 80100000 00005607ca3de000 00009da7 00000040", r);
}

// rc_write_only.pcap frame 2: RC - Acknowledge (17); Destination QP 0x0000a8; AckReq 0; PSN 1048576; AETH
// Syndrome 31, Ack; MSN 1
TEST(RocePacketTest, AcknowledgeHasAeth) {
  RoceHeaders r = rxe_headers(0x11, 0xa8, 0x100000);
  r.syndrome = 0x1f;
  r.msn = Msn{1};
  expect_headers("1100ffff 000000a8 00100000 1f000001", r);
}

// rc_atomic_cas.pcap frame 1: RC - CmpSwap (19); Destination QP 0x0000af; AckReq 1; PSN 1048576; AtomicETH
// Virtual Address 0x00005555ea722000, Remote Key 0x0000a61b, Swap (Or Add) Data 12297848147757817309, Compare
// Data 1229801703532086340
TEST(RocePacketTest, CompareSwapHasAtomicEth) {
  RoceHeaders r = rxe_headers(0x13, 0xaf, 0x100000);
  r.ack_req = true;
  r.va = 0x5555ea722000;
  r.rkey = RKey{0xa61b};
  r.swap_or_add = 12297848147757817309u;
  r.compare = 1229801703532086340u;
  expect_headers("1300ffff 000000af 80100000 00005555ea722000 0000a61b aaaabbbbccccdddd 1111222233334444", r);
}

// rc_atomic_cas.pcap frame 2: RC - ATOMIC Acknowledge (18); Destination QP 0x0000b1; PSN 1048576; Syndrome
// 31, Ack; MSN 1; Original Remote Data 1229801703532086340
TEST(RocePacketTest, AtomicAcknowledgeHasAethAndTheOriginalValue) {
  RoceHeaders r = rxe_headers(0x12, 0xb1, 0x100000);
  r.syndrome = 0x1f;
  r.msn = Msn{1};
  r.swap_or_add = 1229801703532086340u;
  expect_headers("1200ffff 000000b1 00100000 1f000001 1111222233334444", r);
}

// ud_send_imm.pcap frame 1: UD - SEND only with Immediate (101); Destination QP 0x0000b8; PSN 1048576; DETH
// Queue Key 0x11111111, Source QP 0x000000ba; Immediate Data deadbe00
TEST(RocePacketTest, DatagramHasDethBeforeImmediateData) {
  RoceHeaders r = rxe_headers(0x65, 0xb8, 0x100000);
  r.qkey = 0x11111111;
  r.src_qpn = Qpn{0xba};
  r.imm = 0xdeadbe00;
  expect_headers("6500ffff 000000b8 00100000 11111111 000000ba deadbe00", r);
}

// rc_send_pad.pcap frame 1: RC - SEND Only (4); Pad Count 3; Destination QP 0x0000a2; AckReq 1; PSN 1048576
TEST(RocePacketTest, PadCountSurvives) {
  RoceHeaders r = rxe_headers(0x04, 0xa2, 0x100000);
  r.ack_req = true;
  r.pad = 3;
  expect_headers("0430ffff 000000a2 80100000", r);
}

// By the bit diagram of base/wire/xrc_eth.h: behind the BTH, before the RETH.
TEST(RocePacketTest, XrcHeaderStandsAsItsDiagramSays) {
  RoceHeaders write = rxe_headers(0xab, 0x11, 0xfffff0);
  write.src_qpn = Qpn{0x010203};
  write.va = 0x1000;
  write.rkey = RKey{0x55};
  write.dma_length = 100;
  write.imm = 7;
  expect_headers("ab00ffff 00000011 00fffff0 00010203 0000000000001000 00000055 00000064 00000007", write);
}

// By the bit diagrams of base/wire/irn.h.
TEST(RocePacketTest, IrnHeadersStandAsTheirDiagramsSay) {
  RoceHeaders send = rxe_headers(0xc3, 0x11, 0xfffff0);
  send.wqe_sn = 0x010203;
  send.offset = 0x040506;
  send.imm = 0xcafe0001;
  expect_headers("c300ffff 00000011 00fffff0 010203 040506 0000 cafe0001", send);

  RoceHeaders write = rxe_headers(0xc9, 0x11, 0xfffff1);
  write.va = 0x1000;
  write.rkey = RKey{0x55};
  write.dma_length = 100;
  write.wqe_sn = 0xabcdef;
  write.imm = 7;
  expect_headers("c900ffff 00000011 00fffff1 0000000000001000 00000055 00000064 00abcdef 00000007", write);

  RoceHeaders nack = rxe_headers(0xd8, 0x11, 0xfffffe);  // expects 0xfffffe, triggered by 0x000003
  nack.syndrome = 0x1f;
  nack.msn = Msn{9};
  nack.sack = Psn(3);
  expect_headers("d800ffff 00000011 00fffffe 1f000009 00000003", nack);

  RoceHeaders read_nack = rxe_headers(0xda, 0x11, 5);
  read_nack.sack = Psn(8);
  expect_headers("da00ffff 00000011 00000005 00000008", read_nack);

  RoceHeaders blocks = rxe_headers(0xdb, 0x11, 0xfffffe);
  blocks.syndrome = 0x1f;
  blocks.msn = Msn{9};
  put_irn_blocks(blocks, {Psn(7), {{{Psn(6), Psn(9)}, {Psn(0xffffff), Psn(2)}, {}}}});
  expect_headers(
      "db00ffff 00000011 00fffffe 1f000009 00000007 00000006 00000009 00ffffff 00000002 00000000 00000000",
      blocks);

  RoceHeaders read_blocks = rxe_headers(0xde, 0x11, 5);
  put_irn_blocks(read_blocks, {Psn(8), {{{Psn(8), Psn(9)}, {}, {}}}});
  expect_headers("de00ffff 00000011 00000005 00000008 00000008 00000009 00000000 00000000 00000000 00000000",
                 read_blocks);
}

TEST(RocePacketTest, EveryOpcodeRoundTripsWithEveryFieldSet) {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const OpcodeInfo& info = opcode_info(static_cast<std::uint8_t>(opcode));
    if (!info.known()) continue;
    const RoceHeaders r = test::filled_headers(static_cast<std::uint8_t>(opcode), 61);
    std::array<std::byte, kMaxRoceHeaderBytes> bytes;
    ASSERT_EQ(write_roce_headers(r, bytes), info.header_bytes);
    const auto parsed = parse_roce_headers(std::span(bytes).first(info.header_bytes));
    ASSERT_TRUE(parsed) << info.name;
    EXPECT_EQ(*parsed, r) << to_string(*parsed) << " for " << to_string(r);
  }
}

TEST(RocePacketTest, FewerBytesThanTheHeadersAreRefused) {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const OpcodeInfo& info = opcode_info(static_cast<std::uint8_t>(opcode));
    for (std::size_t length = 0; length <= kMaxRoceHeaderBytes; ++length) {
      // A heap block of exactly this size: a read behind it is an ASan finding.
      std::vector<std::byte> bytes(length, std::byte{0});
      if (length > 0) bytes[0] = static_cast<std::byte>(opcode);
      EXPECT_EQ(parse_roce_headers(bytes).has_value(), info.known() && length >= info.header_bytes)
          << "opcode " << opcode << " length " << length;
    }
  }
}

TEST(RocePacketTest, ReservedBitsAreIgnoredAndWrittenAsZero) {
  auto bytes = from_hex("1100ffff 3f0000a8 7f100000 e0000001");
  const auto parsed = parse_roce_headers(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->fecn || parsed->becn || parsed->ack_req);
  EXPECT_EQ(parsed->syndrome, kNakPsnSequence);
  std::array<std::byte, 16> written;
  write_roce_headers(*parsed, written);
  EXPECT_EQ(test::to_hex(written), "1100ffff000000a80010000060000001");
}

TEST(RocePacketTest, TextNamesOpcodeAndItsFields) {
  EXPECT_EQ(to_string(*parse_roce_headers(
                from_hex("0a00ffff 000000a6 80100000 00005607ca3de000 00009da7 00000040"))),
            "RC_RDMA_WRITE_ONLY QPN 0xa6 PSN 0x100000 AckReq, RETH VA 0x5607ca3de000 R_Key 0x9da7 length 64");
  EXPECT_EQ(to_string(*parse_roce_headers(from_hex("1100ffff 000000cc 00100000 34000000"))),
            "RC_ACKNOWLEDGE QPN 0xcc PSN 0x100000, AETH RNR NAK 10240us MSN 0");
  EXPECT_EQ(to_string(*parse_roce_headers(from_hex("da00ffff 00000011 00000005 00000008"))),
            "IRN_READ_NACK QPN 0x11 PSN 0x000005, SACK 0x000008");
  EXPECT_EQ(
      to_string(*parse_roce_headers(from_hex(
          "de00ffff 00000011 00000005 00000008 00000008 0000000a 00000000 00000000 00000000 00000000"))),
      "IRN_READ_ACK_BLOCKS QPN 0x11 PSN 0x000005, for 0x000008, has 0x000008 to 0x00000a");
}

}  // namespace
}  // namespace rocelab
