// Interposed: pthread_sigmask, sigprocmask. A thread that waits in a loop on memory is found by samples
// (LiveProcess::watch_memory), and many programs block all signals in their threads: that of samples is never
// blocked.
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "irn_provider/live/live_process.h"
#include "irn_provider/live/program_signals.h"
#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/real_verbs.h"

RL_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  using namespace rocelab;
  if (set == nullptr || how == SIG_UNBLOCK || !verbs::in_experiment() || real::in_runtime() ||
      LiveProcess::inside())
    return real::pthread_sigmask(how, set, old);
  sigset_t without = *set;
  sigdelset(&without, spin_signal());
  return real::pthread_sigmask(how, &without, old);
}

RL_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  const int error = pthread_sigmask(how, set, old);
  if (error != 0) errno = error;
  return error == 0 ? 0 : -1;
}
