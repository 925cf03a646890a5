// PortLink: the faults and failures of the link at a switch port of a world, in both directions.
#pragma once

#include "emu/link/link_direction.h"
#include "emu/world/world.h"

namespace rocelab {

struct PortLink {
  // The counters outlive it.
  PortLink(const WorldView& world, const PortEntry& port, LinkCounters& in_counters,
           LinkCounters& out_counters);

  LinkDirection in;  // from a host; a peer switch's port has the faults of its own output
  LinkDirection out;
};

// Of frames on their way to the port, from a host.
FaultConfig faults_in(const WorldView& world, const PortEntry& port);

}  // namespace rocelab
