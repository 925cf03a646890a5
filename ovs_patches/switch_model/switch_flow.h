// SwitchFlow: a flow as switches see it: what one queue pair sends, known by its two ends and the destination
// QPN, and the port by which its frames come in.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/packet.h"

namespace rocelab {

// The bits of SwitchFlow::key() that say which hosts a flow is between.
inline constexpr std::uint64_t kHostsOfFlow = ~std::uint64_t{0xffffff};

struct SwitchFlow {
  NodeId source, destination;
  Qpn dest;
  PortId in;  // not part of the identity; nor is how the two ends write their addresses
  bool ipv6 = false;
  std::uint64_t key() const {
    return std::uint64_t{source.value} << 40 | std::uint64_t{destination.value} << 24 | dest.value;
  }
};

inline SwitchFlow flow_of(const Packet& packet, PortId in) {
  return {packet.src, packet.dst, packet.roce.dest, in, packet.roce.ipv6};
}

}  // namespace rocelab
