// A program's timers that signal, in experiment time: ITIMER_REAL, and those of timer_create. What they are
// is here, without I/O; timers.cc has the functions that programs call, LiveProcess::Alarms delivers.
#pragma once

#include <signal.h>

#include <cstdint>
#include <map>
#include <optional>

#include "base/units.h"

namespace rocelab::libc {

class SignalTimers {
 public:
  using Id = std::uint32_t;
  struct Setting {
    Time due = Time::never();  // never(): not armed
    Duration interval;         // 0: once
  };

  // `signal` is what it sends; none: it only counts down (SIGEV_NONE).
  Id create(std::optional<siginfo_t> signal);
  Id next_id() const { return next_id_; }  // of the one that create() makes next
  bool erase(Id id);
  Setting setting(Id id) const { return timers_.at(id).setting; }
  void set(Id id, const Setting& setting);
  // How many expirations the last signal stands for beyond its own (timer_getoverrun(2)).
  int overrun(Id id) const { return timers_.at(id).overrun; }

  sigset_t signals() const;  // that they send, armed or not
  // Of those that signal; never(): none is armed.
  Time next_timeout() const;
  // The signal of the timer that is due first, at `now` or before; at equal times of that created first. The
  // timer goes on: its next instant is later than `now`, and what it has missed counts as overrun.
  siginfo_t take(Time now);

 private:
  struct Timer {
    std::optional<siginfo_t> signal;
    Setting setting;
    int overrun = 0;
  };
  std::map<Id, Timer> timers_;
  Id next_id_ = 0;
};

}  // namespace rocelab::libc
