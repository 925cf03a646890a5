// Immediate data and invalidate headers, one 32-bit word each. IBTA Vol 1, 9.3.6 ImmDt; 9.3.7 IETH (the R_Key
// to invalidate).
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------------------------------------------------------+
// |                  immediate data, or R_Key                     |
// +---------------------------------------------------------------+
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/ids.h"
#include "base/wire/bytes.h"

namespace rocelab {

struct ImmDt {
  static constexpr std::size_t kSize = 4;
  std::uint32_t value = 0;  // host order
  friend bool operator==(const ImmDt&, const ImmDt&) = default;

  static std::optional<ImmDt> parse(std::span<const std::byte> b) { return wire::parse<ImmDt>(b); }
  static ImmDt read(std::span<const std::byte, kSize> b) { return ImmDt{wire::load32(b, 0)}; }
  void write(std::span<std::byte, kSize> out) const { wire::store32(out, 0, value); }
};
std::string to_string(const ImmDt& header);

struct Ieth {
  static constexpr std::size_t kSize = 4;
  RKey rkey;
  friend bool operator==(const Ieth&, const Ieth&) = default;

  static std::optional<Ieth> parse(std::span<const std::byte> b) { return wire::parse<Ieth>(b); }
  static Ieth read(std::span<const std::byte, kSize> b) { return Ieth{RKey{wire::load32(b, 0)}}; }
  void write(std::span<std::byte, kSize> out) const { wire::store32(out, 0, rkey.value); }
};
std::string to_string(const Ieth& header);

}  // namespace rocelab
