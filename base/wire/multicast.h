// Multicast groups over RoCEv2: a GID that is a multicast address of IP, the QPN that stands for all members
// (IBTA Vol 1, 10.5.2), and the Ethernet address that IP derives from the group (RFC 1112, 6.4; RFC 2464, 7).
#pragma once

#include "base/ids.h"
#include "base/wire/frame.h"

namespace rocelab {

inline constexpr Qpn kMulticastQpn{0xffffff};

constexpr bool is_multicast(const Gid& gid) {
  return is_ipv4_mapped(gid) ? gid[12] >> 4 == 0xe : gid[0] == 0xff;
}

// Precondition: is_multicast(group).
constexpr MacAddress multicast_mac(const Gid& group) {
  if (is_ipv4_mapped(group))
    return {0x01, 0x00, 0x5e, static_cast<std::uint8_t>(group[13] & 0x7f), group[14], group[15]};
  return {0x33, 0x33, group[12], group[13], group[14], group[15]};
}

}  // namespace rocelab
