// Loads and stores for the header codecs, big-endian unless named le: the only place where bytes become
// numbers. Callers have checked lengths; offsets are the named constants of the header files.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace rocelab::wire {

// T::read() of a header's bytes, after a look at their number. Null: fewer than T::kSize. Where lengths have
// been checked, read() by itself leaves the fields in registers.
template <class T>
constexpr std::optional<T> parse(std::span<const std::byte> b) {
  if (b.size() < T::kSize) return std::nullopt;
  return T::read(b.template first<T::kSize>());
}

// Compilers turn these shifts into one load or store and a byte swap.
constexpr std::uint64_t byte_at(std::span<const std::byte> b, std::size_t i) {
  return std::to_integer<std::uint64_t>(b[i]);
}

constexpr std::uint8_t load8(std::span<const std::byte> b, std::size_t at) {
  return std::to_integer<std::uint8_t>(b[at]);
}
constexpr std::uint16_t load16(std::span<const std::byte> b, std::size_t at) {
  return static_cast<std::uint16_t>(byte_at(b, at) << 8 | byte_at(b, at + 1));
}
constexpr std::uint32_t load24(std::span<const std::byte> b, std::size_t at) {
  return static_cast<std::uint32_t>(byte_at(b, at) << 16 | byte_at(b, at + 1) << 8 | byte_at(b, at + 2));
}
constexpr std::uint32_t load32(std::span<const std::byte> b, std::size_t at) {
  if (!std::is_constant_evaluated() && std::endian::native == std::endian::little) {
    std::uint32_t v;  // said outright: in a loop they do not
    std::memcpy(&v, &b[at], sizeof v);
    return __builtin_bswap32(v);
  }
  return static_cast<std::uint32_t>(byte_at(b, at) << 24 | byte_at(b, at + 1) << 16 |
                                    byte_at(b, at + 2) << 8 | byte_at(b, at + 3));
}
constexpr std::uint64_t load64(std::span<const std::byte> b, std::size_t at) {
  return std::uint64_t{load32(b, at)} << 32 | load32(b, at + 4);
}

constexpr void store8(std::span<std::byte> b, std::size_t at, std::uint8_t v) { b[at] = std::byte{v}; }
constexpr void store16(std::span<std::byte> b, std::size_t at, std::uint16_t v) {
  b[at] = static_cast<std::byte>(v >> 8);
  b[at + 1] = static_cast<std::byte>(v & 0xff);
}
constexpr void store24(std::span<std::byte> b, std::size_t at, std::uint32_t v) {
  store8(b, at, static_cast<std::uint8_t>(v >> 16 & 0xff));
  store16(b, at + 1, static_cast<std::uint16_t>(v & 0xffff));
}
constexpr void store32(std::span<std::byte> b, std::size_t at, std::uint32_t v) {
  store16(b, at, static_cast<std::uint16_t>(v >> 16));
  store16(b, at + 2, static_cast<std::uint16_t>(v & 0xffff));
}
constexpr void store64(std::span<std::byte> b, std::size_t at, std::uint64_t v) {
  store32(b, at, static_cast<std::uint32_t>(v >> 32));
  store32(b, at + 4, static_cast<std::uint32_t>(v & 0xffffffff));
}

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
