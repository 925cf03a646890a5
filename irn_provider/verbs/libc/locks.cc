// Interposed: pthread_mutex_lock, pthread_mutex_unlock, the same of spin locks and of read-write locks, with
// their trying and timed kinds. A thread that finds a lock taken parks: its holder may have parked inside (a
// poll_cq under a lock), and time must pass for it to go on. The thread runs when the lock is free and who
// freed it has parked. Free locks cost what they did. Deadlines are those of the program's clocks; who tries
// over and over lets time pass, as for an empty poll_cq. Locks that processes share go to the C library,
// because their holder may be elsewhere, and so do robust mutexes and those with a priority ceiling.
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/program_clocks.h"
#include "irn_provider/verbs/libc/real.h"

namespace rocelab::libc {
namespace {

std::atomic<int> g_waiters{0};  // threads that have parked for a lock

// `looks_free` is asked by whichever thread leads, so it must not take the lock: that thread would own it.
template <class Free, class Try>
int park_for_lock(LiveProcess& process, Free&& looks_free, Try&& try_lock, Time deadline = Time::never()) {
  begin_wait(process, deadline);
  ++g_waiters;
  int result = EBUSY;
  bool in_time = true;
  while ((result = try_lock()) == EBUSY && in_time)
    in_time = park_through_signals(process, looks_free, deadline);
  --g_waiters;
  return result == EBUSY ? ETIMEDOUT : result;
}

template <class Free, class Try, class Lock>
int lock_or_park(bool may_park, Free&& looks_free, Try&& try_lock, Lock&& really_lock) {
  const int result = try_lock();
  if (result != EBUSY) return result;
  LiveProcess* process = may_park ? experiment() : nullptr;
  return process != nullptr ? park_for_lock(*process, looks_free, try_lock) : really_lock();
}

// `really_lock` takes a deadline of the machine's clock.
template <class Free, class Try, class Lock>
int lock_or_park_until(clockid_t clock, const timespec* deadline, bool may_park, Free&& looks_free,
                       Try&& try_lock, Lock&& really_lock) {
  LiveProcess* process = experiment();
  if (process == nullptr || !is_of_experiment(clock)) {
    timespec buffer;
    return really_lock(*machine_deadline(clock, deadline, buffer));
  }
  const int result = try_lock();
  if (result != EBUSY) return result;
  if (!valid(*deadline)) return EINVAL;
  if (!may_park) return really_lock(outside_deadline(*process, clock, *deadline));
  return park_for_lock(*process, looks_free, try_lock, instant_of(*process, clock, *deadline));
}

// Of a call that does not wait.
int tried(int result) {
  if (result != EBUSY) return result;
  if (LiveProcess* process = experiment()) count_spin(*process);
  return result;
}

// The order of the two: a waiter counts itself, then tries; who unlocks has freed, then looks.
int freed(int result) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (g_waiters.load() == 0) return result;
  if (LiveProcess* process = experiment()) {
    real::RuntimeScope scope;
    process->recheck_waiters();
  }
  return result;
}

// As the C library keeps them (bits/struct_mutex.h, bits/struct_rwlock.h, nptl/pthreadP.h), for x86-64.
constexpr int kKindMask = 3, kRobust = 16, kProtected = 64, kShared = 128;
bool may_park(const pthread_mutex_t* m) {
  if ((m->__data.__kind & (kRobust | kProtected | kShared)) != 0) return false;
  // One that checks for errors says so when its own holder asks.
  return (m->__data.__kind & kKindMask) != PTHREAD_MUTEX_ERRORCHECK || m->__data.__owner != gettid();
}
bool may_park(const pthread_rwlock_t* l) { return l->__data.__shared == 0; }

template <class Word>
Word load(const Word& word) {
  return __atomic_load_n(&word, __ATOMIC_SEQ_CST);
}

bool looks_free(const pthread_mutex_t* m) { return load(m->__data.__lock) == 0; }
bool looks_free(const pthread_spinlock_t* l) { return load(*l) > 0; }

// Exactly when the `try` functions would take it: else a waiter would ask over and over at one instant.
constexpr unsigned kWritePhase = 1, kWriteLocked = 2, kReader = 8;
bool looks_free_to_read(const pthread_rwlock_t* l) {
  const unsigned state = load(l->__data.__readers);
  if ((state & kWriteLocked) == 0) return true;
  return (state & kWritePhase) == 0 && l->__data.__flags != PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}
bool looks_free_to_write(const pthread_rwlock_t* l) {
  const unsigned state = load(l->__data.__readers);
  if ((state & kWriteLocked) != 0) return false;
  return state < kReader ||
         ((state & kWritePhase) != 0 && l->__data.__flags != PTHREAD_RWLOCK_PREFER_READER_NP);
}

}  // namespace
}  // namespace rocelab::libc

