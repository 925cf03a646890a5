// The invariant CRC of RoCEv2: the only place where it is computed. IBTA Vol 1, 7.8.1 (CRC-32 of Ethernet)
// and annex A17.3.3: over eight bytes of ones (in place of a local route header), the IP header, the UDP
// header, BTH to pad, with everything that a router may change set to ones: IPv4 TOS, TTL and header
// checksum; IPv6 traffic class, flow label and hop limit; UDP checksum; BTH byte 4 (FECN, BECN). On the wire
// it stands behind the pad, least significant byte first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rocelab {

inline constexpr std::size_t kIcrcBytes = 4;

// `packet` runs from the IP header to the end of the pad, at least to the end of the BTH; `is_ipv4` says
// which header it begins with.
std::uint32_t icrc(std::span<const std::byte> packet, bool is_ipv4);

// CRC-32 (reflected polynomial 0xedb88320) without the inversions before and after: state in, state out.
// crc32() picks the fastest version of this machine; all give the same result.
std::uint32_t crc32(std::uint32_t state, std::span<const std::byte> bytes);
std::uint32_t crc32_portable(std::uint32_t state, std::span<const std::byte> bytes);  // slice by 8
std::uint32_t crc32_pclmul(std::uint32_t state, std::span<const std::byte> bytes);    // only if has_pclmul()
std::uint32_t crc32_vpclmul(std::uint32_t state, std::span<const std::byte> bytes);   // only if has_vpclmul()
bool has_pclmul();
bool has_vpclmul();

// The same ICRC by each of them, for tests that compare.
std::uint32_t icrc_portable(std::span<const std::byte> packet, bool is_ipv4);
std::uint32_t icrc_pclmul(std::span<const std::byte> packet, bool is_ipv4);   // only if has_pclmul()
std::uint32_t icrc_vpclmul(std::span<const std::byte> packet, bool is_ipv4);  // only if has_vpclmul()

}  // namespace rocelab
