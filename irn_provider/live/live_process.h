// LiveProcess: this process's part in a live experiment: one virtual function of its host's NIC, the
// lock-step clock, and its threads in experiment time.
//
// Threads. A thread is *running* (its program computes: time stands), *parked* (it waits for experiment time,
// or for a completion: time may pass), *foreign* (inside a system call that waits for the outside world: time
// stands for the grace) or *detached* (time goes on without it). When no thread runs, one parked thread, or
// else the helper thread, leads: it waits for windows and runs the NIC. Threads that an instant wakes run one
// after the other, in the order in which they first called in.
//
// All functions are thread-safe. Nothing here includes or knows libibverbs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/units.h"
#include "irn_provider/nic/nic.h"
#include "lockstep/segment.h"

namespace rocelab {

class LiveProcess {
 public:
  // The process's instance: maps $ROCELAB_SEGMENT and claims a free VF of host $ROCELAB_HOST on first call.
  // Null with a line on stderr (once) when that is impossible (no such file, another build, all VFs taken).
  // attached() tells without trying.
  static LiveProcess* attach();
  static LiveProcess* attached();
  // The calling thread runs code of this class: what it calls is not the program's.
  static bool inside();

  const lockstep::HostEntry& host() const;
  const lockstep::Segment& segment() const;
  std::uint32_t vf() const;

  // --- experiment time of the calling thread
  Time now();

  // --- NIC: `f(Nic&, Time now)` runs under the process's lock at the caller's time. The caller becomes a
  // thread in experiment time if it was not. After f returns, what it posted is the NIC's: nothing leaves
  // before the caller parks.
  void with_nic(const std::function<void(Nic&, Time)>& f);
  template <class F>
  auto call(F&& f) {  // the same for functions with a result
    Guard guard(*this);
    return f(nic(), guard.now);
  }

  // --- parking
  // An empty poll: returns at the next completion of this process, the end of the window, or after the poll
  // interval, whichever comes first.
  void park_poll();
  void park_poll(Duration longest);  // another interval
  // Sleeps until `deadline` of experiment time.
  void sleep_until(Time deadline);
  // Parks until `ready()` (called under the lock, after every instant in which a completion or async event
  // was made) or the deadline. True: ready.
  bool park_until(const std::function<bool()>& ready, Time deadline);

  // Something that a parked thread's `ready()` looks at has changed other than by the NIC: looks again. Any
  // thread may call, also one that is not in experiment time.
  void look_again();

  // --- programs that poll memory for what a peer writes
  // From now on a thread that spins on memory parks as if it had called park_memory(). Costs a timer per
  // thread and some 100 us of wall time each time that a thread is found to spin; a thread that only computes
  // is not taken for one (spin_law.h).
  void watch_memory();
  // Parks until all bytes of a message of a peer are in memory, another thread of the program has run, or 100
  // us have passed.
  void park_memory();

  // --- system calls that wait for the outside (sockets, pipes): bracket them. Time stands while the call
  // lasts, up to the grace.
  void foreign_enter();
  void foreign_leave();

  // A state machine beside the NIC, with timers of its own. Both are called under the lock: next_timeout when
  // the process says what comes next, run at that instant and whenever a completion was made, before the
  // threads that this wakes. One of a process; set once.
  struct Resident {
    std::function<Time()> next_timeout;
    std::function<void(Nic&, Time)> run;
  };
  void set_resident(Resident resident);

  // Called for every completion made (under the lock, in NIC order), so that the verbs layer can raise
  // completion events.
  void set_completion_hook(std::function<void(Nic&)> hook);

 private:
  struct Guard {
    explicit Guard(LiveProcess& p);
    ~Guard();
    LiveProcess& process;
    Time now;
  };
  Nic& nic();
  struct Impl;
  std::unique_ptr<Impl> impl_;
  explicit LiveProcess(std::unique_ptr<Impl> impl);
};

}  // namespace rocelab
