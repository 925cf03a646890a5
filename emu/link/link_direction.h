// LinkDirection: one direction of a link, in both engines: the scenario's faults take their toll, and are
// counted. Drivers call cross() once per frame, in the order of the link, and carry out the verdict. PFC
// frames cross unharmed and are not passed in.
#pragma once

#include <cstdint>

#include "emu/link/fault_port.h"
#include "emu/link/link_counters.h"

namespace rocelab {

class LinkDirection {
 public:
  // `counters` outlive it. `rng`: this direction's own stream.
  LinkDirection(const FaultConfig& config, Rng rng, LinkCounters& counters)
      : faults_(config, rng), corrupts_(config.corrupt_rate > 0), counters_(counters) {}

  // The next frame, with payload (`data`) or without. `corruptible`: asked where a bit may be flipped, how
  // many bytes the frame has behind the IP header.
  template <class F>
  FaultVerdict cross(bool data, F&& corruptible) {
    const FaultVerdict verdict = faults_.on_frame(data, corrupts_ ? corruptible() : 0);
    count_fault(counters_, verdict.kind, data);
    return verdict;
  }

 private:
  FaultPort faults_;
  bool corrupts_;
  LinkCounters& counters_;
};

}  // namespace rocelab
