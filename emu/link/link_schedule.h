// LinkSchedule: when a link is down. A frame that a link carries, or begins to carry, while it is down is
// lost, in both directions, PFC frames too. The times are known before the run, so that a driver asks about
// each frame when it sends it and needs no event of its own.
#pragma once

#include <vector>

#include "base/units.h"

namespace rocelab {

class LinkSchedule {
 public:
  // Called in the order of time. A link begins up; what changes nothing is ignored.
  void change(Time at, bool up);

  bool always_up() const { return down_.empty(); }
  // Whether it is down at some instant of [from, until]: `from` the first bit leaves, `until` the last
  // arrives. It is down from the instant of its failure until before that of its recovery.
  bool down_within(Time from, Time until) const;

 private:
  struct Interval {
    Time from, until;  // [from, until)
  };
  std::vector<Interval> down_;
};

}  // namespace rocelab
