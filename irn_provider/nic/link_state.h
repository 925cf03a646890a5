// NicLinkState: whether the link at the NIC's port is up, and what the program is told when that changes.
// Source: IBTA Vol 1, 11.6.3.3 and 11.6.3.4 (unaffiliated events: Port Active, Port Error). A queue pair's
// own state does not change: what it sends into a dead link is lost there, and its timers decide.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/link_change.h"
#include "base/units.h"
#include "irn_provider/transport/async_events.h"
#include "irn_provider/transport/counters.h"

namespace rocelab {

class NicLinkState {
 public:
  NicLinkState(NicCounters& counters, AsyncEvents& events) : counters_(counters), events_(events) {}

  // Changes that are to come, in the order of time; those at or before `now` have passed before anybody
  // looked, and nobody is told of them.
  void expect(std::vector<LinkChange> changes, Time now) {
    changes_ = std::move(changes);
    passed_ = 0;
    find_next();
    while (next_ <= now) up_ = take_next();
  }
  Time next_change() const { return next_; }
  void on_timeout(Time now) {
    while (next_ <= now) set(take_next());
  }

  void set(bool up) {
    if (std::exchange(up_, up) == up) return;
    if (!up) ++counters_.link_downed;
    events_.raise({up ? AsyncEvent::Kind::kPortActive : AsyncEvent::Kind::kPortError, 0});
  }
  bool up() const { return up_; }

 private:
  void find_next() { next_ = passed_ < changes_.size() ? changes_[passed_].at : Time::never(); }
  bool take_next() {
    const bool up = changes_[passed_++].up;
    find_next();
    return up;
  }

  NicCounters& counters_;
  AsyncEvents& events_;
  std::vector<LinkChange> changes_;
  std::size_t passed_ = 0;     // of them
  Time next_ = Time::never();  // of the rest
  bool up_ = true;
};

}  // namespace rocelab
