#include "base/wire/icrc.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/wire/icrc_mask.h"

namespace rocelab {
namespace {

// kTable[k][b]: the state after byte b and k zero bytes.
constexpr std::array<std::array<std::uint32_t, 256>, 8> make_tables() {
  std::array<std::array<std::uint32_t, 256>, 8> table{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t state = b;
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? 0xedb88320u : 0u);
    table[0][b] = state;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t b = 0; b < 256; ++b)
      table[k][b] = (table[k - 1][b] >> 8) ^ table[0][table[k - 1][b] & 0xff];
  return table;
}
constexpr auto kTable = make_tables();

std::uint32_t load_le32(const std::byte* p) {
  return std::to_integer<std::uint32_t>(p[0]) | std::to_integer<std::uint32_t>(p[1]) << 8 |
         std::to_integer<std::uint32_t>(p[2]) << 16 | std::to_integer<std::uint32_t>(p[3]) << 24;
}

}  // namespace

std::uint32_t crc32_portable(std::uint32_t state, std::span<const std::byte> bytes) {
  const std::byte* p = bytes.data();
  std::size_t n = bytes.size();
  for (; n >= 8; p += 8, n -= 8) {
    const std::uint32_t low = state ^ load_le32(p), high = load_le32(p + 4);
    state = kTable[7][low & 0xff] ^ kTable[6][low >> 8 & 0xff] ^ kTable[5][low >> 16 & 0xff] ^
            kTable[4][low >> 24] ^ kTable[3][high & 0xff] ^ kTable[2][high >> 8 & 0xff] ^
            kTable[1][high >> 16 & 0xff] ^ kTable[0][high >> 24];
  }
  for (; n > 0; ++p, --n)
    state = (state >> 8) ^ kTable[0][(state ^ std::to_integer<std::uint32_t>(*p)) & 0xff];
  return state;
}

std::uint32_t crc32(std::uint32_t state, std::span<const std::byte> bytes) {
  if (has_vpclmul()) return crc32_vpclmul(state, bytes);
  return has_pclmul() ? crc32_pclmul(state, bytes) : crc32_portable(state, bytes);
}

std::uint32_t icrc_portable(std::span<const std::byte> packet, bool is_ipv4) {
  const std::span<const std::byte> mask = icrc_mask(is_ipv4);
  const std::size_t taken = mask.size() - kDummyLrhBytes;
  RL_CHECK(packet.size() >= taken);
  std::array<std::byte, kLongestIcrcMask> headers{};
  std::copy_n(packet.begin(), taken, headers.begin() + kDummyLrhBytes);
  for (std::size_t i = 0; i < mask.size(); ++i) headers[i] |= mask[i];
  const std::uint32_t state = crc32_portable(0xffffffff, std::span(headers).first(mask.size()));
  return ~crc32_portable(state, packet.subspan(taken));
}

std::uint32_t icrc(std::span<const std::byte> packet, bool is_ipv4) {
  if (has_vpclmul()) return icrc_vpclmul(packet, is_ipv4);
  return has_pclmul() ? icrc_pclmul(packet, is_ipv4) : icrc_portable(packet, is_ipv4);
}

}  // namespace rocelab
