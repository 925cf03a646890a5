// StartList: which of a host's flows start when: at their time, or as soon as enough other flows have ended
// at this host. No I/O and no clock: the program (runner.cc) and the virtual-time engine (emu/des) start
// their flows by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "verbs_app/flows/alarms.h"
#include "verbs_app/flows/flow_list.h"

namespace rocelab::app {

class StartList {
 public:
  void add(const Flow& flow, std::uint32_t slot);  // of a requester
  void begin();                                    // all are added

  void ended(std::uint32_t flow);                         // at this host, well
  std::vector<std::uint32_t> failed(std::uint32_t flow);  // the slots that never can start now
  // The next slot to start, so many nanoseconds after the epoch: by time, then id, then those that others
  // have let go. Null: none yet.
  std::optional<std::uint32_t> take(std::int64_t now_ns);

  std::size_t timed_left() const { return timed_.size() - next_; }
  // Of the first of them; kNever: none is left.
  std::int64_t next_ns() const { return timed_left() == 0 ? kNever : timed_[next_].ns; }

 private:
  struct Timed {
    std::int64_t ns;
    std::uint32_t slot;
  };
  struct Waiter {
    std::uint32_t slot;
    std::uint32_t needed;  // ends to come until it starts
    std::size_t hopes;     // flows that may still end
  };
  std::vector<Timed> timed_;
  std::size_t next_ = 0;
  std::vector<Waiter> waiters_;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> waiters_of_;  // flow -> waiters
  std::vector<std::uint32_t> ready_;
  std::size_t next_ready_ = 0;
};

}  // namespace rocelab::app
