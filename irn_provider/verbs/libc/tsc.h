// The processor's time stamp counter in experiment time, for programs that read it themselves (perftest's
// get_cycles): no library call stands between them and the processor, so rdtsc is made to trap and answered
// in the trap's handler, at some 2 us a read. Two ways: the processor does it (PR_SET_TSC, prctl(2)), or,
// where a hypervisor runs the machine's kernel without that privilege and the system call has no effect, the
// instructions in the loaded code are replaced (tsc_sites.h).
#pragma once

#include <cstdint>

#include "base/units.h"

namespace rocelab::libc {

// What the counter shows: 100 ps a tick. No processor runs at 10 GHz, so a program that compares the
// processor's rate with what it measures itself believes what it has measured; one that reads the rate in
// /proc/cpuinfo finds this one there (cpu_info.h). At experiment time 0 it shows kTscAtZero, which a machine
// of 3 GHz comes to after a year; if the machine's is higher, that in whole hundredths of a second: it does
// not go back when the device is opened.
inline constexpr std::int64_t kTscTickPs = 100;
inline constexpr double kTscHz = 1e12 / kTscTickPs;
inline constexpr std::uint64_t kTscAtZero = 100'000'000'000'000'000;
constexpr std::uint64_t tsc_zero(std::uint64_t machine) {
  constexpr std::uint64_t kStep = 100'000'000;
  return machine < kTscAtZero ? kTscAtZero : (machine / kStep + 1) * kStep;
}
constexpr std::uint64_t tsc_at(Time t, std::uint64_t zero) {
  return zero + static_cast<std::uint64_t>(t.ps() / kTscTickPs);
}

enum class TscTrap : std::uint8_t { kNone, kProcessor, kCode };

// From now on rdtsc and rdtscp of the calling thread, and of threads that it starts, read experiment time; by
// the code's way, those of all threads, in what is loaded now: call it again when more has been. kNone:
// neither way works. The C library's own fast clocks read the counter too and go on showing what they did. A
// child process is back to normal after fork. The processor's trap outlives exec, and a program that knows
// nothing of it dies: what system() and posix_spawn() start, which go by vfork, does. `by_code`: do not ask
// the processor.
TscTrap trap_tsc(bool by_code = false);

}  // namespace rocelab::libc
