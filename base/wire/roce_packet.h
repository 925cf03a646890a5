// Bytes <-> RoceHeaders: the BTH and the extension headers that the opcode table gives its opcode, in wire
// order. Payload is not looked at. Source: IBTA Vol 1, chapter 9; class IRN: base/wire/irn.h. A parsed
// RoceHeaders has a known opcode and zero in every field that the opcode does not carry; writing it gives the
// same bytes, except reserved bits, which become 0.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/wire/irn.h"
#include "base/wire/opcode.h"
#include "base/wire/roce_headers.h"

namespace rocelab {

// Bytes from the BTH to the payload; 0 for an opcode that does not exist.
constexpr std::size_t roce_header_bytes(const RoceHeaders& headers) {
  return opcode_info(headers.opcode).header_bytes;
}

// Bytes that fill a payload up to a multiple of 4 (IBTA 9.2.4).
constexpr std::uint8_t pad_bytes(std::size_t payload_length) {
  return static_cast<std::uint8_t>((0 - payload_length) & 3);
}

// `bytes` begins with the BTH and may go on behind the headers. Null: unknown opcode, or fewer bytes than its
// headers need.
std::optional<RoceHeaders> parse_roce_headers(std::span<const std::byte> bytes);
// The same into a RoceHeaders as it is made, for opcodes that are known; false: fewer bytes than they need.
bool read_roce_headers(std::span<const std::byte> bytes, const OpcodeInfo& info, RoceHeaders& out);

// Writes roce_header_bytes(headers) bytes and returns their number. The opcode is known and `out` is long
// enough (RL_CHECK).
std::size_t write_roce_headers(const RoceHeaders& headers, std::span<std::byte> out);

// The blocks of (READ_)ACK_BLOCKS, which lie in fields that answers leave free.
IrnBlocks irn_blocks_of(const RoceHeaders& headers);
void put_irn_blocks(RoceHeaders& headers, const IrnBlocks& blocks);

// One line: name, QPN, PSN, and the fields that the opcode has.
std::string to_string(const RoceHeaders& headers);

}  // namespace rocelab
