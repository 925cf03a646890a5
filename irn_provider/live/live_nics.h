// LiveNics: the NICs of one process under one clock, one for each NIC of its host. What happens at one
// instant has an order (docs/explanation/architecture.md): arrivals and timers of all NICs, then what threads
// post, then the departures. So an instant is run for all NICs before the next one begins on any; one NIC
// alone runs on by itself. The functions are LiveNic's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "irn_provider/live/live_nic.h"

namespace rocelab {

class LiveNics {
 public:
  // `slots`: indices of the VFs, which this process owns, the lead's first. `segment` outlives it, and so
  // does `schedule` (LiveNic).
  LiveNics(const lockstep::Segment& segment, const Schedule* schedule,
           const std::vector<std::uint32_t>& slots);

  std::size_t size() const { return nics_.size(); }
  LiveNic& operator[](std::size_t nic) { return *nics_[nic]; }
  Time now() const { return nics_.front()->now(); }  // of all
  Time next_event();

  void advance(Time t);
  bool run_until(Time limit);
  bool run_to_posts(Time t);

  // --- event by event, while other processes share the ports
  std::vector<VfIntent> intents(Time threads);  // by NIC; `threads`: when the process's own ones go on
  bool run_inputs(Time t);
  bool depart(std::size_t nic, Time t, TcMask of, Bytes& sent);

  std::uint64_t completions();  // made so far
  std::uint64_t messages_placed() const;
  void stop_at_messages();
  void publish_counters();
  void finish();

 private:
  bool depart_all(Time t);
  std::vector<std::unique_ptr<LiveNic>> nics_;
};

}  // namespace rocelab
