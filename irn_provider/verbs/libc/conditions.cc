// Interposed: pthread_cond_wait, pthread_cond_timedwait, pthread_cond_clockwait, pthread_cond_signal,
// pthread_cond_broadcast. A thread that waits for another one parks; deadlines are those of the program's
// clocks. Signals reach the C library's waiters, too: threads that began to wait before the device was opened
// (a wake-up too many is the standard's right). Condition variables that processes share are left to it.
// Not a cancellation point.
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/program_clocks.h"
#include "irn_provider/verbs/libc/real.h"

namespace rocelab::libc {
namespace {

struct Waiter {
  const pthread_cond_t* cond;
  std::atomic<bool> signalled{false};
};

// Never destroyed: programs wait in exit handlers too.
struct Waiting {
  real::Mutex mutex;
  std::vector<Waiter*> waiters;  // of all condition variables, in the order of waiting
  std::atomic<std::size_t> count{0};
};
Waiting& waiting() {
  static auto* w = new Waiting;
  return *w;
}

// As the C library keeps them (nptl/pthread_cond_common.c).
constexpr unsigned kShared = 1, kMonotonic = 2;
bool is_shared(const pthread_cond_t* cond) { return (cond->__data.__wrefs & kShared) != 0; }
clockid_t clock_of(const pthread_cond_t* cond) {
  return (cond->__data.__wrefs & kMonotonic) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

int wait_until(LiveProcess& process, pthread_cond_t* cond, pthread_mutex_t* mutex, Time deadline) {
  Waiter waiter{.cond = cond};
  {
    std::lock_guard lock(waiting().mutex);
    waiting().waiters.push_back(&waiter);
    waiting().count = waiting().waiters.size();
  }
  if (const int error = pthread_mutex_unlock(mutex); error != 0)
    waiter.signalled = true;  // the caller's mistake
  begin_wait(process, deadline);
  park_through_signals(
      process, [&] { return waiter.signalled.load(); }, deadline);
  bool signalled;
  {
    std::lock_guard lock(waiting().mutex);
    std::erase(waiting().waiters, &waiter);
    waiting().count = waiting().waiters.size();
    signalled = waiter.signalled;
  }
  const int error = pthread_mutex_lock(mutex);
  return error != 0 ? error : signalled ? 0 : ETIMEDOUT;
}

void wake(const pthread_cond_t* cond, bool all) {
  if (waiting().count.load() == 0) return;
  bool any = false;
  {
    std::lock_guard lock(waiting().mutex);
    for (Waiter* w : waiting().waiters) {
      if (w->cond != cond || w->signalled) continue;
      w->signalled = any = true;
      if (!all) break;
    }
  }
  LiveProcess* process = any ? LiveProcess::timekeeper() : nullptr;
  if (process == nullptr || LiveProcess::inside()) return;
  real::RuntimeScope scope;
  process->recheck_waiters();
}

LiveProcess* parks_on(const pthread_cond_t* cond) { return is_shared(cond) ? nullptr : experiment(); }

}  // namespace
}  // namespace rocelab::libc

using namespace rocelab;
using namespace rocelab::libc;

RL_EXPORT int pthread_cond_wait(pthread_cond_t* cond, pthread_mutex_t* mutex) {
  LiveProcess* process = parks_on(cond);
  return process != nullptr ? wait_until(*process, cond, mutex, Time::never())
                            : real::pthread_cond_wait(cond, mutex);
}

RL_EXPORT int pthread_cond_timedwait(pthread_cond_t* cond, pthread_mutex_t* mutex, const timespec* deadline) {
  LiveProcess* process = parks_on(cond);
  timespec buffer;
  if (process == nullptr)
    return real::pthread_cond_timedwait(cond, mutex, machine_deadline(clock_of(cond), deadline, buffer));
  if (!valid(*deadline)) return EINVAL;
  return wait_until(*process, cond, mutex, instant_of(*process, clock_of(cond), *deadline));
}

RL_EXPORT int pthread_cond_clockwait(pthread_cond_t* cond, pthread_mutex_t* mutex, clockid_t clock,
                                     const timespec* deadline) {
  LiveProcess* process = parks_on(cond);
  timespec buffer;
  if (process == nullptr)
    return real::pthread_cond_clockwait(cond, mutex, clock, machine_deadline(clock, deadline, buffer));
  if (!valid(*deadline) || (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME)) return EINVAL;
  return wait_until(*process, cond, mutex, instant_of(*process, clock, *deadline));
}

RL_EXPORT int pthread_cond_signal(pthread_cond_t* cond) noexcept {
  wake(cond, false);
  return real::pthread_cond_signal(cond);
}

RL_EXPORT int pthread_cond_broadcast(pthread_cond_t* cond) noexcept {
  wake(cond, true);
  return real::pthread_cond_broadcast(cond);
}
