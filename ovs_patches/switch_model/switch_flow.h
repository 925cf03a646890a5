// SwitchFlow: a flow as switches see it: what one queue pair sends, known by its two ends and the destination
// QPN, and the port by which its frames come in.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/packet.h"

namespace rocelab {

struct SwitchFlow {
  NodeId source, destination;
  Qpn dest;
  PortId in;  // not part of the identity
  std::uint64_t key() const {
    return std::uint64_t{source.value} << 40 | std::uint64_t{destination.value} << 24 | dest.value;
  }
};

inline SwitchFlow flow_of(const Packet& packet, PortId in) {
  return {packet.src, packet.dst, packet.roce.dest, in};
}

}  // namespace rocelab
