// LockstepProcess: windows of the lock-step clock. When no thread of the program runs, the one that leads
// waits for a window, runs the NIC through it, alone or by turns with the other VFs of the host, and ends it.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "irn_provider/live/lockstep_process.h"
#include "lockstep/futex.h"
#include "lockstep/proc_state.h"
#include "lockstep/vf_end.h"
#include "lockstep/wall_clock.h"

namespace rocelab {

using lockstep::futex_wait;
using lockstep::RunState;

// One step of the thread that leads: run what is due, or wait for the next window.
void LockstepProcess::Impl::lead(Lock& lock, ThreadState& t) {
  if (give_turn()) return;
  if (granted) {
    run_window(lock);
  } else {
    wait_for_window(lock, t);
  }
}

void LockstepProcess::Impl::wait_for_window(Lock& lock, ThreadState& t) {
  settle();
  const std::uint32_t seen = seq;  // another thread may come to lead, and take the window
  lock.unlock();
  for (lockstep::Patience patience; slot.grant_seq.load() == seen && patience.yield();) {
  }
  lock.lock();
  if (slot.grant_seq.load() == seen) sleep_on(slot.grant_seq, seen, lock, t);
  if (running > 0 || leader != &t || granted) return;
  if (slot.grant_seq.load() != seq) {
    accept_window();
  } else {
    check_run(true);
  }
}

void LockstepProcess::Impl::accept_window() {
  seq = slot.grant_seq.load();
  granted = true;
  pollers_told = false;
  limit = Time::from_ps(slot.grant_ps.load());
  nics.advance(Time::from_ps(slot.grant_from_ps.load()));
  take_port_times();
  if (host.nic.strict_classes != kAllClasses)
    for (std::size_t i = 0; i < nics.size(); ++i)
      nics[i].nic().share_port(port.classes(i), port.ready_elsewhere(i));
  by_turns = port.begin(limit);
  in_turn = false;
  if (by_turns)  // a thread that joined just now may post at the window's begin
    port.check_in(nics.intents(running > 0 ? nics.now() : earliest_deadline()));
  if (slot.hold.exchange(0) != 0) announce(segment.header());
}

// When the host's ports are free, by what its other processes have sent.
void LockstepProcess::Impl::take_port_times() {
  for (std::size_t i = 0; i < nics.size(); ++i) nics[i].set_port_free(port.port_free(i));
}

// Time went on without this process, and waits for it again.
void LockstepProcess::Impl::readmit() {
  for (const std::uint32_t each : segment.slots_of(vf)) segment.vfs()[each].excluded.store(0);
}

// Nobody runs and no window is open: say what comes next and let time pass.
void LockstepProcess::Impl::settle() {
  slot.promise_ps.store(std::min(nics.next_event(), earliest_deadline()).ps());
  if (slot.excluded.load() != 0) readmit();
  if (slot.hold.exchange(0) != 0) announce(segment.header());
}

void LockstepProcess::Impl::run_window(Lock& lock) {
  if (by_turns && !port.abandoned()) {
    run_turn(lock);
  } else {
    run_alone();
  }
}

// Runs the NIC up to the next instant that concerns a thread, or to the window's end.
void LockstepProcess::Impl::run_alone() {
  const Time deadline = earliest_deadline();
  if (deadline < limit) {
    nics.run_to_posts(deadline);
    note_completions();
    wake_by_deadline();
  } else if (nics.run_until(limit)) {
    note_completions();
  } else {
    end_window();
  }
}

// One event of ours, when it is our turn; the turn goes on when the threads that the event woke have parked
// again.
void LockstepProcess::Impl::run_turn(Lock& lock) {
  if (in_turn) {
    finish_turn();
  } else if (const Turn turn = port.my_turn(); turn.what != Turn::What::kNone) {
    in_turn = true;
    sent = 0_B;
    take_port_times();
    if (turn.what == Turn::What::kDeparture) {
      nics.depart(turn.nic, turn.at, turn.of, sent);
      port.set_port_free(turn.nic, nics[turn.nic].port_free());
    } else {
      nics.run_inputs(turn.at);
    }
    note_completions();
    wake_by_deadline();
  } else if (port.over()) {
    take_port_times();
    nics.advance(limit);
    end_window();
  } else {
    lock.unlock();
    port.wait(kLookAroundNs);
    lock.lock();
    check_run(false);
  }
}

void LockstepProcess::Impl::finish_turn() {
  in_turn = false;
  port.hand_on(nics.intents(earliest_deadline()), sent);
}

// All events of the window are done. Whoever polls runs at its end, and may post at that instant.
void LockstepProcess::Impl::end_window() {
  if (!pollers_told) {
    pollers_told = true;
    for (const auto& t : threads) t->due = t->due || (t->mode == ThreadMode::kParked && t->polls);
    return;
  }
  if (!by_turns || port.abandoned())
    for (std::size_t i = 0; i < nics.size(); ++i) port.set_port_free(i, nics[i].port_free());
  finish_window();
}

void LockstepProcess::Impl::finish_window() {
  granted = false;
  nics.publish_counters();
  for (std::size_t i = 0; i < nics.size(); ++i) port.note_ready(i, nics[i].ready_classes());
  slot.promise_ps.store(std::min(nics.next_event(), earliest_deadline()).ps());
  if (slot.excluded.load() !=
      0) {  // time went on without us: whatever we sent was late; stand still once, to join again
    slot.hold.store(1);
    readmit();
    nics.advance(Time::from_ps(segment.header().committed_ps.load()));
  }
  lockstep::finish_window(segment, vf, seq);
}

void LockstepProcess::Impl::helper_loop() {
  Inside inside;
  helper.tid = static_cast<int>(syscall(SYS_gettid));
  while (!leaving) {
    if (helper_wake.load() == 0 && slot.detach_request.load() == 0)
      futex_wait(slot.detach_request, 0, kLookAroundNs);
    Lock lock(mutex);
    look_after_switch();
    helper_wake.store(0);
    const std::uint32_t request = slot.detach_request.exchange(0);
    // Time has gone on without this process, which was stopped (it is not any more: this runs). Nobody asks
    // it for anything until it has joined again, which a thread that waits for the outside would prevent.
    if (request != 0 || slot.excluded.load() != 0) detach_blocked(lock, request == 2);
    while (!leaving && running == 0 && (leader == nullptr || leader == &helper)) {
      leader = &helper;
      lead(lock, helper);
    }
    if (leader == &helper) leader = nullptr;
  }
}

// The helper's look at the switch process, whatever the program's threads do: they may all wait for the
// outside, to which the switch process belongs.
void LockstepProcess::Impl::look_after_switch() {
  const std::int64_t now_ns = lockstep::monotonic_ns(), committed = segment.header().committed_ps.load();
  if (committed != switch_watch.committed_ps) switch_watch = {.committed_ps = committed, .since_ns = now_ns};
  if (now_ns - switch_watch.since_ns < kLookAroundNs) return;
  check_run(true);
  if (switch_watch.told || now_ns - switch_watch.since_ns < 5 * kLookAroundNs) return;
  const std::uint32_t pid = segment.header().coordinator_pid.load();
  const char state = lockstep::state_of_process(pid);
  if (state != 'T' && state != 't') return;
  switch_watch.told = true;
  std::fprintf(stderr, "rocelab: %s: time stands: the switch process (ovs-vswitchd, %u) is stopped\n",
               name.c_str(), pid);
}

// A run that is over, failed or without its switch process ends the program: its network is gone. One that
// stands is told of.
void LockstepProcess::Impl::check_run(bool idle) {
  const lockstep::Header& header = segment.header();
  const RunState state = header.state.load();
  const std::uint32_t switch_pid = header.coordinator_pid.load();
  const bool switch_gone = idle && switch_pid != 0 && lockstep::process_ended(switch_pid);
  if (!switch_gone && (state == RunState::kSetup || state == RunState::kRunning)) return note_standstill();
  std::fprintf(stderr, "rocelab: %s: %s; this program ends\n", name.c_str(),
               switch_gone                  ? "the switch process (ovs-vswitchd) is gone"
               : state == RunState::kFailed ? header.error
                                            : "the topology was taken down");
  _exit(1);
}

}  // namespace rocelab
