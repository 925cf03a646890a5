// StartList: which of a host's flows start when: at their time, or as soon as enough other flows have ended
// at this host and the delays behind these ends are over. Where flows of a connection wait for others, the
// flows of that connection start in one order, by start time and then by slot, which the other end knows,
// too: a flow whose turn has not come is held until the flows before it have started. No I/O and no clock:
// the program (runner.cc) and the virtual-time engine (emu/des) start their flows by it.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "verbs_app/flows/alarms.h"
#include "verbs_app/flows/flow_list.h"

namespace rocelab::app {

class StartList {
 public:
  void add(const Flow& flow, std::uint32_t slot);  // of a requester
  void begin();                                    // all are added

  void ended(std::uint32_t flow, std::int64_t now_ns);    // at this host, well
  std::vector<std::uint32_t> failed(std::uint32_t flow);  // the slots that never can start now
  // The next slot to start, so many nanoseconds after the epoch: by time, then id, then those that others
  // have let go. Null: none yet.
  std::optional<std::uint32_t> take(std::int64_t now_ns);

  std::size_t timed_left() const { return timed_.size() - next_ + delayed_.size(); }
  // Of the first of them; kNever: none is left.
  std::int64_t next_ns() const {
    const std::int64_t timed = next_ == timed_.size() ? kNever : timed_[next_].ns;
    return delayed_.empty() ? timed : std::min(timed, delayed_.begin()->ns);
  }

 private:
  struct Timed {
    std::int64_t ns;
    std::uint32_t slot;
    friend auto operator<=>(const Timed&, const Timed&) = default;
  };
  struct Waiter {
    std::uint32_t slot;
    std::uint32_t needed;      // ends to come until it starts
    std::size_t hopes;         // flows that may still end
    std::int64_t earliest_ns;  // its time, and the ends so far with their delays
  };
  struct Wait {
    std::size_t waiter;
    std::int64_t delay_ns;
  };
  struct Line {  // the flows of a connection, in the order in which they start
    std::vector<Timed> members;
    bool waits = false;  // some of them for other flows
    std::size_t next = 0;
    std::set<std::uint32_t> held;  // slots that could start but for their turn
  };
  std::optional<std::uint32_t> due(std::int64_t now_ns);
  bool has_turn(std::uint32_t slot);  // else it is held

  std::vector<Timed> timed_;
  std::size_t next_ = 0;
  std::set<Timed> delayed_;
  std::vector<Waiter> waiters_;
  std::unordered_map<std::uint32_t, std::vector<Wait>> waits_for_;  // flow -> who waits for it
  std::vector<std::uint32_t> ready_;
  std::size_t next_ready_ = 0;
  std::map<std::uint32_t, Line> lines_;               // by connection
  std::unordered_map<std::uint32_t, Line*> line_of_;  // slots of connections where some wait
};

}  // namespace rocelab::app
