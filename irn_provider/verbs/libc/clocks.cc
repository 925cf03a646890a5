// Interposed: clock_gettime, timespec_get, gettimeofday, time, times, nanosleep, thrd_sleep, clock_nanosleep,
// usleep, sleep.
// Once the process has opened the device they show and spend experiment time; before, and in code of the
// runtime, they are the C library's. A signal whose handler has run ends a sleep: one of a timer in
// experiment time (timers.cc) at its instant.
#include <errno.h>
#include <sys/times.h>
#include <unistd.h>

#include <algorithm>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/libc/unpromised.h"

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
int sleep_on_clock(LiveProcess& process, std::int64_t epoch, int flags, const timespec& request,
                   timespec* remaining) {
  if (!valid(request)) return EINVAL;
  if ((flags & TIMER_ABSTIME) == 0) {
    const Duration left = sleep_for(process, to_duration(request));
    if (left <= Duration()) return 0;
    if (remaining != nullptr) *remaining = to_timespec(Time::zero() + left, 0);
    return EINTR;
  }
  const Time deadline = to_time(request, epoch);
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
  const std::int64_t epoch = process != nullptr ? epoch_seconds(clock) : -1;
  if (epoch < 0) return real::clock_gettime(clock, ts);
  *ts = to_timespec(read_clock(*process), epoch);
  return 0;
}

RL_EXPORT int timespec_get(timespec* ts, int base) noexcept {
  LiveProcess* process = experiment();
  if (process == nullptr || base != TIME_UTC) return real::timespec_get(ts, base);
  *ts = to_timespec(read_clock(*process), kRealtimeEpochSeconds);
  return base;
}

RL_EXPORT int gettimeofday(timeval* tv, void* tz) noexcept {
  LiveProcess* process = experiment();
  if (process == nullptr) return real::gettimeofday(tv, tz);
  count_clock_spin(*process);
  real::RuntimeScope scope;
  const timespec ts = to_timespec(process->now(), kRealtimeEpochSeconds);
  if (unpromised(tv) != nullptr) *tv = {.tv_sec = ts.tv_sec, .tv_usec = ts.tv_nsec / 1'000};
  return 0;
}

RL_EXPORT time_t time(time_t* out) noexcept {
  LiveProcess* process = experiment();
  if (process == nullptr) return real::time(out);
  const time_t now = to_timespec(read_clock(*process), kRealtimeEpochSeconds).tv_sec;
  if (out != nullptr) *out = now;
  return now;
}

// What it returns counts from where CLOCK_MONOTONIC does. The processor time in `buffer` is real, as that of
// the CPU-time clocks and of clock().
RL_EXPORT clock_t times(tms* buffer) noexcept {
  const clock_t real_ticks = real::times(buffer);
  LiveProcess* process = experiment();
  if (process == nullptr) return real_ticks;
  const timespec ts = to_timespec(read_clock(*process), kMonotonicEpochSeconds);
  const long hz = sysconf(_SC_CLK_TCK);
  return ts.tv_sec * hz + ts.tv_nsec / (1'000'000'000 / hz);
}

RL_EXPORT int clock_nanosleep(clockid_t clock, int flags, const timespec* request, timespec* remaining) {
  LiveProcess* process = experiment();
  const std::int64_t epoch = process != nullptr ? epoch_seconds(clock) : -1;
  if (epoch < 0 || request == nullptr) return real::clock_nanosleep(clock, flags, request, remaining);
  return sleep_on_clock(*process, epoch, flags, *request, remaining);
}

RL_EXPORT int nanosleep(const timespec* request, timespec* remaining) {
  LiveProcess* process = experiment();
  if (process == nullptr || request == nullptr) return real::nanosleep(request, remaining);
  const int error = sleep_on_clock(*process, kMonotonicEpochSeconds, 0, *request, remaining);
  if (error != 0) errno = error;
  return error == 0 ? 0 : -1;
}

RL_EXPORT int thrd_sleep(const timespec* request, timespec* remaining) {
  LiveProcess* process = experiment();
  if (process == nullptr || request == nullptr) return real::thrd_sleep(request, remaining);
  const int error = sleep_on_clock(*process, kMonotonicEpochSeconds, 0, *request, remaining);
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
