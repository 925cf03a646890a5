// LockstepProcess: its threads: who runs, parks, is blocked outside or left behind, and whom an instant
// wakes.
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/check.h"
#include "irn_provider/live/lockstep_process.h"
#include "irn_provider/live/program_signals.h"
#include "lockstep/futex.h"
#include "lockstep/proc_state.h"
#include "lockstep/wall_clock.h"

namespace rocelab {

using lockstep::futex_wake_all;
using lockstep::RunState;

constinit thread_local ThreadState* t_state = nullptr;

namespace {

char thread_state(int tid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  return lockstep::proc_state(path);
}

constinit thread_local bool t_leaves_at_its_end = false;

// A forked child's thread is in nobody's experiment time until the child opens a device of its own.
void forget_parent() {
  t_state = nullptr;
  t_leaves_at_its_end = false;
}

}  // namespace

// A thread that ends leaves experiment time at once instead of holding it for the grace. It may come back
// after that, because other libraries' destructors of its data read clocks: then a key's destructor runs
// again, which that of a C++ thread_local does not.
void LockstepProcess::Impl::leave_at_end() {
  static const pthread_key_t key = [] {
    pthread_key_t k = 0;
    RL_CHECK(pthread_key_create(&k, [](void* impl) { static_cast<Impl*>(impl)->thread_ends(); }) == 0);
    RL_CHECK(pthread_atfork(nullptr, nullptr, forget_parent) == 0);
    return k;
  }();
  t_leaves_at_its_end = pthread_setspecific(key, this) == 0;
}

void LockstepProcess::Impl::thread_ends() {
  t_leaves_at_its_end = false;
  if (leaving || t_state == nullptr) return;  // of a forked child that opened no device
  Inside inside;
  Lock lock(mutex);
  unwatch(*t_state);
  leave_thread(*t_state);
}

// The calling thread's state; a thread becomes one in experiment time by calling in.
ThreadState& LockstepProcess::Impl::me() {
  if (t_state == nullptr) {
    threads.push_back(std::make_unique<ThreadState>());
    t_state = threads.back().get();
    t_state->tid = static_cast<int>(syscall(SYS_gettid));
  }
  if (!t_leaves_at_its_end) leave_at_end();
  ++t_state->calls;
  watch(*t_state);
  if (t_state->mode == ThreadMode::kForeign) t_state->mode = ThreadMode::kRunning;  // a handler, in its call
  join(*t_state);
  return *t_state;
}

// Makes a detached thread a running one. Time stands from here on: either a window of this VF is open, or the
// VF holds.
void LockstepProcess::Impl::join(ThreadState& t) {
  if (t.mode == ThreadMode::kRunning || t.mode == ThreadMode::kForeign) return;
  start_running(t);
}

// Counts `t` as running. Outside a window the VF holds time first, and looks then how far time has gone: the
// order that the coordinator relies on.
void LockstepProcess::Impl::start_running(ThreadState& t) {
  t.mode = ThreadMode::kRunning;
  start_samples(t);
  if (running++ > 0 || granted) return;
  slot.hold.store(1);
  announce(segment.header());
  if (slot.grant_seq.load() != seq) {
    accept_window();  // a window was opened before we held: join at its begin
  } else {
    nics.advance(Time::from_ps(segment.header().committed_ps.load()));
  }
}

// Not before now: time may have gone on without this process.
Time LockstepProcess::Impl::earliest_deadline() const {
  Time earliest = resident.next_timeout ? std::max(resident.next_timeout(), nics.now()) : Time::never();
  if (alarms.next_timeout) earliest = std::min(earliest, std::max(alarms.next_timeout(), nics.now()));
  for (const auto& t : threads) {
    if (t->mode != ThreadMode::kParked) continue;
    earliest = std::min(earliest, t->due ? nics.now() : std::max(t->deadline, nics.now()));
  }
  return earliest;
}

void LockstepProcess::Impl::park(Lock& lock, ThreadState& t) {
  RL_CHECK(t.mode == ThreadMode::kRunning);
  t.mode = ThreadMode::kParked;
  stop_samples(t);
  if (t.spin) t.spin->forget();
  if (!t.polls_memory) wake_memory_pollers();
  t.due = t.timed_out = t.signalled = false;
  take_interruption();  // of an earlier wait, which ended by it whatever it was
  t.turn.store(0);
  --running;
  if (running == 0 && leader != nullptr && leader != &helper && !granted)
    settle();  // the leader waits for a window already
  while (t.turn.load() == 0) {
    if (running == 0 && (leader == nullptr || leader == &helper)) {
      if (leader == &helper) {
        leader = &t;
        futex_wake_all(slot.grant_seq);  // the helper looks again and goes back to sleep
      }
      leader = &t;
      lead(lock, t);
      if (leader == &t) leader = nullptr;
      continue;
    }
    sleep_on(t.turn, 0, lock, t);
    check_run(false);
  }
}

void LockstepProcess::Impl::note_completions() {
  if (nics.completions() == completions_seen) return;
  completions_seen = nics.completions();
  run_resident();
  for (std::size_t i = 0; completion_hook && i < nics.size(); ++i) completion_hook(i, nics[i].nic());
  wake_by_instant();
}

void LockstepProcess::Impl::run_resident() {
  for (std::size_t i = 0; resident.run && i < nics.size(); ++i) resident.run(i, nics[i].nic(), nics.now());
}

void LockstepProcess::Impl::wake_by_instant() {
  for (const auto& t : threads)
    if (t->mode == ThreadMode::kParked && (t->polls || (t->ready != nullptr && (*t->ready)()))) t->due = true;
}

bool LockstepProcess::Impl::wake_ready() {
  bool any = false;
  for (const auto& t : threads)
    if (t->mode == ThreadMode::kParked && !t->due && t->ready != nullptr && (*t->ready)())
      any = t->due = true;
  return any;
}

void LockstepProcess::Impl::wake_by_deadline() {
  if (resident.run && resident.next_timeout() <= nics.now()) {
    run_resident();
    wake_by_instant();
  }
  for (const auto& t : threads)
    if (t->mode == ThreadMode::kParked && !t->due && t->deadline <= nics.now()) t->due = t->timed_out = true;
  ring_alarms();
}

// The first thread whose instant has come runs; the others follow when it has parked again.
bool LockstepProcess::Impl::give_turn() {
  for (const auto& t : threads) {
    if (t->mode != ThreadMode::kParked || !t->due) continue;
    t->due = false;
    start_running(*t);
    t->turn.store(1);
    if (t.get() != leader) futex_wake_all(t->turn);  // the leader is the caller
    return true;
  }
  return false;
}

void LockstepProcess::Impl::leave_thread(ThreadState& t) {
  if (t.mode == ThreadMode::kRunning || t.mode == ThreadMode::kForeign) --running;
  t.mode = ThreadMode::kDetached;
  wake_memory_pollers();
  if (running == 0 && leader == nullptr) {
    helper_wake.store(1);
    futex_wake_all(slot.detach_request);
  }
}

// Of the calling thread, whose frames in there will not be returned to. It runs; somebody else leads, or the
// thread itself when it waits anew.
void LockstepProcess::Impl::abandon_wait(ThreadState& t) {
  t.polls = t.polls_memory = t.due = false;
  t.ready = nullptr;
  if (leader == &t) leader = nullptr;
  if (t.mode == ThreadMode::kForeign) {
    t.mode = ThreadMode::kRunning;
  } else {
    join(t);
  }
}

// The grace is over: go on without threads that are blocked in the operating system, and, if told, without
// those that compute; those that may wait in a loop are looked at. While the gate is closed a thread that
// talks to the outside keeps it closed, but for one that waits for whoever comes beside one that waits for
// time; and nothing counts: time has not begun. Beside one that computes nobody has to go: time stands for
// that one anyhow. The grace is a blocked thread's own: its process may have held time by computing before,
// and have been asked for that. What the threads do is looked up without the lock, and only holds for those
// that have not called in meanwhile: one that waits for the lock looks blocked, too.
void LockstepProcess::Impl::detach_blocked(Lock& lock, bool also_stuck) {
  struct Seen {
    ThreadState* thread;
    std::uint64_t calls;
    char letter;
  };
  const bool begun = segment.header().state.load() != RunState::kSetup;
  const bool awaited =
      std::ranges::any_of(threads, [](const auto& t) { return t->mode == ThreadMode::kParked; });
  const auto holds_time = [begun, awaited](const ThreadState& t) {
    return t.mode == ThreadMode::kRunning ||
           (t.mode == ThreadMode::kForeign && (begun || (t.for_anyone && awaited)));
  };
  std::vector<Seen> seen;
  for (const auto& t : threads)
    if (holds_time(*t)) seen.push_back({t.get(), t->calls, 'R'});
  lock.unlock();
  for (Seen& s : seen) s.letter = thread_state(s.thread->tid);
  lock.lock();
  const std::int64_t now_ns = lockstep::monotonic_ns();
  const auto has_grace = [&](ThreadState& t) {
    if (!begun || also_stuck || slot.excluded.load() != 0) return false;
    if (std::exchange(t.blocked_calls, t.calls) != t.calls) t.blocked_since_ns = now_ns;
    return now_ns - t.blocked_since_ns < segment.header().grace_wall_ns;
  };
  const bool computes =
      begun && !also_stuck && std::ranges::any_of(seen, [](const Seen& s) {
        return s.letter == 'R' && s.thread->mode == ThreadMode::kRunning && s.thread->calls == s.calls;
      });
  for (const Seen& s : seen) {
    if (s.letter == 'R' && s.thread->mode == ThreadMode::kRunning) {
      look_at(*s.thread);
      note_own_standstill(*s.thread);
    }
    const bool blocked = s.letter != 'R' && s.letter != 't';  // that one's debugger lets it go on
    if (!holds_time(*s.thread) || s.thread->calls != s.calls || computes || (!blocked && !also_stuck))
      continue;
    if (s.letter != 'X' && s.letter != 'R' && has_grace(*s.thread)) continue;
    if (s.letter != 'X' && begun) note_detach(segment.header(), nics.now());
    s.thread->mode = ThreadMode::kDetached;
    if (s.letter != 'R') stop_samples(*s.thread);
    --running;
  }
}

}  // namespace rocelab
