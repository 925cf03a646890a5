// A program's timers in its experiment, and what the functions that it calls share. Private to timers*.cc and
// timer_fds.cc.
#pragma once

#include <signal.h>
#include <time.h>

#include <cstdint>
#include <map>

#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/program_clocks.h"
#include "irn_provider/verbs/libc/program_timers.h"

namespace rocelab::libc {

// Under the process's lock. Never destroyed: programs set timers in exit handlers too.
struct Timers {
  ProgramTimers timers;
  ProgramTimers::Id interval_timer = 0;          // ITIMER_REAL
  std::map<ProgramTimers::Id, clockid_t> clock;  // of those of timer_create
};
Timers& timers_of(LiveProcess& process);
bool have_timers();  // the process is in experiment time, and has asked for one

// `f(Timers&, Time now)` under the process's lock.
template <class F>
auto with_timers(LiveProcess& process, F&& f) {
  end_spin();
  begin_clocks(process);
  Timers& t = timers_of(process);
  return process.call([&](Nic&, Time now) { return f(t, now); });
}

// Until it expires; 0: not armed. One that does nothing is not advanced when it does.
Duration left(const ProgramTimers::Setting& s, Time now);
ProgramTimers::Setting setting_of(Time from, Duration value, Duration interval);

// --- as timer_settime and timerfd_settime have them
inline bool valid(const itimerspec& value) { return valid(value.it_value) && valid(value.it_interval); }
itimerspec read_timer(const ProgramTimers::Setting& s, Time now);
// `now`; or `absolute`: on that clock of the program's.
ProgramTimers::Setting setting_of(LiveProcess& process, const itimerspec& value, bool absolute, Time now,
                                  clockid_t clock);

// A timer behind a descriptor has expired so many times: it is readable now (timer_fds.cc). Under the
// process's lock.
void make_readable(ProgramTimers::Id timer, std::int64_t expirations);

}  // namespace rocelab::libc
