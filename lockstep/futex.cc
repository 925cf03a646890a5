#include "lockstep/futex.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace rocelab::lockstep {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

bool futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t wall_ns) {
  timespec timeout{wall_ns / 1'000'000'000, wall_ns % 1'000'000'000};
  // The raw system call: libc's wrappers and clocks may be interposed for the program whose process this is.
  return syscall(SYS_futex, &word, FUTEX_WAIT, expected, wall_ns < 0 ? nullptr : &timeout, nullptr, 0) != 0 &&
         errno == EINTR;
}

void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

namespace {

// Measured with ping-pong and incast on two cores (docs/benchmarks/README.md).
constexpr int kMostYields = 20;
constexpr std::int64_t kMostYieldingNs = 50'000;

std::int64_t wall_ns() {
  timespec ts{};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
  return ts.tv_sec * 1'000'000'000LL + ts.tv_nsec;
}

}  // namespace

bool Patience::yield() {
  const std::int64_t now = wall_ns();
  if (yields_ == 0) since_ = now;
  if (yields_ == kMostYields || now - since_ > kMostYieldingNs) return false;
  ++yields_;
  syscall(SYS_sched_yield);  // the plain name is interposed in programs
  return true;
}

}  // namespace rocelab::lockstep
