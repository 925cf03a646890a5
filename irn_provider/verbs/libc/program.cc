#include "irn_provider/verbs/libc/program.h"

#include <errno.h>

#include <algorithm>
#include <array>
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

// perftest measures with get_cycles(), and its WRITE latency test polls the buffer's last byte, as
// librdmacm's riostream does.
constexpr std::array<std::string_view, 8> kPerftest = {"ib_write_bw",  "ib_write_lat", "ib_read_bw",
                                                       "ib_read_lat",  "ib_send_bw",   "ib_send_lat",
                                                       "ib_atomic_bw", "ib_atomic_lat"};

std::atomic<TscTrap> g_trap = TscTrap::kNone;

bool choose(const char* setting, bool by_name) {
  return setting != nullptr && setting[0] != 0 ? setting[0] != '0' : by_name;
}

MemoryWatch memory_watch(std::string_view program, const char* setting) {
  if (setting != nullptr && setting[0] == '0') return MemoryWatch::kNever;
  const bool always = choose(setting, program == "ib_write_lat" || program == "riostream");
  return always ? MemoryWatch::kAlways : MemoryWatch::kOfHolders;
}

// "code": by changing the code, also where the processor could do it.
bool wants_code_trap(const char* setting) {
  return setting != nullptr && std::string_view(setting) == "code";
}

}  // namespace

ProgramNeeds needs_of(std::string_view program, bool ucx, const char* tsc, const char* memory_poll) {
  const bool known = std::find(kPerftest.begin(), kPerftest.end(), program) != kPerftest.end();
  return {.tsc = choose(tsc, known || ucx),
          .calibrates = choose(tsc, known) && !ucx,
          .memory = memory_watch(program, memory_poll)};
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
  const ProgramNeeds needs = needs_of(program_invocation_short_name, has_ucx(), std::getenv("ROCELAB_TSC"),
                                      std::getenv("ROCELAB_MEMORY_POLL"));
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
