// LockstepProcess: signals at instants of experiment time.
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "irn_provider/live/lockstep_process.h"
#include "irn_provider/live/program_signals.h"
#include "lockstep/futex.h"

namespace rocelab {

namespace {

// signal(7): what a signal does that has no handler.
bool does_nothing(int signal) {
  struct sigaction action {};
  if (sigaction(signal, nullptr, &action) != 0) return true;
  if ((action.sa_flags & SA_SIGINFO) != 0) return false;
  const bool of_no_account = signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
  return action.sa_handler == SIG_IGN || (action.sa_handler == SIG_DFL && of_no_account);
}

// proc(5): another thread's mask is told nowhere else. False: there is no such thread.
bool accepts(int tid, int signal) {
  char path[64], line[256];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return false;
  unsigned long long blocked = ~0ull;
  while (std::fgets(line, sizeof line, file) != nullptr)
    if (std::sscanf(line, "SigBlk: %llx", &blocked) == 1) break;
  std::fclose(file);
  return (blocked >> (signal - 1) & 1) == 0;
}

// Tells `call` to send it. The kernel lets nobody send its own codes (SI_KERNEL, an interval timer's) but the
// receiver to itself: from another thread it comes as a timer's of the other kind.
template <class Call>
void send_by(const Call& call, siginfo_t info) {
  if (call(&info) == 0 || errno != EPERM) return;
  info.si_code = SI_TIMER;
  call(&info);
}
void send_to_thread(int tid, const siginfo_t& signal) {
  send_by(
      [&](siginfo_t* info) { return syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, signal.si_signo, info); },
      signal);
}
void send_to_process(const siginfo_t& signal) {
  send_by([&](siginfo_t* info) { return syscall(SYS_rt_sigqueueinfo, getpid(), signal.si_signo, info); },
          signal);
}

}  // namespace

// Of a thread that is parked. A handler of the program's that runs meanwhile may do what somebody waits for
// (sem_post, a write to a pipe), and what it calls there is not told of: whoever waits is asked again. And
// the wait of the thread itself may be over by it.
void LockstepProcess::Impl::sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t expected, Lock& lock,
                                     ThreadState& t) {
  lock.unlock();
  const std::uint32_t own = t_own_signals;
  const bool interrupted = lockstep::futex_wait(word, expected, kLookAroundNs) && own == t_own_signals;
  lock.lock();
  if (!interrupted || t.mode != ThreadMode::kParked || t.due) return;  // of the helper: it blocks all
  note_interruption();
  wake_ready();
  t.due = t.signalled = true;
  if (running == 0 && leader != &t) lockstep::futex_wake_all(slot.grant_seq);  // whoever leads looks again
}

void LockstepProcess::Impl::ring_alarms() {
  if (!alarms.next_timeout) return;
  bool changed = false;
  while (alarms.next_timeout() <= nics.now()) {
    if (const std::optional<siginfo_t> signal = alarms.take(nics.now())) {
      send(*signal);
    } else {
      changed = true;
    }
  }
  if (changed) wake_ready();
}

// The choice is the kernel's (complete_signal): the main thread, or who else does not block it.
void LockstepProcess::Impl::send(const siginfo_t& signal) {
  if (does_nothing(signal.si_signo)) return;
  ThreadState* chosen = nullptr;
  bool main_known = false;
  for (const auto& t : threads) {
    const bool main = t->tid == getpid();
    main_known = main_known || main;
    if ((main || chosen == nullptr) && accepts(t->tid, signal.si_signo)) chosen = t.get();
  }
  if (!main_known && accepts(getpid(), signal.si_signo)) return send_to_thread(getpid(), signal);
  if (chosen == nullptr) {  // all block it: it waits for one that no longer does, or for sigwait
    send_to_process(signal);
  } else if (chosen->mode == ThreadMode::kParked) {
    chosen->signals.push_back(signal);
    chosen->due = chosen->signalled = true;
  } else {
    send_to_thread(chosen->tid, signal);
  }
}

void LockstepProcess::set_alarms(Alarms alarms) {
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  impl_->alarms = std::move(alarms);
}

// The thread runs, so that nobody adds to its signals meanwhile. A handler may park, and be woken by the next
// one.
void LiveProcess::deliver_signals() {
  if (t_state == nullptr || t_state->signals.empty()) return;
  const int error = errno;  // as after a system call, whatever the handler does
  for (const siginfo_t& signal : std::exchange(t_state->signals, {})) send_to_thread(t_state->tid, signal);
  errno = error;
}

bool LiveProcess::signals_restart() {
  if (take_interruption()) return false;
  if (t_state == nullptr) return true;
  for (const siginfo_t& signal : t_state->signals) {
    struct sigaction action {};
    sigaction(signal.si_signo, nullptr, &action);
    if ((action.sa_flags & SA_RESTART) == 0) return false;
  }
  return true;
}

}  // namespace rocelab
