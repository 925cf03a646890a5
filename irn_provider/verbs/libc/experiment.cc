#include "irn_provider/verbs/libc/experiment.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "irn_provider/verbs/libc/program_clocks.h"
#include "irn_provider/verbs/libc/real.h"

namespace rocelab::libc {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kPsPerNs = 1'000;
// Beyond this a point of experiment time does not fit 64 bits of picoseconds (106 days).
constexpr std::int64_t kMaxSeconds = std::numeric_limits<std::int64_t>::max() / (kNsPerSecond * kPsPerNs) - 1;

thread_local int spins = 0;
// Calls of gettimeofday with nothing else in between. Counted apart: were a step of time taken between a
// program's reading of the counter and its first call of gettimeofday, it would take the step for a part of
// what it measures.
thread_local int clock_spins = 0;
// Asks in a row that found nothing, with nothing else in between.
constexpr int kAsksInShortSteps = 64;
constexpr Duration kShortStep = 10_us, kLongestStep = 10_ms;
thread_local int asks = 0;
thread_local Duration ask_step = kShortStep;
std::atomic<bool> clock_spins_expected = false;

}  // namespace

// inside(): on behalf of a thread that was found to spin, by a signal, and has no RuntimeScope.
LiveProcess* experiment() {
  return real::in_runtime() || LiveProcess::inside() ? nullptr : LiveProcess::timekeeper();
}

timespec to_timespec(Duration d) {
  const std::int64_t ns = d.ps() / kPsPerNs;
  return {.tv_sec = ns / kNsPerSecond, .tv_nsec = ns % kNsPerSecond};
}

bool valid(const timespec& ts) { return ts.tv_sec >= 0 && ts.tv_nsec >= 0 && ts.tv_nsec < kNsPerSecond; }

Duration to_duration(const timespec& ts) {
  if (ts.tv_sec > kMaxSeconds) return Duration::infinite();
  return Duration::from_ps((std::int64_t{ts.tv_sec} * kNsPerSecond + ts.tv_nsec) * kPsPerNs);
}

timespec outside_deadline(LiveProcess& process, clockid_t clock, const timespec& deadline) {
  real::RuntimeScope scope;
  const Time until = instant_of(process, clock, deadline), now = process.now();
  timespec end{};
  real::clock_gettime(clock, &end);
  if (until == Time::never()) return {.tv_sec = std::numeric_limits<time_t>::max(), .tv_nsec = 0};
  if (until <= now) return end;
  const std::int64_t ns = end.tv_nsec + (until - now).ps() / kPsPerNs;
  return {.tv_sec = end.tv_sec + ns / kNsPerSecond, .tv_nsec = ns % kNsPerSecond};
}

void expect_clock_spins() { clock_spins_expected = true; }

void count_spin(LiveProcess& process) {
  clock_spins = 0;
  if (++spins < kSpinsPerPark) return;
  spins = 0;
  real::RuntimeScope scope;
  process.park_poll();
}

void count_spin(LiveProcess& process, const std::function<bool()>& ready) {
  if (++spins < kSpinsPerPark) return;
  spins = 0;
  ask_again(process, ready);
}

void ask_again(LiveProcess& process, const std::function<bool()>& ready) {
  real::RuntimeScope scope;
  if (++asks <= kAsksInShortSteps) return process.park_poll();
  ask_step = std::min(ask_step * 2, kLongestStep);
  process.park_until(ready, process.now() + ask_step);
}

void count_clock_spin(LiveProcess& process) {
  if (!clock_spins_expected) return count_spin(process);
  if (++clock_spins < kSpinsPerParkWhenExpected) return;
  clock_spins = 0;
  real::RuntimeScope scope;
  process.park_poll(kClockStepWhenExpected);
}

bool park_through_signals(LiveProcess& process, const std::function<bool()>& ready, Time deadline) {
  while (true) {
    real::RuntimeScope scope;  // at its end handlers run
    const Woken woken = process.park_until(ready, deadline);
    if (woken != Woken::kSignal) return woken == Woken::kReady;
  }
}

void begin_wait(LiveProcess& process, Time deadline) {
  if (deadline == Time::never()) return end_spin();
  bool passed;
  {
    real::RuntimeScope scope;
    passed = deadline <= process.now();
  }
  passed ? count_spin(process) : end_spin();
}

void end_spin() {
  spins = clock_spins = asks = 0;
  ask_step = kShortStep;
}

}  // namespace rocelab::libc
