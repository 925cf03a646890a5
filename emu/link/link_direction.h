// LinkDirection: one direction of a link, in both engines: its failures and the scenario's faults take their
// toll, and are counted. Drivers call fails() for every frame, then cross() once per frame, in the order of
// the link, and carry out the verdict. Frames between neighbours, PFC's for example, cross unharmed and are
// not passed in.
#pragma once

#include <cstdint>
#include <utility>

#include "emu/link/fault_port.h"
#include "emu/link/link_counters.h"
#include "emu/link/link_schedule.h"

namespace rocelab {

class LinkDirection {
 public:
  // `counters` outlive it. `rng`: this direction's own stream.
  LinkDirection(const FaultConfig& config, LinkSchedule schedule, Rng rng, LinkCounters& counters)
      : faults_(config, rng),
        schedule_(std::move(schedule)),
        corrupts_(config.corrupt_rate > 0),
        counters_(counters) {}

  // A frame whose first bit leaves at `begin`, and whose last arrives at `due`: the link is down meanwhile.
  bool fails(bool data, Time begin, Time due) {
    if (!schedule_.down_within(begin, due)) return false;
    count_down(counters_, data);
    return true;
  }

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
  LinkSchedule schedule_;
  bool corrupts_;
  LinkCounters& counters_;
};

}  // namespace rocelab
