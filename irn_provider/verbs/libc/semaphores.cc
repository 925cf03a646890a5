// Interposed: sem_wait, sem_trywait, sem_timedwait, sem_clockwait, sem_post. A thread that waits for another
// thread of its program parks: it holds no time, and runs at the instant of the post, after the thread that
// posted has parked. Semaphores are taken for the process's own; one that another process posts is noticed at
// the next event here.
#include <errno.h>
#include <semaphore.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/program_clocks.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/libc/wait.h"

namespace rocelab::libc {
namespace {

// As the C library keeps it (internaltypes.h, struct new_sem): the value, the waiters, and whether it is
// shared.
bool is_shared(const sem_t* semaphore) {
  constexpr std::size_t kPrivate = 8;  // offset; FUTEX_SHARED (128), else 0
  int shared = 0;
  std::memcpy(&shared, reinterpret_cast<const char*>(semaphore) + kPrivate, sizeof shared);
  return shared != 0;
}

// Waits for one slice of the machine's clock. True: taken.
bool taken_outside(LiveProcess& process, sem_t* semaphore) {
  ForeignScope foreign(process);
  timespec end{};
  real::clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_nsec += kOutsideSliceNs;
  if (end.tv_nsec >= 1'000'000'000) ++end.tv_sec, end.tv_nsec -= 1'000'000'000;
  return real::sem_clockwait(semaphore, CLOCK_MONOTONIC, &end) == 0;
}

// 0, or -1 with errno.
int wait_until(LiveProcess& process, sem_t* semaphore, Time deadline) {
  begin_wait(process, deadline);
  bool taken = false;  // once only, though it is asked for more than once
  const auto ready = [&] { return taken = taken || real::sem_trywait(semaphore) == 0; };
  while (is_shared(semaphore)) {
    const Time step = std::min(deadline, process.now() + kOutsideStep);
    const int error = restarting([&] {
      const Woken woken = process.park_until(ready, step);
      return woken == Woken::kSignal ? EINTR : 0;
    });
    if (taken) return 0;
    if (error != 0 || step == deadline) {
      errno = error != 0 ? error : ETIMEDOUT;
      return -1;
    }
    if (taken_outside(process, semaphore)) return 0;
  }
  const int error = restarting([&] {
    const Woken woken = process.park_until(ready, deadline);
    return woken == Woken::kReady ? 0 : woken == Woken::kSignal ? EINTR : ETIMEDOUT;
  });
  if (error == 0) return 0;
  errno = error;
  return -1;
}

}  // namespace
}  // namespace rocelab::libc

using namespace rocelab;
using namespace rocelab::libc;

RL_EXPORT int sem_wait(sem_t* semaphore) {
  LiveProcess* process = experiment();
  if (process != nullptr) return wait_until(*process, semaphore, Time::never());
  return real::sem_wait(semaphore);
}

// One that is asked for over and over lets time pass.
RL_EXPORT int sem_trywait(sem_t* semaphore) noexcept {
  const int result = real::sem_trywait(semaphore);
  if (result == 0) return result;
  const int error = errno;
  if (LiveProcess* process = experiment()) count_spin(*process);
  errno = error;
  return result;
}

RL_EXPORT int sem_timedwait(sem_t* semaphore, const timespec* deadline) {
  LiveProcess* process = experiment();
  if (process != nullptr)
    return wait_until(*process, semaphore, instant_of(*process, CLOCK_REALTIME, *deadline));
  timespec buffer;
  return real::sem_timedwait(semaphore, machine_deadline(CLOCK_REALTIME, deadline, buffer));
}

RL_EXPORT int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* deadline) {
  LiveProcess* process = experiment();
  if (process != nullptr && is_of_experiment(clock))
    return wait_until(*process, semaphore, instant_of(*process, clock, *deadline));
  timespec buffer;
  return real::sem_clockwait(semaphore, clock, machine_deadline(clock, deadline, buffer));
}

// Async-signal-safe in the C library, and here as long as the handler's thread is not inside of ours.
RL_EXPORT int sem_post(sem_t* semaphore) {
  const int result = real::sem_post(semaphore);
  if (LiveProcess* process = experiment()) {
    real::RuntimeScope scope;
    process->recheck_waiters();
  }
  return result;
}
