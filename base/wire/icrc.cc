#include "base/wire/icrc.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "base/wire/bth.h"
#include "base/wire/ipv4.h"
#include "base/wire/ipv6.h"
#include "base/wire/udp.h"

#if defined(__x86_64__)
#include <smmintrin.h>
#include <wmmintrin.h>
#endif

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

constexpr std::size_t kDummyLrhBytes = 8;  // the ones in place of a local route header

// Copies dummy LRH, IP, UDP and BTH with the variant fields set to ones; returns the number of bytes of
// `packet` copied.
std::size_t masked_headers(std::span<const std::byte> packet, bool is_ipv4, std::span<std::byte, 68> out) {
  constexpr std::byte kOnes{0xff};
  const std::size_t ip_bytes = is_ipv4 ? Ipv4Header::kSize : Ipv6Header::kSize;
  const std::size_t n = ip_bytes + UdpHeader::kSize + Bth::kSize;
  std::memset(out.data(), 0xff, kDummyLrhBytes);
  std::memcpy(&out[kDummyLrhBytes], packet.data(), n);
  const auto ip = out.subspan(kDummyLrhBytes);
  if (is_ipv4) {
    ip[Ipv4Header::kTos] = ip[Ipv4Header::kTtl] = kOnes;
    ip[Ipv4Header::kChecksum] = ip[Ipv4Header::kChecksum + 1] = kOnes;
  } else {
    ip[0] |= std::byte{0x0f};
    ip[1] = ip[2] = ip[3] = ip[Ipv6Header::kHopLimit] = kOnes;
  }
  const auto udp = ip.subspan(ip_bytes);
  udp[UdpHeader::kChecksum] = udp[UdpHeader::kChecksum + 1] = kOnes;
  udp[UdpHeader::kSize + Bth::kResv8a] = kOnes;
  return n;
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

#if defined(__x86_64__)

bool has_pclmul() { return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1"); }

namespace {

// Moves `x` forward by the distance of `k` (two multipliers x^n mod P) and adds `next`.
[[gnu::target("pclmul,sse4.1")]] inline __m128i fold(__m128i x, __m128i next, __m128i k) {
  return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(x, k, 0x00), _mm_clmulepi64_si128(x, k, 0x11)),
                       next);
}
[[gnu::target("pclmul,sse4.1")]] inline __m128i load(const std::byte* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

}  // namespace

// V. Gopal et al., "Fast CRC computation for generic polynomials using PCLMULQDQ", Intel 2009: four lanes of
// 16 bytes folded by 64 bytes, then into one lane, then Barrett's reduction; constants of the reflected
// polynomial from there.
[[gnu::target("pclmul,sse4.1")]] std::uint32_t crc32_pclmul(std::uint32_t state,
                                                            std::span<const std::byte> bytes) {
  if (bytes.size() < 64) return crc32_portable(state, bytes);
  const __m128i by64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4),
                by16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  const __m128i by8 = _mm_set_epi64x(0, 0x163cd6124), barrett = _mm_set_epi64x(0x1f7011641, 0x1db710641);
  const __m128i low32 = _mm_setr_epi32(~0, 0, ~0, 0);
  const std::byte* p = bytes.data();
  std::size_t n = bytes.size() - 64;
  __m128i x0 = _mm_xor_si128(load(p), _mm_cvtsi32_si128(static_cast<int>(state)));
  __m128i x1 = load(p + 16), x2 = load(p + 32), x3 = load(p + 48);
  for (p += 64; n >= 64; p += 64, n -= 64) {
    x0 = fold(x0, load(p), by64);
    x1 = fold(x1, load(p + 16), by64);
    x2 = fold(x2, load(p + 32), by64);
    x3 = fold(x3, load(p + 48), by64);
  }
  __m128i x = fold(fold(fold(x0, x1, by16), x2, by16), x3, by16);
  for (; n >= 16; p += 16, n -= 16) x = fold(x, load(p), by16);
  x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, by16, 0x10));  // 128 -> 96 bits
  x = _mm_xor_si128(_mm_srli_si128(x, 4), _mm_clmulepi64_si128(_mm_and_si128(x, low32), by8, 0x00));  // -> 64
  __m128i q = _mm_clmulepi64_si128(_mm_and_si128(x, low32), barrett, 0x10);
  q = _mm_clmulepi64_si128(_mm_and_si128(q, low32), barrett, 0x00);
  state = static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(x, q), 1));
  return crc32_portable(state, {p, n});
}

#else

bool has_pclmul() { return false; }
std::uint32_t crc32_pclmul(std::uint32_t state, std::span<const std::byte> bytes) {
  return crc32_portable(state, bytes);
}

#endif

std::uint32_t crc32(std::uint32_t state, std::span<const std::byte> bytes) {
  return has_pclmul() ? crc32_pclmul(state, bytes) : crc32_portable(state, bytes);
}

std::uint32_t icrc_with(Crc32Function crc, std::span<const std::byte> packet, bool is_ipv4) {
  std::array<std::byte, kDummyLrhBytes + Ipv6Header::kSize + UdpHeader::kSize + Bth::kSize> headers;
  const std::size_t need = (is_ipv4 ? Ipv4Header::kSize : Ipv6Header::kSize) + UdpHeader::kSize + Bth::kSize;
  RL_CHECK(packet.size() >= need);
  const std::size_t taken = masked_headers(packet, is_ipv4, headers);
  const std::uint32_t state = crc(0xffffffff, std::span(headers).first(kDummyLrhBytes + taken));
  return ~crc(state, packet.subspan(taken));
}

std::uint32_t icrc(std::span<const std::byte> packet, bool is_ipv4) {
  return icrc_with(crc32, packet, is_ipv4);
}

}  // namespace rocelab
