// Interposed: clock_gettime, timespec_get, gettimeofday, time, times, nanosleep, thrd_sleep, clock_nanosleep,
// usleep, sleep.
// Once the process has opened the device they show and spend experiment time; before, and in code of the
// runtime, they are the C library's (program_clocks.h says what clocks show). A signal whose handler has run
// ends a sleep: one of a timer in experiment time (timers.cc) at its instant.
#include <errno.h>
#include <sys/times.h>
#include <unistd.h>

#include <algorithm>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/program_clocks.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/libc/without_nonnull.h"

namespace rocelab::libc {
namespace {

// Experiment time as a program sees it when it asks a clock.
Time read_clock(LiveProcess& process) {
  count_spin(process);
  real::RuntimeScope scope;
  return process.now();
}

// What is left of it: a signal came.
Duration sleep_for(LiveProcess& process, Duration d) {
  if (d <= Duration()) return count_spin(process), Duration();
  end_spin();
  real::RuntimeScope scope;
  const Time deadline = process.now() + d;
  if (process.sleep_until(deadline) != Woken::kSignal) return Duration();
  return std::max(deadline - process.now(), Duration());
}

// clock_nanosleep's convention: a positive error number.
int sleep_on_clock(LiveProcess& process, clockid_t clock, int flags, const timespec& request,
                   timespec* remaining) {
  if (!valid(request)) return EINVAL;
  if ((flags & TIMER_ABSTIME) == 0) {
    const Duration left = sleep_for(process, to_duration(request));
    if (left <= Duration()) return 0;
    if (remaining != nullptr) *remaining = to_timespec(left);
    return EINTR;
  }
  const Time deadline = instant_of(process, clock, request);
  begin_wait(process, deadline);
  real::RuntimeScope scope;
  return process.sleep_until(deadline) == Woken::kSignal ? EINTR : 0;
}

}  // namespace
}  // namespace rocelab::libc

using namespace rocelab;
using namespace rocelab::libc;

RL_EXPORT int clock_gettime(clockid_t clock, timespec* ts) noexcept {
  LiveProcess* process = experiment();
  if (process == nullptr || !is_of_experiment(clock)) return outside_gettime(clock, ts);
  *ts = shown(*process, clock, read_clock(*process));
  return 0;
}

RL_EXPORT int timespec_get(timespec* ts, int base) noexcept {
  LiveProcess* process = experiment();
  if (base != TIME_UTC) return real::timespec_get(ts, base);
  if (process == nullptr) return outside_gettime(CLOCK_REALTIME, ts) == 0 ? base : 0;
  *ts = shown(*process, CLOCK_REALTIME, read_clock(*process));
  return base;
}

RL_EXPORT int gettimeofday(timeval* tv, void* tz) noexcept {
  LiveProcess* process = experiment();
  timespec ts{};
  if (process == nullptr) {
    if (const int result = real::gettimeofday(tv, tz); result != 0 || without_nonnull(tv) == nullptr)
      return result;
    outside_gettime(CLOCK_REALTIME, &ts);
  } else {
    count_clock_spin(*process);
    real::RuntimeScope scope;
    ts = shown(*process, CLOCK_REALTIME, process->now());
  }
  if (without_nonnull(tv) != nullptr) *tv = {.tv_sec = ts.tv_sec, .tv_usec = ts.tv_nsec / 1'000};
  return 0;
}

RL_EXPORT time_t time(time_t* out) noexcept {
  LiveProcess* process = experiment();
  timespec ts{};
  if (process != nullptr) {
    ts = shown(*process, CLOCK_REALTIME, read_clock(*process));
  } else {
    outside_gettime(CLOCK_REALTIME_COARSE, &ts);  // as the C library's
  }
  const time_t now = ts.tv_sec;
  if (out != nullptr) *out = now;
  return now;
}

// The processor time in `buffer` is real, as that of the CPU-time clocks and of clock().
RL_EXPORT clock_t times(tms* buffer) noexcept {
  const clock_t outside = outside_times(buffer);
  LiveProcess* process = experiment();
  return process != nullptr ? ticks_at(*process, read_clock(*process)) : outside;
}

RL_EXPORT int clock_nanosleep(clockid_t clock, int flags, const timespec* request, timespec* remaining) {
  LiveProcess* process = experiment();
  if (process == nullptr || !is_of_experiment(clock) || request == nullptr) {
    timespec buffer;
    const bool absolute = (flags & TIMER_ABSTIME) != 0;
    return real::clock_nanosleep(clock, flags, absolute ? machine_deadline(clock, request, buffer) : request,
                                 remaining);
  }
  return sleep_on_clock(*process, clock, flags, *request, remaining);
}

RL_EXPORT int nanosleep(const timespec* request, timespec* remaining) {
  LiveProcess* process = experiment();
  if (process == nullptr || request == nullptr) return real::nanosleep(request, remaining);
  const int error = sleep_on_clock(*process, CLOCK_MONOTONIC, 0, *request, remaining);
  if (error != 0) errno = error;
  return error == 0 ? 0 : -1;
}

RL_EXPORT int thrd_sleep(const timespec* request, timespec* remaining) {
  LiveProcess* process = experiment();
  if (process == nullptr || request == nullptr) return real::thrd_sleep(request, remaining);
  const int error = sleep_on_clock(*process, CLOCK_MONOTONIC, 0, *request, remaining);
  return error == 0 ? 0 : error == EINTR ? -1 : -2;
}

RL_EXPORT int usleep(useconds_t us) {
  LiveProcess* process = experiment();
  if (process == nullptr) return real::usleep(us);
  if (sleep_for(*process, Duration::from_ps(std::int64_t{us} * 1'000'000)) <= Duration()) return 0;
  errno = EINTR;
  return -1;
}

RL_EXPORT unsigned sleep(unsigned seconds) {
  LiveProcess* process = experiment();
  if (process == nullptr) return real::sleep(seconds);
  const Duration left = sleep_for(*process, to_duration({.tv_sec = seconds, .tv_nsec = 0}));
  return static_cast<unsigned>((left.ps() + 500'000'000'000) /
                               1'000'000'000'000);  // to the nearest, as glibc
}
