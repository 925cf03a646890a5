// The program's clocks, in nanoseconds, and sleeping to a point of time.
#pragma once

#include <time.h>

#include <cstdint>

namespace rocelab::app {

inline constexpr std::int64_t kNsPerSecond = 1'000'000'000;
inline constexpr std::int64_t kNsPerMs = 1'000'000;

inline std::int64_t read_clock(clockid_t clock) {
  timespec ts{};
  clock_gettime(clock, &ts);
  return std::int64_t{ts.tv_sec} * kNsPerSecond + ts.tv_nsec;
}
inline std::int64_t monotonic_ns() { return read_clock(CLOCK_MONOTONIC); }
inline std::int64_t realtime_ns() { return read_clock(CLOCK_REALTIME); }

inline void sleep_until(std::int64_t monotonic) {
  const timespec ts{.tv_sec = monotonic / kNsPerSecond, .tv_nsec = monotonic % kNsPerSecond};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, nullptr) != 0) {
  }  // a signal: go on
}

}  // namespace rocelab::app
