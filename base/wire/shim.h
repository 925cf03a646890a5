// The shim slot: at most one type-length-value block between UDP and BTH, in which switches carry what they
// add for one another (hops, telemetry, slack). Its first byte lies in the opcode range 111xxxxx, which no
// BTH of ours or of IBTA uses, so that the first byte behind UDP tells. IP total length (payload length),
// IPv4 checksum and UDP length count the shim while it is there. A switch takes it out before the host: all
// bytes that the ICRC covers are then as the sender wrote them, so that it still holds. A frame with a shim
// has no valid ICRC of its own.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +-----+---------+---------------+-------------------------------+
// |1 1 1|  type   | value words   |      info: the type's own     |
// +-----+---------+---------------+-------------------------------+
// |                 value, 0 to 255 words of 4 bytes              |
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

struct ShimHeader {
  static constexpr std::size_t kSize = 4, kType = 0, kWords = 1, kInfo = 2;
  std::uint8_t type = 0;         // 5 bits
  std::uint8_t value_words = 0;  // length of the value in units of 4 bytes
  std::uint16_t info = 0;
  friend bool operator==(const ShimHeader&, const ShimHeader&) = default;

  constexpr std::size_t total_bytes() const { return kSize + std::size_t{4} * value_words; }

  static std::optional<ShimHeader> parse(std::span<const std::byte> b) {
    if (b.size() < kSize || (wire::load8(b, kType) & kTransportClassMask) != kShimClass) return std::nullopt;
    return ShimHeader{static_cast<std::uint8_t>(wire::load8(b, kType) & 0x1f), wire::load8(b, kWords),
                      wire::load16(b, kInfo)};
  }
  void write(std::span<std::byte, kSize> out) const {
    wire::store8(out, kType, static_cast<std::uint8_t>(kShimClass | (type & 0x1f)));
    wire::store8(out, kWords, value_words);
    wire::store16(out, kInfo, info);
  }
};
std::string to_string(const ShimHeader& header);

// A shim found in a frame; the value can be read and rewritten in place at frame[value_offset ..].
struct ShimPlace {
  ShimHeader header;
  std::size_t offset = 0;  // of the shim in the frame
  std::size_t value_offset = 0;
  std::size_t value_bytes = 0;
  friend bool operator==(const ShimPlace&, const ShimPlace&) = default;
};

// Null: not a RoCEv2 frame, no shim, or one that is longer than its packet leaves room for (a BTH and an ICRC
// must follow).
std::optional<ShimPlace> find_shim(std::span<const std::byte> frame);

// `buffer` begins with a frame of `frame_length` bytes (whatever lies behind its ICRC included) and has room
// behind it. Returns the new length; null, and nothing changed: not a RoCEv2 frame, a shim is there already,
// no room, or a value that is not whole words or beyond 255.
std::optional<std::size_t> insert_shim(std::span<std::byte> buffer, std::size_t frame_length,
                                       std::uint8_t type, std::uint16_t info,
                                       std::span<const std::byte> value);

// Takes the shim out of `frame` and returns the new length; null, and nothing changed: find_shim() finds
// none. The bytes of a frame to which insert_shim() was applied are as before.
std::optional<std::size_t> remove_shim(std::span<std::byte> frame);

}  // namespace rocelab
