// The IRN class: what IRN (R. Mittal, thesis, chapter 4) puts on the wire, in the manufacturer range of BTH
// opcodes, bits 7-5 = 110, so that neither a RoCE stack nor a dissector takes it for RC. The thesis names the
// fields (4.4.2 - 4.4.4) and leaves their layout open: this is ours. Operations 0x00 - 0x14 are those of RC;
// NACK, READ_ACK, READ_NACK, ACK_BLOCKS and READ_ACK_BLOCKS are new. Headers behind the BTH, by operation:
//
//   SEND_* without imm         IRN SEND header
//   SEND_*_IMM                 IRN SEND header, ImmDt
//   SEND_*_INVALIDATE          IRN SEND header, IETH
//   WRITE_* without imm        RETH
//   WRITE_*_IMM                RETH, IRN WQE SN (recv_WQE_SN), ImmDt
//   READ_REQUEST               RETH, IRN WQE SN (read_WQE_SN)
//   READ_RESPONSE_*            AETH, but none in MIDDLE
//   COMPARE_SWAP, FETCH_ADD    AtomicETH, IRN WQE SN (read_WQE_SN)
//   ATOMIC_ACKNOWLEDGE         AETH, AtomicAckETH
//   ACK                        AETH
//   NACK                       AETH, IRN SACK
//   READ_ACK                   -
//   READ_NACK                  IRN SACK
//   ACK_BLOCKS                 AETH, IRN blocks
//   READ_ACK_BLOCKS            IRN blocks
//
// Meaning of fields that RC has too:
//  - BTH PSN of ACK, NACK, ACK_BLOCKS, READ_ACK, READ_NACK, READ_ACK_BLOCKS: the cumulative acknowledgement =
//  the PSN that the receiver
//    expects next (4.2.1), where an RC ACK names the last packet received. Requests are numbered in the sPSN
//    space, READ responses in rPSN (4.4.4).
//  - RETH stands in every packet of a WRITE (4.4.3): VA is the address of this packet's first byte, DMALen
//    the bytes from there to the message's end.
//  - An atomic is treated as a READ of one packet (4.4.2): its acknowledgement is numbered in rPSN and
//    acknowledged by READ_ACK, as a READ response.
//  - ACK_BLOCKS and READ_ACK_BLOCKS, of a receiver with RC3 (chapter 2) that holds something above a gap,
//    say in TCP's form (RFC 2018) what that is. They are answers to packets of all kinds: out of order, in
//    order, or duplicate; a packet above the cumulative value came out of order.
//  - The AETH of a NACK or of ACK_BLOCKS, which report a gap, is an ACK syndrome with credits. RNR and error
//  NAKs are ACK
//    packets (0xd1) with their IBTA syndrome; their BTH PSN, the expected one, is that of the refused packet,
//    and the requester goes back to it (4.4.4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/psn.h"
#include "base/wire/bytes.h"

namespace rocelab {

// IRN SEND header. The thesis counts 6 bytes (4.5.3); two reserved ones follow, because IBTA headers and the
// payload's pad count in 4 bytes.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +-----------------------------------------------+---------------+
// |                  recv_WQE_SN                  | offset (high) |
// +-------------------------------+---------------+---------------+
// |          offset (low)         |           reserved            |
// +-------------------------------+-------------------------------+
struct IrnSendHeader {
  static constexpr std::size_t kSize = 8, kRecvWqeSn = 0, kOffset = 3, kReserved = 6;
  std::uint32_t recv_wqe_sn = 0;  // 24 bits: order of the Receive WQE that this message consumes, 4.4.3
  std::uint32_t offset = 0;       // 24 bits: packets since the message's first; times path MTU = place in it
  friend bool operator==(const IrnSendHeader&, const IrnSendHeader&) = default;

