#include "irn_provider/live/program_signals.h"

#include <signal.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace rocelab {

constinit thread_local std::uint32_t t_own_signals = 0;

namespace {
constinit thread_local bool t_interruption = false;

// A thread's own mistakes, which runtimes and libraries handle (sanitizers, UCX): they find no thread
// waiting.
constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};

bool some_handler_interrupts() {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    if (std::ranges::find(kFaults, signal) != std::end(kFaults)) continue;
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0) continue;  // the C library's own
    const bool handled =
        (action.sa_flags & SA_SIGINFO) != 0 || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
    if (handled && (action.sa_flags & SA_RESTART) == 0) return true;
  }
  return false;
}

}  // namespace

void note_interruption() { t_interruption = some_handler_interrupts(); }
bool take_interruption() { return std::exchange(t_interruption, false); }

}  // namespace rocelab
