#include "irn_provider/verbs/libc/program.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "irn_provider/verbs/libc/cpu_info.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/program_clocks.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/libc/timers.h"
#include "irn_provider/verbs/libc/tsc.h"
#include "irn_provider/verbs/libc/ucx.h"

namespace rocelab::libc {
namespace {

// What get_clock.c says when the two do not agree.
constexpr std::string_view kOfGetClock = "Correlation coefficient r^2: %g < 0.9";

std::atomic<TscTrap> g_trap = TscTrap::kNone;

bool choose(const char* setting, bool by_name) {
  return setting != nullptr && setting[0] != 0 ? setting[0] != '0' : by_name;
}

MemoryWatch memory_watch(std::string_view program, const char* setting) {
  if (setting != nullptr && setting[0] == '0') return MemoryWatch::kNever;
  // The one polls a buffer's last byte, as the other does.
  const bool always = choose(setting, program == "ib_write_lat" || program == "riostream");
  return always ? MemoryWatch::kAlways : MemoryWatch::kOfHolders;
}

// "code": by changing the code, also where the processor could do it.
bool wants_code_trap(const char* setting) {
  return setting != nullptr && std::string_view(setting) == "code";
}

}  // namespace

ProgramNeeds needs_of(const ProgramTraits& program, const char* tsc, const char* memory_poll) {
  return {.tsc = choose(tsc, program.measures_clock || program.ucx),
          .calibrates = choose(tsc, program.measures_clock) && !program.ucx,
          .memory = memory_watch(program.name, memory_poll)};
}

// The file, not what is loaded of it: a sanitizer's red zones lie between the program's own constants. System
// calls, since the C library's are interposed.
bool measures_clock() {
  const auto fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY | O_CLOEXEC));
  if (fd < 0) return false;
  const long size = syscall(SYS_lseek, fd, 0, SEEK_END);
  void* const file =
      size > 0 ? mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  syscall(SYS_close, fd);
  if (file == MAP_FAILED) return false;
  const std::string_view bytes(static_cast<const char*>(file), static_cast<std::size_t>(size));
  const bool found = bytes.find(kOfGetClock) != std::string_view::npos;
  munmap(file, bytes.size());
  return found;
}

void serve_needs(LiveProcess& process) {
  static std::atomic<bool> served = false;
  static std::atomic<LiveProcess*> begun = nullptr;  // a forked child begins anew
  real::RuntimeScope scope;
  if (LiveProcess::timekeeper() != nullptr && begun.exchange(&process) != &process) {
    begin_clocks(process);
    adopt_timers(process);
    adopt_timer_fds(process);
  }
  if (served.exchange(true)) {
    // A program that loads its transports one by one opens the device anew in each.
    if (g_trap == TscTrap::kCode) trap_tsc(true);
    return;
  }
  const ProgramNeeds needs =
      needs_of({.name = program_invocation_short_name, .ucx = has_ucx(), .measures_clock = measures_clock()},
               std::getenv("ROCELAB_TSC"), std::getenv("ROCELAB_MEMORY_POLL"));
  process.watch_memory(needs.memory);
  if (!needs.tsc || LiveProcess::timekeeper() == nullptr) return;
  if (needs.calibrates) expect_clock_spins();
  g_trap = trap_tsc(wants_code_trap(std::getenv("ROCELAB_TSC")));
  if (needs.calibrates && g_trap != TscTrap::kNone) show_counter_rate();
  if (g_trap == TscTrap::kNone)
    std::fprintf(
        stderr,
        "rocelab: the time stamp counter cannot be trapped here: what this program measures with it is "
        "wall time\n");
}

}  // namespace rocelab::libc
