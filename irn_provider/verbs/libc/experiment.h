// What the interposed functions share: whether this thread is in experiment time, and waiting in it.
#pragma once

#include <errno.h>
#include <poll.h>
#include <time.h>

#include <cstdint>
#include <functional>

#include "base/units.h"
#include "irn_provider/live/live_process.h"
#include "irn_provider/verbs/libc/real.h"

namespace rocelab::libc {

// The process whose time the caller lives in. Null: the real function is meant (device not opened, a forked
// child, or code of the runtime itself).
LiveProcess* experiment();

timespec to_timespec(Duration d);          // rounded down to 1 ns
bool valid(const timespec& ts);            // POSIX: 0 <= tv_nsec < 1e9, tv_sec >= 0
Duration to_duration(const timespec& ts);  // of a valid one; saturates at infinite()
// Where as much of the machine's clock will have passed as of experiment time until `deadline`, which is of a
// clock of experiment time. Not inside of a RuntimeScope.
timespec outside_deadline(LiveProcess& process, clockid_t clock, const timespec& deadline);

// A program that asks the clock, or a socket that is not ready, over and over without ever waiting would stop
// time for ever: computing costs none. Each such call counts; after kSpinsPerPark of them in a row time
// passes as it does for an empty poll_cq.
inline constexpr int kSpinsPerPark = 1'000;
void count_spin(LiveProcess& process);
// Such a call that waits for another thread of the program, or for an event of ours: time passes until
// `ready`. While nothing else is called in between, for longer and longer: what ends a wait of seconds of
// experiment time, as that for a lost connection request, would take minutes in steps of empty polls.
void count_spin(LiveProcess& process, const std::function<bool()>& ready);
// One ask that is known to find nothing, with time passing as there.
void ask_again(LiveProcess& process, const std::function<bool()>& ready);
// For a program that is known to wait by asking gettimeofday over and over: perftest does so 200 times, for
// 0.1 to 2 ms each, to find out the rate of the time stamp counter, at the end of every measurement. Time
// passes after fewer calls, and in longer steps.
inline constexpr int kSpinsPerParkWhenExpected = 50;
inline constexpr Duration kClockStepWhenExpected = 1_ms;  // two or three a time
void expect_clock_spins();
void count_clock_spin(LiveProcess& process);  // of gettimeofday; the same as count_spin unless expected
void end_spin();
// Before a wait until `deadline`. A wait whose deadline has passed takes no time: it counts as a spin, too.
// Not inside of a RuntimeScope.
void begin_wait(LiveProcess& process, Time deadline);

// Waits that signals do not end (locks, joins): parks until `ready()` or the deadline, and handlers run
// meanwhile. True: ready. Not inside of a RuntimeScope.
bool park_through_signals(LiveProcess& process, const std::function<bool()>& ready, Time deadline);

// Waits that a signal ends unless its handler was installed with SA_RESTART (signal(7)). `call` gives 0 or an
// error number; EINTR: a signal has woken the thread. It runs in a RuntimeScope of its own each time.
template <class F>
int restarting(F&& call) {
  while (true) {
    real::RuntimeScope scope;  // at its end handlers run
    const int error = call();
    if (error != EINTR || !LiveProcess::signals_restart()) return error;
  }
}

// Brackets a system call that waits for the outside (LiveProcess::foreign_enter).
class ForeignScope {
 public:
  explicit ForeignScope(LiveProcess& process, bool for_anyone = false) : process_(process) {
    process_.foreign_enter(for_anyone);
  }
  ~ForeignScope() { process_.foreign_leave(); }
  ForeignScope(const ForeignScope&) = delete;
  ForeignScope& operator=(const ForeignScope&) = delete;

 private:
  LiveProcess& process_;
};

}  // namespace rocelab::libc
