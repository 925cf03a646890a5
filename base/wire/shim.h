// The shim slot: type-length-value parts in a row between UDP and BTH, in which switches carry what they add
// for one another (hops, telemetry), each mechanism in a part of its own (shim_parts.h). The first byte of a
// part lies in the opcode range 111xxxxx, which no BTH of ours or of IBTA uses, so that the first byte behind
// UDP, or behind a part, tells whether another one follows. IP total length (payload length), IPv4 checksum
// and UDP length count the shim while it is there. A switch takes it out before the host: all bytes that the
// ICRC covers are then as the sender wrote them, so that it still holds. A frame with a shim has no valid
// ICRC of its own.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +-----+---------+---------------+-------------------------------+
// |1 1 1|   id    | value words   |      info: the part's own     |
// +-----+---------+---------------+-------------------------------+
// |                 value, 0 to 255 words of 4 bytes              |
// +---------------------------------------------------------------+
// |                 further parts, or the BTH                     |
// +---------------------------------------------------------------+
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/wire/bytes.h"
#include "base/wire/opcode.h"

namespace rocelab {

struct ShimHeader {  // of a part
  static constexpr std::size_t kSize = 4, kId = 0, kWords = 1, kInfo = 2;
  std::uint8_t id = 0;           // 5 bits
  std::uint8_t value_words = 0;  // length of the value in units of 4 bytes
  std::uint16_t info = 0;
  friend bool operator==(const ShimHeader&, const ShimHeader&) = default;

  constexpr std::size_t total_bytes() const { return kSize + std::size_t{4} * value_words; }

  static std::optional<ShimHeader> parse(std::span<const std::byte> b) {
    if (b.size() < kSize || (wire::load8(b, kId) & kTransportClassMask) != kShimClass) return std::nullopt;
    return ShimHeader{static_cast<std::uint8_t>(wire::load8(b, kId) & 0x1f), wire::load8(b, kWords),
                      wire::load16(b, kInfo)};
  }
  void write(std::span<std::byte, kSize> out) const {
    wire::store8(out, kId, static_cast<std::uint8_t>(kShimClass | (id & 0x1f)));
    wire::store8(out, kWords, value_words);
    wire::store16(out, kInfo, info);
  }
};
std::string to_string(const ShimHeader& header);

// Bytes of the parts at the front of `b`, 0 if there are none. Null: the last one is cut short.
inline std::optional<std::size_t> shim_bytes_at(std::span<const std::byte> b) {
  std::size_t bytes = 0;
  while (const auto header = ShimHeader::parse(b.subspan(bytes))) {
    bytes += header->total_bytes();
    if (bytes > b.size()) return std::nullopt;
  }
  return bytes;
}

// Where the parts of a frame are: at frame[offset ..], can be read and rewritten in place.
struct ShimPlace {
  std::size_t offset = 0;
  std::size_t bytes = 0;
  friend bool operator==(const ShimPlace&, const ShimPlace&) = default;
};

// Null: not a RoCEv2 frame, no shim, or one that is longer than its packet leaves room for (a BTH and an ICRC
// must follow).
std::optional<ShimPlace> find_shim(std::span<const std::byte> frame);

// `buffer` begins with a frame of `frame_length` bytes (whatever lies behind its ICRC included) and has room
// behind it; `parts` are whole parts, at least one. Returns the new length; null, and nothing changed: not a
// RoCEv2 frame, a shim is there already, no room, or `parts` are none.
std::optional<std::size_t> insert_shim(std::span<std::byte> buffer, std::size_t frame_length,
                                       std::span<const std::byte> parts);

// Takes all parts out of `frame` and returns the new length; null, and nothing changed: find_shim() finds
// none. The bytes of a frame to which insert_shim() was applied are as before.
std::optional<std::size_t> remove_shim(std::span<std::byte> frame);

}  // namespace rocelab
