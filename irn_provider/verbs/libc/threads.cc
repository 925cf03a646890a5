// Interposed: pthread_create and pthread_join. A thread lives in experiment time from its birth, or time
// could pass between the creation and its first call; who waits for its end parks.
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/experiment.h"
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

bool has_ended(pthread_t thread) {
  std::lock_guard lock(born().mutex);
  const auto found = born().ended.find(thread);
  return found == born().ended.end() || found->second;
}

struct Start {
  void* (*routine)(void*);
  void* argument;
  std::atomic<bool> begun{false};
};

// The thread's life. Its end is told while the thread still holds time: who joins it runs at that instant.
struct Life {
  Life() { set(false); }
  ~Life() {
    set(true);
    LiveProcess* process = LiveProcess::timekeeper();
    if (process == nullptr) return;
    real::RuntimeScope scope;
    process->look_again();
  }
  static void set(bool ended) {
    std::lock_guard lock(born().mutex);
    born().ended[pthread_self()] = ended;
  }
};

void* run(void* p) {
  Start& start = *static_cast<Start*>(p);
  const auto routine = start.routine;
  void* const argument = start.argument;
  if (LiveProcess* process = experiment()) {
    real::RuntimeScope scope;
    process->with_nic([](Nic&, Time) {});  // joins
  }
  thread_local Life life;  // made after the thread has joined, so it ends before the thread leaves
  static_cast<void>(&life);
  start.begun = true;  // who made the thread goes on, and `start` with it
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
  const int error = real::pthread_join(thread, result);
  if (error == 0) {
    std::lock_guard lock(born().mutex);
    born().ended.erase(thread);
  }
  return error;
}