using namespace rocelab;
using namespace rocelab::libc;

RL_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  return lock_or_park(
      may_park(mutex), [=] { return looks_free(mutex); }, [=] { return real::pthread_mutex_trylock(mutex); },
      [=] { return real::pthread_mutex_lock(mutex); });
}

RL_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  return freed(real::pthread_mutex_unlock(mutex));
}

RL_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  return lock_or_park(
      true, [=] { return looks_free(lock); }, [=] { return real::pthread_spin_trylock(lock); },
      [=] { return real::pthread_spin_lock(lock); });
}

RL_EXPORT int pthread_spin_unlock(pthread_spinlock_t* lock) noexcept {
  return freed(real::pthread_spin_unlock(lock));
}

RL_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  return lock_or_park(
      may_park(lock), [=] { return looks_free_to_read(lock); },
      [=] { return real::pthread_rwlock_tryrdlock(lock); },
      [=] { return real::pthread_rwlock_rdlock(lock); });
}

RL_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  return lock_or_park(
      may_park(lock), [=] { return looks_free_to_write(lock); },
      [=] { return real::pthread_rwlock_trywrlock(lock); },
      [=] { return real::pthread_rwlock_wrlock(lock); });
}

RL_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  return freed(real::pthread_rwlock_unlock(lock));
}

RL_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  return tried(real::pthread_mutex_trylock(mutex));
}

RL_EXPORT int pthread_spin_trylock(pthread_spinlock_t* lock) noexcept {
  return tried(real::pthread_spin_trylock(lock));
}

RL_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
  return tried(real::pthread_rwlock_tryrdlock(lock));
}

RL_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
  return tried(real::pthread_rwlock_trywrlock(lock));
}

RL_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                      const timespec* deadline) noexcept {
  return lock_or_park_until(
      clock, deadline, may_park(mutex), [=] { return looks_free(mutex); },
      [=] { return real::pthread_mutex_trylock(mutex); },
      [=](const timespec& end) { return real::pthread_mutex_clocklock(mutex, clock, &end); });
}

RL_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* deadline) noexcept {
  return pthread_mutex_clocklock(mutex, CLOCK_REALTIME, deadline);
}

RL_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                         const timespec* deadline) noexcept {
  return lock_or_park_until(
      clock, deadline, may_park(lock), [=] { return looks_free_to_read(lock); },
      [=] { return real::pthread_rwlock_tryrdlock(lock); },
      [=](const timespec& end) { return real::pthread_rwlock_clockrdlock(lock, clock, &end); });
}

RL_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* deadline) noexcept {
  return pthread_rwlock_clockrdlock(lock, CLOCK_REALTIME, deadline);
}

RL_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                         const timespec* deadline) noexcept {
  return lock_or_park_until(
      clock, deadline, may_park(lock), [=] { return looks_free_to_write(lock); },
      [=] { return real::pthread_rwlock_trywrlock(lock); },
      [=](const timespec& end) { return real::pthread_rwlock_clockwrlock(lock, clock, &end); });
}

RL_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* deadline) noexcept {
  return pthread_rwlock_clockwrlock(lock, CLOCK_REALTIME, deadline);
}
