// Identifiers of the InfiniBand Architecture and of this project, each a type of its own, so that a QPN is
// never passed as a PSN. They are plain values: comparable, hashable by `value`, without arithmetic.
#pragma once

#include <compare>
#include <cstdint>

namespace rocelab {

template <class Tag, class Underlying>
struct Id {
  Underlying value{};
  friend constexpr auto operator<=>(Id, Id) = default;
};

using Qpn = Id<struct QpnTag, std::uint32_t>;      // queue pair number, 24 bits
using Msn = Id<struct MsnTag, std::uint32_t>;      // message sequence number, 24 bits
using RKey = Id<struct RKeyTag, std::uint32_t>;    // remote (and local) key of a memory region
using Cqn = Id<struct CqnTag, std::uint32_t>;      // completion queue number
using Pdn = Id<struct PdnTag, std::uint32_t>;      // protection domain number
using PortId = Id<struct PortTag, std::uint16_t>;  // port of a switch, from 0
using NodeId = Id<struct NodeTag, std::uint16_t>;  // node of a topology: hosts first, then switches

// Traffic class 0..7; also the PFC priority and the 802.1Q PCP that it maps to.
using Tc = Id<struct TcTag, std::uint8_t>;
inline constexpr int kTrafficClasses = 8;

}  // namespace rocelab
