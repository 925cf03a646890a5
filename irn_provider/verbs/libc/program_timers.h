// A program's timers in experiment time: ITIMER_REAL, those of timer_create, those behind a descriptor
// (timerfd). What they are is here, without I/O; timers.cc and timer_fds.cc have the functions that programs
// call, LiveProcess::Alarms delivers.
#pragma once

#include <signal.h>

#include <cstdint>
#include <map>
#include <variant>

#include "base/units.h"

namespace rocelab::libc {

class ProgramTimers {
 public:
  using Id = std::uint32_t;
  struct Setting {
    Time due = Time::never();  // never(): not armed
    Duration interval;         // 0: once
  };
  // What an expiration does: nothing, the timer only counts down (SIGEV_NONE); it sends a signal; or it makes
  // a descriptor readable.
  struct Readable {};
  using Action = std::variant<std::monostate, siginfo_t, Readable>;

  Id create(const Action& action);
  Id next_id() const { return next_id_; }  // of the one that create() makes next
  bool erase(Id id);
  Setting setting(Id id) const { return timers_.at(id).setting; }
  void set(Id id, const Setting& setting);
  // How many expirations the last signal stands for beyond its own (timer_getoverrun(2)).
  int overrun(Id id) const { return timers_.at(id).overrun; }

  sigset_t signals() const;  // that they send, armed or not
  // Of those that do something; never(): none is armed.
  Time next_timeout() const;
  struct Expiry {
    Id id;
    std::int64_t count;  // expirations, at least 1
    Action action;       // a signal has its si_overrun
  };
  // The timer that is due first, at `now` or before; at equal times that created first. It goes on: its next
  // instant is later than `now`, and what it has missed counts.
  Expiry take(Time now);
  Expiry take(Id id, Time now);  // this one, which is due

 private:
  struct Timer {
    Action action;
    Setting setting;
    int overrun = 0;
    bool acts() const { return !std::holds_alternative<std::monostate>(action); }
  };
  std::map<Id, Timer> timers_;
  Id next_id_ = 0;
};

}  // namespace rocelab::libc
