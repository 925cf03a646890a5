// Interposed: pause, sigsuspend. The signal of a timer in experiment time ends them at its instant. One from
// outside (kill, SIGURG) ends them, too: steps of experiment time take turns with slices of wall time, in
// which such signals are let in, so that none is missed that came during a step.
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/libc/timers.h"
#include "irn_provider/verbs/libc/wait.h"
#include "irn_provider/verbs/libc/without_nonnull.h"

namespace rocelab::libc {
namespace {

constexpr timespec kSlice{.tv_sec = 0, .tv_nsec = kOutsideSliceNs};
constexpr timespec kNow{};

// True: a signal that `mask` lets in has come within `wall`; its handler has run.
bool let_in(const sigset_t& mask, const timespec& wall) {
  return real::ppoll(nullptr, 0, &wall, &mask) < 0 && errno == EINTR;
}

// What a step holds back: all but the timers' own, and faults, which cannot wait.
sigset_t held_back(const sigset_t& mask) {
  const sigset_t timers = timer_signals();
  sigset_t set;
  sigfillset(&set);
  for (int s = 1; s <= SIGRTMAX; ++s) {
    const bool fault = s == SIGSEGV || s == SIGBUS || s == SIGILL || s == SIGFPE || s == SIGTRAP;
    if (fault || (sigismember(&timers, s) == 1 && sigismember(&mask, s) != 1)) sigdelset(&set, s);
  }
  return set;
}

int suspend(LiveProcess& process, const sigset_t& mask) {
  end_spin();
  while (!let_in(mask, kNow)) {
    const sigset_t held = held_back(mask);
    sigset_t before;
    pthread_sigmask(SIG_SETMASK, &held, &before);
    Woken woken;
    {
      real::RuntimeScope scope;  // at its end the timer's handler runs
      woken = process.sleep_until(process.now() + kOutsideStep);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (woken == Woken::kSignal) break;
    ForeignScope foreign(process);
    if (let_in(mask, kSlice)) break;
  }
  errno = EINTR;
  return -1;
}

}  // namespace
}  // namespace rocelab::libc

using namespace rocelab;
using namespace rocelab::libc;

RL_EXPORT int pause() {
  LiveProcess* process = experiment();
  if (process == nullptr) return real::pause();
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return suspend(*process, mask);
}

RL_EXPORT int sigsuspend(const sigset_t* mask) {
  LiveProcess* process = experiment();
  if (process == nullptr || without_nonnull(mask) == nullptr) return real::sigsuspend(mask);
  return suspend(*process, *mask);
}
