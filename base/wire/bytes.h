// Loads and stores for the header codecs, big-endian unless named le: the only place where bytes become
// numbers. Callers have checked lengths; offsets are the named constants of the header files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rocelab::wire {

template <std::size_t N>
constexpr std::uint64_t load_be(const std::byte* p) {
  static_assert(N >= 1 && N <= 8);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < N; ++i) value = (value << 8) | std::to_integer<std::uint64_t>(p[i]);
  return value;
}
template <std::size_t N>
constexpr void store_be(std::byte* p, std::uint64_t value) {
  static_assert(N >= 1 && N <= 8);
  for (std::size_t i = N; i-- > 0; value >>= 8) p[i] = static_cast<std::byte>(value & 0xff);
}

constexpr std::uint8_t load8(std::span<const std::byte> b, std::size_t at) {
  return std::to_integer<std::uint8_t>(b[at]);
}
constexpr std::uint16_t load16(std::span<const std::byte> b, std::size_t at) {
  return static_cast<std::uint16_t>(load_be<2>(&b[at]));
}
constexpr std::uint32_t load24(std::span<const std::byte> b, std::size_t at) {
  return static_cast<std::uint32_t>(load_be<3>(&b[at]));
}
constexpr std::uint32_t load32(std::span<const std::byte> b, std::size_t at) {
  return static_cast<std::uint32_t>(load_be<4>(&b[at]));
}
constexpr std::uint64_t load64(std::span<const std::byte> b, std::size_t at) { return load_be<8>(&b[at]); }

constexpr void store8(std::span<std::byte> b, std::size_t at, std::uint8_t v) { b[at] = std::byte{v}; }
constexpr void store16(std::span<std::byte> b, std::size_t at, std::uint16_t v) { store_be<2>(&b[at], v); }
constexpr void store24(std::span<std::byte> b, std::size_t at, std::uint32_t v) { store_be<3>(&b[at], v); }
constexpr void store32(std::span<std::byte> b, std::size_t at, std::uint32_t v) { store_be<4>(&b[at], v); }
constexpr void store64(std::span<std::byte> b, std::size_t at, std::uint64_t v) { store_be<8>(&b[at], v); }

// The ICRC and pcap files are little-endian.
constexpr std::uint32_t load_le32(std::span<const std::byte> b, std::size_t at) {
  return std::to_integer<std::uint32_t>(b[at]) | std::to_integer<std::uint32_t>(b[at + 1]) << 8 |
         std::to_integer<std::uint32_t>(b[at + 2]) << 16 | std::to_integer<std::uint32_t>(b[at + 3]) << 24;
}
constexpr void store_le32(std::span<std::byte> b, std::size_t at, std::uint32_t v) {
  for (std::size_t i = 0; i < 4; ++i) b[at + i] = static_cast<std::byte>(v >> (8 * i) & 0xff);
}

template <std::size_t N>
constexpr std::array<std::uint8_t, N> load_array(std::span<const std::byte> b, std::size_t at) {
  std::array<std::uint8_t, N> value{};
  for (std::size_t i = 0; i < N; ++i) value[i] = load8(b, at + i);
  return value;
}
template <std::size_t N>
constexpr void store_array(std::span<std::byte> b, std::size_t at, const std::array<std::uint8_t, N>& value) {
  for (std::size_t i = 0; i < N; ++i) store8(b, at + i, value[i]);
}

}  // namespace rocelab::wire
