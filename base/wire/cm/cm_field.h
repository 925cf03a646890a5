// What the connection manager's messages share: their identifiers, their size and loads of fields that do not
// fill a byte. IBTA Vol 1, 12.6.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/wire/bytes.h"

namespace rocelab::cm {

// A message is the part of the MAD behind its common header; offsets in the files of the messages count from
// there. It is always this long; private data fills it up.
inline constexpr std::size_t kMessageBytes = 232;
using MessageBytes = std::span<std::byte, kMessageBytes>;
using MessageView = std::span<const std::byte, kMessageBytes>;

using CommId = std::uint32_t;  // communication ID: of one end of a connection; 0 names none

template <std::size_t N>
using PrivateData = std::array<std::uint8_t, N>;

// `width` bits of the byte at `at`, of which `above` bits stand to the left.
constexpr std::uint8_t load_bits(std::span<const std::byte> b, std::size_t at, unsigned above,
                                 unsigned width) {
  return static_cast<std::uint8_t>(wire::load8(b, at) >> (8 - above - width) & ((1u << width) - 1));
}
constexpr std::uint8_t bits(std::uint8_t value, unsigned above, unsigned width) {
  return static_cast<std::uint8_t>((value & ((1u << width) - 1)) << (8 - above - width));
}

// IBTA 12.6: which message an MRA or REJ answers.
enum class Answered : std::uint8_t { kReq = 0, kRep = 1, kOther = 2 };

}  // namespace rocelab::cm
