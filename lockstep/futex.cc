#include "lockstep/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace rocelab::lockstep {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t wall_ns) {
  timespec timeout{wall_ns / 1'000'000'000, wall_ns % 1'000'000'000};
  // The raw system call: libc's wrappers and clocks may be interposed for the program whose process this is.
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, wall_ns < 0 ? nullptr : &timeout, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace rocelab::lockstep
