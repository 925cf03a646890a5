// Timers of timer_create that call a function in a new thread (SIGEV_THREAD), in experiment time: a timer
// behind a descriptor (timer_fds.cc), and a thread that reads it, as the C library has one. The functions are
// those of POSIX, with their results; timers.cc interposes.
#pragma once

#include <signal.h>
#include <time.h>

#include <cstdint>

namespace rocelab::libc {

class TimerThreads {
 public:
  static int create(clockid_t clock, const sigevent& event, timer_t* timer);
  static bool has(timer_t timer);  // one of these; the others are for those
  static int set(timer_t timer, int flags, const itimerspec* value, itimerspec* old);
  static int get(timer_t timer, itimerspec* value);
  static int overrun(timer_t timer);
  static int erase(timer_t timer);
};

}  // namespace rocelab::libc
