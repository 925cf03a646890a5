#include "emu/world/port_link.h"

#include "base/rng.h"

namespace rocelab {
namespace {

// Named by the port, so that a link's losses are the same whatever the rest of the network does.
Rng stream(const WorldView& world, const PortEntry& port, const char* direction) {
  return Rng(world.seed).fork("fault").fork(port.interface).fork(direction);
}

LinkSchedule schedule(const WorldView& world, const PortEntry& port) {
  LinkSchedule schedule;
  const auto index = static_cast<std::uint32_t>(&port - world.ports.data());
  for (const LinkChange& change : link_changes_at(world.link_changes, index))
    schedule.change(change.at, change.up);
  return schedule;
}

}  // namespace

FaultConfig faults_in(const WorldView& world, const PortEntry& port) {
  return port.peer_host == kNoPeer ? FaultConfig{} : world.hosts[port.peer_host].to_switch;
}

PortLink::PortLink(const WorldView& world, const PortEntry& port, LinkCounters& in_counters,
                   LinkCounters& out_counters)
    : in(faults_in(world, port), schedule(world, port), stream(world, port, "in"), in_counters),
      out(port.to_peer, schedule(world, port), stream(world, port, "out"), out_counters) {}

}  // namespace rocelab
