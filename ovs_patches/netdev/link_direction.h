// LinkDirection: what happens to frames on one direction of a link beyond their delay: the scenario's faults
// take their toll. Drivers call cross() once per frame, in the order of the link. PFC frames cross unharmed
// and are not passed in.
#pragma once

#include <cstddef>
#include <span>

#include "base/packet.h"
#include "emu/link/fault_port.h"
#include "emu/link/link_counters.h"

namespace rocelab {

class LinkDirection {
 public:
  // `counters` outlive it. `rng`: this direction's own stream.
  LinkDirection(const FaultConfig& config, Rng rng, LinkCounters& counters)
      : faults_(config, rng), corrupts_(config.corrupt_rate > 0), counters_(counters) {}

  // `frame` is the packet's frame, frame_length bytes. False: it is lost.
  bool cross(const Packet& packet, std::span<std::byte> frame);

 private:
  FaultPort faults_;
  bool corrupts_;
  LinkCounters& counters_;
};

}  // namespace rocelab
