#include "irn_provider/verbs/libc/program.h"

#include <errno.h>
#include <link.h>

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

bool measures_clock() {
  const auto of_the_program = [](dl_phdr_info* info, std::size_t, void* found) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const auto& segment = info->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_R) == 0 || (segment.p_flags & PF_W) != 0)
        continue;
      const std::string_view bytes(
          reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr),  // NOLINT
          segment.p_filesz);
      if (bytes.find(kOfGetClock) != std::string_view::npos) *static_cast<bool*>(found) = true;
    }
    return 1;  // the first object is the program itself
  };
  bool found = false;
  dl_iterate_phdr(of_the_program, &found);
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
