// Flush Extended Transport Header. IBTA Vol 1, annex A19 (memory placement extensions), FETH.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------------------------------------------+-----+-----+
// |                      reserved                     | SEL | PLT |
// +---------------------------------------------------+-----+-----+
// SEL, bits 5-4 of the last byte: memory range or whole region; PLT, bits 3-0: global visibility,
// persistence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/wire/bytes.h"

namespace rocelab {

struct Feth {
  static constexpr std::size_t kSize = 4;
  std::uint32_t word = 0;  // as a whole: nobody flushes yet
  friend bool operator==(const Feth&, const Feth&) = default;

  static std::optional<Feth> parse(std::span<const std::byte> b) { return wire::parse<Feth>(b); }
  static Feth read(std::span<const std::byte, kSize> b) { return Feth{wire::load32(b, 0)}; }
  void write(std::span<std::byte, kSize> out) const { wire::store32(out, 0, word); }
};
std::string to_string(const Feth& feth);

}  // namespace rocelab
