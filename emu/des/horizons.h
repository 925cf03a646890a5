// Horizons: how far each part of a network (partition.h) may run before it has to hear of the others again.
// A frame that a part sends to a neighbour takes at least the smallest latency of the links between them, and
// what it brings about there as long again to the next one. So part p runs up to the smallest, over all parts
// n, of n's earliest event plus the shortest way from n to p; the way from p back to itself is one of them,
// since others answer what p sends. Conservative windows with a lookahead for each pair (Chandy and Misra
// 1979; Lubachevsky 1989). No I/O, no thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace rocelab::des {

class Horizons {
 public:
  // By pair of parts, row by row: what row's part sends at t is due at column's at t + it or later; infinite:
  // it sends nothing there. Positive; the diagonal is not read.
  explicit Horizons(std::vector<Duration> between);

  std::uint32_t parts() const { return parts_; }
  // The shortest way over one link or more; infinite: there is none.
  Duration way(std::uint32_t from, std::uint32_t to) const { return ways_[to * parts_ + from]; }
  // `next`: by part, the earliest event, of which frames on their way to it are some. Fills in `horizons`, by
  // part, none later than `most`; returns the earliest of them.
  Time find(std::span<const Time> next, Time most, std::span<Time> horizons) const;

 private:
  std::uint32_t parts_;
  std::vector<Duration> ways_;  // by part that is reached, then by part from which
};

}  // namespace rocelab::des
