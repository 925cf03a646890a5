// Interposed: pthread_mutex_lock, pthread_mutex_unlock, the same of spin locks and of read-write locks. A
// thread that finds a lock taken parks: its holder may have parked inside (a poll_cq under a lock), and time
// must pass for it to go on. The thread runs when the lock is free and who freed it has parked. Free locks
// cost what they did. Locks that processes share go to the C library: their holder may be elsewhere.
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/real.h"

namespace rocelab::libc {
namespace {

std::atomic<int> g_waiters{0};  // threads that have parked for a lock

template <class Try>
int park_for_lock(LiveProcess& process, Try&& try_lock) {
  end_spin();
  ++g_waiters;
  int result = EBUSY;  // taken once only, though `ready` is asked more than once
  const auto ready = [&] {
    if (result == EBUSY) result = try_lock();
    return result != EBUSY;
  };
  park_through_signals(process, ready, Time::never());
  --g_waiters;
  return result;
}

template <class Try, class Lock>
int lock_or_park(bool may_park, Try&& try_lock, Lock&& really_lock) {
  const int result = try_lock();
  if (result != EBUSY) return result;
  LiveProcess* process = may_park ? experiment() : nullptr;
  return process != nullptr ? park_for_lock(*process, try_lock) : really_lock();
}

// The order of the two: a waiter counts itself, then tries; who unlocks has freed, then looks.
int freed(int result) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (g_waiters.load() == 0) return result;
  if (LiveProcess* process = experiment()) {
    real::RuntimeScope scope;
    process->look_again();
  }
  return result;
}

// As the C library keeps them (bits/struct_mutex.h, bits/struct_rwlock.h).
constexpr int kKindMask = 3, kShared = 128;
bool may_park(const pthread_mutex_t* m) {
  if ((m->__data.__kind & kShared) != 0) return false;
  // One that checks for errors says so when its own holder asks.
  return (m->__data.__kind & kKindMask) != PTHREAD_MUTEX_ERRORCHECK || m->__data.__owner != gettid();
}
bool may_park(const pthread_rwlock_t* l) { return l->__data.__shared == 0; }

}  // namespace
}  // namespace rocelab::libc

using namespace rocelab;
using namespace rocelab::libc;

RL_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  return lock_or_park(
      may_park(mutex), [=] { return real::pthread_mutex_trylock(mutex); },
      [=] { return real::pthread_mutex_lock(mutex); });
}

RL_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  return freed(real::pthread_mutex_unlock(mutex));
}

RL_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  return lock_or_park(
      true, [=] { return real::pthread_spin_trylock(lock); }, [=] { return real::pthread_spin_lock(lock); });
}

RL_EXPORT int pthread_spin_unlock(pthread_spinlock_t* lock) noexcept {
  return freed(real::pthread_spin_unlock(lock));
}

RL_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  return lock_or_park(
      may_park(lock), [=] { return real::pthread_rwlock_tryrdlock(lock); },
      [=] { return real::pthread_rwlock_rdlock(lock); });
}

RL_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  return lock_or_park(
      may_park(lock), [=] { return real::pthread_rwlock_trywrlock(lock); },
      [=] { return real::pthread_rwlock_wrlock(lock); });
}

RL_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  return freed(real::pthread_rwlock_unlock(lock));
}
