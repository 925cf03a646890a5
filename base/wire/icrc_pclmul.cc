// V. Gopal et al., "Fast CRC computation for generic polynomials using PCLMULQDQ", Intel 2009: blocks of 16
// bytes are folded into one another, in long packets in four lanes by 64 bytes, or by 128 in eight lanes of
// four wider registers (VPCLMULQDQ), and Barrett's reduction makes a CRC of the last one. Everything here is
// in registers: of a packet of 60 bytes, tables would cost more than the kernel's work for it leaves of the
// caches.
#include "base/check.h"
#include "base/wire/icrc.h"
#include "base/wire/icrc_mask.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rocelab {

#if defined(__x86_64__)

#define RL_PCLMUL [[gnu::target("pclmul,sse4.1")]]

#define RL_VPCLMUL [[gnu::target("vpclmulqdq,avx2,pclmul,sse4.1")]]

bool has_pclmul() { return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1"); }
bool has_vpclmul() {
  return has_pclmul() && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2");
}

namespace {

constexpr std::size_t kBlock = 16;
constexpr std::size_t kWorthWideRegisters = 512;  // what they save, beside a call and the narrow lanes' end

// x^n mod P, reflected, as a factor of a carry-less product, which is reflected a bit off.
constexpr long long power(int n) {
  std::uint32_t r = 1;
  for (int i = 0; i < n; ++i) r = r << 1 ^ ((r & 0x80000000) != 0 ? 0x04c11db7 : 0);
  long long reflected = 0;
  for (int bit = 0; bit < 32; ++bit)
    if ((r >> bit & 1) != 0) reflected |= 1LL << (31 - bit);
  return reflected << 1;
}

// What moves a block forward by so many bytes: the factors of its two halves.
struct Distance {
  explicit constexpr Distance(int bytes) : low(power(8 * bytes + 32)), high(power(8 * bytes - 32)) {}
  long long low, high;
};
constexpr Distance kBy128(128), kBy64(64), kBy32(32), kBy16(16);
static_assert(kBy64.low == 0x154442bd4 && kBy64.high == 0x1c6e41596);  // as the paper has them
static_assert(kBy16.low == 0x1751997d0 && kBy16.high == 0x0ccaa009e);

RL_PCLMUL inline __m128i load(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }

// Moves `x` forward by the distance of `k` (two multipliers x^n mod P) and adds `next`.
RL_PCLMUL inline __m128i fold(__m128i x, __m128i next, __m128i k) {
  return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(x, k, 0x00), _mm_clmulepi64_si128(x, k, 0x11)),
                       next);
}

RL_VPCLMUL inline __m256i load2(const std::byte* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
RL_VPCLMUL inline __m256i fold2(__m256i x, __m256i next, __m256i k) {
  return _mm256_xor_si256(
      _mm256_xor_si256(_mm256_clmulepi64_epi128(x, k, 0x00), _mm256_clmulepi64_epi128(x, k, 0x11)), next);
}

// fold_blocks() below of n >= 256 bytes, but for the last few blocks.
RL_VPCLMUL __m128i fold_many_blocks(__m128i x, const std::byte*& p, std::size_t& n) {
  const __m256i by128 = _mm256_broadcastsi128_si256(load(&kBy128));
  const __m256i by32 = _mm256_broadcastsi128_si256(load(&kBy32));
  const __m128i by16 = load(&kBy16);
  x = fold(x, load(p), by16);
  __m256i x0 = _mm256_inserti128_si256(_mm256_castsi128_si256(x), load(p + 16), 1);
  __m256i x1 = load2(p + 32), x2 = load2(p + 64), x3 = load2(p + 96);
  for (p += 128, n -= 128; n >= 128; p += 128, n -= 128) {
    x0 = fold2(x0, load2(p), by128);
    x1 = fold2(x1, load2(p + 32), by128);
    x2 = fold2(x2, load2(p + 64), by128);
    x3 = fold2(x3, load2(p + 96), by128);
  }
  x0 = fold2(fold2(fold2(x0, x1, by32), x2, by32), x3, by32);
  return fold(_mm256_castsi256_si128(x0), _mm256_extracti128_si256(x0, 1), by16);
}

// `x` and what follows it, up to the last whole block; advances `p` and `n`.
RL_PCLMUL inline __m128i fold_blocks(__m128i x, const std::byte*& p, std::size_t& n) {
  const __m128i by16 = load(&kBy16);
  if (n >= 2 * 4 * kBlock) {
    const __m128i by64 = load(&kBy64);
    x = fold(x, load(p), by16);
    __m128i x1 = load(p + 16), x2 = load(p + 32), x3 = load(p + 48);
    for (p += 64, n -= 64; n >= 64; p += 64, n -= 64) {
      x = fold(x, load(p), by64);
      x1 = fold(x1, load(p + 16), by64);
      x2 = fold(x2, load(p + 32), by64);
      x3 = fold(x3, load(p + 48), by64);
    }
    x = fold(fold(fold(x, x1, by16), x2, by16), x3, by16);
  }
  for (; n >= kBlock; p += kBlock, n -= kBlock) x = fold(x, load(p), by16);
  return x;
}

// Windows into these: the last n bytes of a block, and a block moved back or forward by n bytes, with zeros.
alignas(16) constexpr std::uint8_t kKeepLast[32] = {
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
alignas(16) constexpr std::uint8_t kMove[48] = {
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,   13,   14,   15,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};

// The n < 16 bytes that end at `end`, with at least a block of readable bytes before it: the first n bytes of
// `x` are folded into a block of its others and these.
RL_PCLMUL inline __m128i fold_tail(__m128i x, const std::byte* end, std::size_t n) {
  const __m128i head = _mm_shuffle_epi8(x, load(kMove + n));
  const __m128i tail = _mm_and_si128(load(end - kBlock), load(kKeepLast + n));
  return fold(head, _mm_or_si128(_mm_shuffle_epi8(x, load(kMove + kBlock + n)), tail), load(&kBy16));
}

RL_PCLMUL inline std::uint32_t reduce(__m128i x) {
  const __m128i by16 = load(&kBy16), by8 = _mm_set_epi64x(0, 0x163cd6124);
  const __m128i barrett = _mm_set_epi64x(0x1f7011641, 0x1db710641), low32 = _mm_setr_epi32(~0, 0, ~0, 0);
  x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, by16, 0x10));  // 128 -> 96 bits
  x = _mm_xor_si128(_mm_srli_si128(x, 4), _mm_clmulepi64_si128(_mm_and_si128(x, low32), by8, 0x00));  // -> 64
  __m128i q = _mm_clmulepi64_si128(_mm_and_si128(x, low32), barrett, 0x10);
  q = _mm_clmulepi64_si128(_mm_and_si128(q, low32), barrett, 0x00);
  return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(x, q), 1));
}

