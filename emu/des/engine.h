// Engines: which node of a Network runs when.
//
// Windows (the one that is used): a window begins at the earliest event of all nodes and is one lookahead
// long, so that nothing sent inside it arrives inside it. Each node runs its own events to the window's end,
// in index order. Conservative; exact.
// Global order (the oracle): always the earliest event of all, by (time, node), one instant of one node at a
// time. Slow and plain. Both drive the same nodes with the same keys, and must give the same traces.
#pragma once

#include <cstdint>

#include "emu/des/network.h"

namespace rocelab::des {

enum class Driver : std::uint8_t { kWindows, kGlobalOrder };

class Engine {
 public:
  Engine(Network& network, Driver driver) : network_(network), driver_(driver) {}

  // One window, or one instant, if there is an event before `stop`; no event at `stop` or later happens.
  // False: there is none.
  bool step(Time stop);
  Time now() const { return now_; }  // every event before it has happened
  std::uint64_t steps() const { return steps_; }

 private:
  Network& network_;
  Driver driver_;
  Time now_;
  std::uint64_t steps_ = 0;
};

}  // namespace rocelab::des
