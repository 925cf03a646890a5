#include "emu/world/port_link.h"

#include "base/rng.h"

namespace rocelab {
namespace {

// Named by the port, so that a link's losses are the same whatever the rest of the network does.
Rng stream(const WorldView& world, const PortEntry& port, const char* direction) {
  return Rng(world.seed).fork("fault").fork(port.interface).fork(direction);
}

}  // namespace

FaultConfig faults_in(const WorldView& world, const PortEntry& port) {
  return port.peer_host == kNoPeer ? FaultConfig{} : world.hosts[port.peer_host].to_switch;
}

PortLink::PortLink(const WorldView& world, const PortEntry& port, LinkCounters& in_counters,
                   LinkCounters& out_counters)
    : in(faults_in(world, port), stream(world, port, "in"), in_counters),
      out(port.to_peer, stream(world, port, "out"), out_counters) {}

}  // namespace rocelab
