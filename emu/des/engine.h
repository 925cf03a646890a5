// Engines: which node of a Network runs when.
//
// Windows (the one that is used): a window begins at the earliest event of the nodes of a part of the network
// and is as long as the smallest latency of its links, so that nothing sent inside it arrives inside it. Each
// node runs its own events to the window's end, in index order. Parts run at once where there are threads,
// each as many windows as fit before the horizon, and meet then: a round (network.h). Conservative; exact.
// Results are the same whatever the parts and threads; how many rounds there are is not.
// Global order (the oracle): always the earliest event of all, by (time, node), one instant of one node at a
// time, in one part. Slow and plain. Both drive the same nodes with the same keys, and must give the same
// traces.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emu/des/crew.h"
#include "emu/des/network.h"

namespace rocelab::des {

enum class Driver : std::uint8_t { kWindows, kGlobalOrder };

// What a run's parts did, by a clock of the caller's, in its ticks. `critical`: the sum over rounds of the
// part that took longest, which as many cores as parts cannot go below.
struct PartWork {
  std::vector<std::uint64_t> busy;  // by part
  std::uint64_t critical = 0;
};

class Engine {
 public:
  using Clock = std::uint64_t (*)();
  // At most as many threads as parts are used. `clock`: null, or what measures work().
  Engine(Network& network, Driver driver, std::uint32_t threads = 1, Clock clock = nullptr);

  // One round, or one instant, if there is an event before `stop`; no event at `stop` or later happens.
  // False: there is none, and the run is over: now() is a lookahead behind the last event, `stop` at most.
  bool step(Time stop);
  Time next_event() const;           // of all nodes
  Time now() const { return now_; }  // every event before it has happened
  std::uint64_t steps() const { return steps_; }
  std::uint32_t threads() const { return crew_ ? crew_->threads() : 1; }
  const PartWork& work() const { return work_; }  // empty without a clock

 private:
  struct alignas(64) Ticks {
    std::uint64_t value = 0;
  };
  void run_parts(std::uint32_t thread);
  void count_work();

  Network& network_;
  Driver driver_;
  Clock clock_;
  std::unique_ptr<Crew> crew_;  // null: the caller alone
  std::vector<Ticks> ticks_;    // of this round, by part
  PartWork work_;
  Time now_;
  std::uint64_t steps_ = 0;
};

}  // namespace rocelab::des
