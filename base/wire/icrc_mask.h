// What the ICRC covers at its front, as a mask that is or-ed to it: the dummy local route header, and the
// headers up to the last field that a router may change (icrc.h says which). Both are whole blocks of 16
// bytes, and what follows is covered as it is.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/wire/bth.h"
#include "base/wire/ipv4.h"
#include "base/wire/ipv6.h"
#include "base/wire/udp.h"

namespace rocelab {

inline constexpr std::size_t kDummyLrhBytes = 8;
inline constexpr std::size_t kLongestIcrcMask = 64;

template <std::size_t kBytes>
constexpr std::array<std::byte, kBytes> make_icrc_mask(bool is_ipv4) {
  constexpr std::byte kOnes{0xff};
  std::array<std::byte, kBytes> mask{};
  const std::size_t ip = kDummyLrhBytes, udp = ip + (is_ipv4 ? Ipv4Header::kSize : Ipv6Header::kSize);
  const std::size_t bth = udp + UdpHeader::kSize;
  for (std::size_t i = 0; i < kDummyLrhBytes; ++i) mask[i] = kOnes;
  if (is_ipv4) {
    mask[ip + Ipv4Header::kTos] = mask[ip + Ipv4Header::kTtl] = kOnes;
    mask[ip + Ipv4Header::kChecksum] = mask[ip + Ipv4Header::kChecksum + 1] = kOnes;
  } else {
    mask[ip] = std::byte{0x0f};
    mask[ip + 1] = mask[ip + 2] = mask[ip + 3] = mask[ip + Ipv6Header::kHopLimit] = kOnes;
  }
  mask[udp + UdpHeader::kChecksum] = mask[udp + UdpHeader::kChecksum + 1] = kOnes;
  mask[bth + Bth::kResv8a] = kOnes;
  return mask;
}
inline constexpr auto kIpv4IcrcMask = make_icrc_mask<48>(true);
inline constexpr auto kIpv6IcrcMask = make_icrc_mask<kLongestIcrcMask>(false);

constexpr std::span<const std::byte> icrc_mask(bool is_ipv4) {
  return is_ipv4 ? std::span<const std::byte>(kIpv4IcrcMask) : std::span<const std::byte>(kIpv6IcrcMask);
}

}  // namespace rocelab
