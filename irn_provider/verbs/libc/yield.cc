// Interposed: sched_yield, thrd_yield. A thread that yields waits for something that another thread of its
// program, or the network, will do; as an empty poll_cq does, it lets time pass, or a loop around it would
// hold time for the whole grace.
#include <sched.h>
#include <threads.h>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/real.h"

RL_EXPORT int sched_yield() noexcept {
  using namespace rocelab;
  if (LiveProcess* process = libc::experiment()) {
    libc::end_spin();
    real::RuntimeScope scope;
    process->park_poll();
    return 0;
  }
  return real::sched_yield();
}

RL_EXPORT void thrd_yield() noexcept { sched_yield(); }
