// Interposed: pthread_create, pthread_join and its trying and timed kinds. A thread lives in experiment time
// from its birth, or time could pass between the creation and its first call; who waits for its end parks.
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>

#include "base/check.h"
#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/program_clocks.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/real_verbs.h"

namespace rocelab::libc {
namespace {

// Threads of the program that were made since it began. Never destroyed: programs join in exit handlers too.
struct Born {
  real::Mutex mutex;
  std::map<pthread_t, bool> ended;
};
Born& born() {
  static auto* b = new Born;
  return *b;
}

bool is_known(pthread_t thread) {
  std::lock_guard lock(born().mutex);
  return born().ended.contains(thread);
}
bool has_ended(pthread_t thread) {
  std::lock_guard lock(born().mutex);
  const auto found = born().ended.find(thread);
  return found == born().ended.end() || found->second;
}
int forget_joined(pthread_t thread, int error) {
  if (error != 0) return error;
  std::lock_guard lock(born().mutex);
  born().ended.erase(thread);
  return 0;
}

struct Start {
  void* (*routine)(void*);
  void* argument;
  std::atomic<bool> begun{false};
};

void set_ended(bool ended) {
  std::lock_guard lock(born().mutex);
  born().ended[pthread_self()] = ended;
}

// A thread's end is told while it still holds time: who joins it runs at that instant. So by a key that is
// made before that by which threads leave time: destructors run in this order, behind those of the program's
// C++ thread_locals. (One of ours takes the loader's lock, which whoever makes the thread may hold: a
// library's constructor.)
pthread_key_t end_key() {
  static const pthread_key_t key = [] {
    const auto tell = [](void*) {
      set_ended(true);
      LiveProcess* process = LiveProcess::timekeeper();
      if (process == nullptr) return;
      real::RuntimeScope scope;
      process->recheck_waiters();
    };
    pthread_key_t made = 0;
    RL_CHECK(pthread_key_create(&made, tell) == 0);
    return made;
  }();
  return key;
}
__attribute__((constructor)) void make_end_key() { end_key(); }

void* run(void* p) {
  Start& start = *static_cast<Start*>(p);
  const auto routine = start.routine;
  void* const argument = start.argument;
  if (LiveProcess* process = experiment()) {
    real::RuntimeScope scope;
    process->with_nic([](Nic&, Time) {});  // joins
  }
  set_ended(false);
  RL_CHECK(pthread_setspecific(end_key(), p) == 0);  // not null
  start.begun = true;                                // who made the thread goes on, and `start` with it
  return routine(argument);
}

}  // namespace
}  // namespace rocelab::libc

using namespace rocelab;
using namespace rocelab::libc;

RL_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                             void* argument) noexcept {
  if (!verbs::in_experiment() || real::in_runtime() || LiveProcess::inside())
    return real::pthread_create(thread, attributes, routine, argument);
  // The wait below is not the program's loop on memory, and is not parked as one (live_memory_poll.cc).
  const Inside inside;
  Start start{.routine = routine, .argument = argument};
  const int error = real::pthread_create(thread, attributes, run, &start);
  // Not asleep: a thread that sleeps for the grace, on a busy machine, is left behind.
  while (error == 0 && !start.begun) syscall(SYS_sched_yield);
  return error;
}

RL_EXPORT int pthread_join(pthread_t thread, void** result) {
  LiveProcess* process = experiment();
  if (process == nullptr) return real::pthread_join(thread, result);
  end_spin();
  park_through_signals(
      *process, [=] { return has_ended(thread); }, Time::never());
  ForeignScope foreign(*process);  // the rest of its end; and all of a thread that somebody else made
  return forget_joined(thread, real::pthread_join(thread, result));
}

// The end that was told is not yet all of it: whoever asks after that waits for the rest, as in a join.
RL_EXPORT int pthread_tryjoin_np(pthread_t thread, void** result) noexcept {
  LiveProcess* process = experiment();
  if (process != nullptr && is_known(thread) && has_ended(thread)) return pthread_join(thread, result);
  const int error = real::pthread_tryjoin_np(thread, result);
  if (error == EBUSY && process != nullptr) count_spin(*process);
  return forget_joined(thread, error);
}

RL_EXPORT int pthread_clockjoin_np(pthread_t thread, void** result, clockid_t clock,
                                   const timespec* deadline) {
  LiveProcess* process = experiment();
  timespec buffer;
  if (process == nullptr || !is_of_experiment(clock) || deadline == nullptr || !valid(*deadline))
    return real::pthread_clockjoin_np(thread, result, clock, machine_deadline(clock, deadline, buffer));
  if (!is_known(thread)) {
    const timespec end = outside_deadline(*process, clock, *deadline);
    ForeignScope foreign(*process);
    return real::pthread_clockjoin_np(thread, result, clock, &end);
  }
  const Time until = instant_of(*process, clock, *deadline);
  begin_wait(*process, until);
  if (!park_through_signals(
          *process, [=] { return has_ended(thread); }, until))
    return ETIMEDOUT;
  return pthread_join(thread, result);
}

RL_EXPORT int pthread_timedjoin_np(pthread_t thread, void** result, const timespec* deadline) {
  return pthread_clockjoin_np(thread, result, CLOCK_REALTIME, deadline);
}