template <bool kWide>
RL_PCLMUL inline std::uint32_t finish(__m128i x, const std::byte* p, std::size_t n) {
  if (kWide && n >= kWorthWideRegisters) x = fold_many_blocks(x, p, n);
  x = fold_blocks(x, p, n);
  return reduce(n > 0 ? fold_tail(x, p + n, n) : x);
}

template <bool kWide>
RL_PCLMUL std::uint32_t sum(std::uint32_t state, std::span<const std::byte> bytes) {
  if (bytes.size() < kBlock) return crc32_portable(state, bytes);
  const __m128i first = _mm_xor_si128(load(bytes.data()), _mm_cvtsi32_si128(static_cast<int>(state)));
  return finish<kWide>(first, bytes.data() + kBlock, bytes.size() - kBlock);
}

template <bool kWide>
RL_PCLMUL std::uint32_t sum_packet(std::span<const std::byte> packet, bool is_ipv4) {
  const std::span<const std::byte> mask = icrc_mask(is_ipv4);
  RL_CHECK(packet.size() + kDummyLrhBytes >= mask.size());
  const std::byte* p = packet.data();
  const __m128i half = _mm_slli_si128(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)), kDummyLrhBytes);
  __m128i x = _mm_xor_si128(_mm_or_si128(half, load(mask.data())), _mm_cvtsi32_si128(~0));
  p += kBlock - kDummyLrhBytes;
  for (std::size_t at = kBlock; at < mask.size(); at += kBlock, p += kBlock)
    x = fold(x, _mm_or_si128(load(p), load(&mask[at])), load(&kBy16));
  return ~finish<kWide>(x, p, packet.size() - static_cast<std::size_t>(p - packet.data()));
}

}  // namespace

std::uint32_t crc32_pclmul(std::uint32_t state, std::span<const std::byte> bytes) {
  return sum<false>(state, bytes);
}
std::uint32_t crc32_vpclmul(std::uint32_t state, std::span<const std::byte> bytes) {
  return sum<true>(state, bytes);
}
std::uint32_t icrc_pclmul(std::span<const std::byte> packet, bool is_ipv4) {
  return sum_packet<false>(packet, is_ipv4);
}
std::uint32_t icrc_vpclmul(std::span<const std::byte> packet, bool is_ipv4) {
  return sum_packet<true>(packet, is_ipv4);
}

#else

bool has_pclmul() { return false; }
bool has_vpclmul() { return false; }
std::uint32_t crc32_pclmul(std::uint32_t state, std::span<const std::byte> bytes) {
  return crc32_portable(state, bytes);
}
std::uint32_t crc32_vpclmul(std::uint32_t state, std::span<const std::byte> bytes) {
  return crc32_portable(state, bytes);
}
std::uint32_t icrc_pclmul(std::span<const std::byte> packet, bool is_ipv4) {
  return icrc_portable(packet, is_ipv4);
}
std::uint32_t icrc_vpclmul(std::span<const std::byte> packet, bool is_ipv4) {
  return icrc_portable(packet, is_ipv4);
}

#endif

}  // namespace rocelab