  static std::optional<IrnSendHeader> parse(std::span<const std::byte> b) {
    return wire::parse<IrnSendHeader>(b);
  }
  static IrnSendHeader read(std::span<const std::byte, kSize> b) {
    return IrnSendHeader{wire::load24(b, kRecvWqeSn), wire::load24(b, kOffset)};
  }
  void write(std::span<std::byte, kSize> out) const {
    wire::store24(out, kRecvWqeSn, recv_wqe_sn);
    wire::store24(out, kOffset, offset);
    wire::store16(out, kReserved, 0);
  }
};
std::string to_string(const IrnSendHeader& header);

// IRN WQE SN: recv_WQE_SN in the last packet of a WRITE with immediate, read_WQE_SN in READ and
// atomic requests (4.4.3).
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------+-----------------------------------------------+
// |   reserved    |         recv_WQE_SN or read_WQE_SN            |
// +---------------+-----------------------------------------------+
struct IrnWqeSn {
  static constexpr std::size_t kSize = 4, kReserved = 0, kSn = 1;
  std::uint32_t sn = 0;  // 24 bits
  friend bool operator==(const IrnWqeSn&, const IrnWqeSn&) = default;

  static std::optional<IrnWqeSn> parse(std::span<const std::byte> b) { return wire::parse<IrnWqeSn>(b); }
  static IrnWqeSn read(std::span<const std::byte, kSize> b) { return IrnWqeSn{wire::load24(b, kSn)}; }
  void write(std::span<std::byte, kSize> out) const {
    wire::store8(out, kReserved, 0);
    wire::store24(out, kSn, sn);
  }
};
std::string to_string(const IrnWqeSn& header);

// IRN SACK: the PSN of the packet whose arrival out of order triggered this NACK or READ_NACK (4.2.1).
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------+-----------------------------------------------+
// |   reserved    |          PSN that triggered the NACK          |
// +---------------+-----------------------------------------------+
struct IrnSack {
  static constexpr std::size_t kSize = 4, kReserved = 0, kPsn = 1;
  Psn psn;
  friend bool operator==(const IrnSack&, const IrnSack&) = default;

  static std::optional<IrnSack> parse(std::span<const std::byte> b) { return wire::parse<IrnSack>(b); }
  static IrnSack read(std::span<const std::byte, kSize> b) { return IrnSack{Psn(wire::load24(b, kPsn))}; }
  void write(std::span<std::byte, kSize> out) const {
    wire::store8(out, kReserved, 0);
    wire::store24(out, kPsn, psn.value());
  }
};
std::string to_string(const IrnSack& header);

// IRN blocks: the packet that drew this answer, and up to three runs of packets above the cumulative value
// that have arrived: [first, end), the most recently changed one first (RFC 2018, 3 and 4). Unused ones are
// zero; a block that is empty says nothing.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------+-----------------------------------------------+
// |   reserved    |         PSN that triggered the answer         |
// +---------------+-----------------------------------------------+
// |   reserved    |            first PSN of the block             |
// +---------------+-----------------------------------------------+  three times
// |   reserved    |          one past the block's last            |
// +---------------+-----------------------------------------------+
struct IrnBlocks {
  struct Block {
    Psn first, end;
    friend bool operator==(const Block&, const Block&) = default;
  };
  static constexpr std::size_t kSize = 28, kTrigger = 1, kBlocks = 4, kCount = 3, kBlockBytes = 8;
  Psn trigger;
  std::array<Block, kCount> blocks;
  friend bool operator==(const IrnBlocks&, const IrnBlocks&) = default;

  static std::optional<IrnBlocks> parse(std::span<const std::byte> b) { return wire::parse<IrnBlocks>(b); }
  static IrnBlocks read(std::span<const std::byte, kSize> b) {
    IrnBlocks header{Psn(wire::load24(b, kTrigger)), {}};
    for (std::size_t i = 0, at = kBlocks; i < kCount; ++i, at += kBlockBytes)
      header.blocks[i] = {Psn(wire::load24(b, at + 1)), Psn(wire::load24(b, at + 5))};
    return header;
  }
  void write(std::span<std::byte, kSize> out) const {
    put(out, 0, trigger);
    for (std::size_t i = 0, at = kBlocks; i < kCount; ++i, at += kBlockBytes)
      put(out, at, blocks[i].first), put(out, at + 4, blocks[i].end);
  }

 private:
  static void put(std::span<std::byte, kSize> out, std::size_t at, Psn psn) {
    wire::store8(out, at, 0);
    wire::store24(out, at + 1, psn.value());
  }
};
std::string to_string(const IrnBlocks& header);

}  // namespace rocelab
