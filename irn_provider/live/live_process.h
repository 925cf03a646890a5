// LiveProcess: this process's part in a live experiment: one virtual function of its host's NIC, the clock,
// and its threads in experiment time. There are two: in a run's lock step (join_run.h), and on a network
// interface by the machine's own clock (irn_provider/realtime), where experiment time is real time and all
// that is said of threads below is the operating system's affair. Whoever attaches decides which.
//
// Threads in lock step. A thread is *running* (its program computes: time stands), *parked* (it waits for
// experiment time, or for a completion: time may pass), *foreign* (inside a system call that waits for the
// outside world: time stands for the grace) or *detached* (time goes on without it). When no thread runs, one
// parked thread, or else the helper thread, leads: it waits for windows and runs the NIC. Threads that an
// instant wakes run one after the other, in the order in which they first called in.
//
// All functions are thread-safe. Nothing here includes or knows libibverbs.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/units.h"
#include "irn_provider/nic/nic.h"
#include "lockstep/host_share.h"

namespace rocelab {

struct PathEnd {  // where frames for a GID go
  std::array<std::uint8_t, 6> mac{};
  NodeId node;
};

enum class MemoryWatch : std::uint8_t { kNever, kOfHolders, kAlways };

// Why a thread that waited in experiment time runs again. kSignal: a signal of Alarms awaits delivery.
enum class Woken : std::uint8_t { kReady, kDeadline, kSignal };

// A host's device as anybody on the host sees it, who need not have joined: the state of its port, and what
// all its virtual functions have counted: in lock step up to the last window, on an interface up to the last
// frames, since the first of the programs that use it now has begun.
struct DeviceView {
  HostEntry host;
  bool link_up = true;
  NicCounters counters;
  std::string folder;  // for files of the host's: the run's, or one in /dev/shm of the user's
};

class LiveProcess {
 public:
  // The process's instance: on first call `join` makes it. Null with a line on stderr (once) when that throws
  // (no such file or interface, another build, all VFs taken). attached() tells without trying.
  static LiveProcess* attach(const std::function<std::unique_ptr<LiveProcess>()>& join);
  static LiveProcess* attached();
  // The same where the program's clocks and waits are in experiment time; null on an interface, where they
  // are the real ones.
  static LiveProcess* timekeeper();
  // The calling thread runs code of this class: what it calls is not the program's.
  static bool inside();
  // It is a forked child's copy of its parent's: the NIC is the parent's, and nothing may be called.
  bool inherited() const { return inherited_; }

  LiveProcess(const LiveProcess&) = delete;
  LiveProcess& operator=(const LiveProcess&) = delete;
  virtual ~LiveProcess() = default;

  // The NICs of its host, by number from 0: each is a device of its own. host(), share() and slot() without
  // one are those of the first, where what the host's processes share beside frames is.
  virtual std::size_t nics() const { return 1; }
  virtual const HostEntry& host(std::size_t nic) const = 0;
  const HostEntry& host() const { return host(0); }
  virtual lockstep::HostShare share(std::size_t nic) const = 0;  // with the other processes of the host
  lockstep::HostShare share() const { return share(0); }
  virtual std::uint32_t vf() const = 0;  // within the host: whose slot of the share is this process's
  lockstep::VfSlot& slot() const { return share().vfs[vf()]; }
  virtual std::uint64_t seed() const = 0;

  // --- peers
  // What it takes to send to `gid` from that NIC: null when no host of the run has it, no way leads there, or
  // it was not reached so far.
  virtual std::optional<PathEnd> find_peer(std::size_t nic, const std::array<std::uint8_t, 16>& gid) = 0;
  // The NIC from which to speak to `gid` where the program does not say.
  virtual std::size_t nic_towards(const std::array<std::uint8_t, 16>&) const { return 0; }
  // Before find_peer(), and not under the lock: finds out where `gid` is. May wait for the network.
  virtual void reach(const std::array<std::uint8_t, 16>&) {}

  // That NIC's QPs have so many memberships of multicast groups: while there are any, frames to groups come
  // here. 0, or the errno why they cannot.
  virtual int listen_to_groups(std::size_t nic, std::size_t memberships) = 0;

  // --- experiment time of the calling thread
  virtual Time now() = 0;

  // --- NIC: `f(Nic&, Time now)` runs under the process's lock at the caller's time. The caller becomes a
  // thread in experiment time if it was not. After f returns, what it posted is the NIC's: in lock step
  // nothing leaves before the caller parks.
  void with_nic(const std::function<void(Nic&, Time)>& f) {
    Guard guard(*this);
    f(nic(0), guard.now);
  }
  template <class F>
  auto call(F&& f, std::size_t at = 0) {  // the same for functions with a result, and any NIC
    Guard guard(*this);
    return f(nic(at), guard.now);
  }

  // --- parking
  // A program's poll: `look`, called as by call(), tells whether it has found nothing, and time may pass for
  // it as by park_poll(): then it looks once more.
  virtual void poll(std::size_t nic, const std::function<bool(Nic&, Time)>& look) = 0;
  // An empty poll: returns at the next completion of this process, the end of the window, or after the poll
  // interval, whichever comes first. On an interface: takes in what has come, at once.
  virtual void park_poll() = 0;
  virtual void park_poll(Duration longest) = 0;  // another interval
  // Sleeps until `deadline` of experiment time, or until a signal.
  virtual Woken sleep_until(Time deadline) = 0;
  // Parks until `ready()` (called under the lock, after every instant in which a completion or async event
  // was made), the deadline, or a signal.
  virtual Woken park_until(const std::function<bool()>& ready, Time deadline) = 0;
  // What the NIC has to say to its peers leaves. `longest`: in lock step, the time that passes.
  virtual void drain_output(Duration longest) = 0;
  // The program has asked for an event and may wait for it in a system call from now on.
  virtual void hint_blocking() {}

  // Something that a parked thread's `ready()` looks at has changed other than by the NIC: looks again. Any
  // thread may call, also one that is not in experiment time.
  virtual void recheck_waiters() = 0;

  // --- programs that wait in a loop on memory, for what a peer or another thread writes
  // In lock step such a thread parks as if it had called park_memory(): kOfHolders, once it has held time for
  // the grace; kAlways, whenever it is found; kNever, not at all: then it holds time until it is taken for
  // stuck. Costs a timer for a thread that is looked at and some 100 us of wall time each time that it is
  // found to spin; one that only computes is not taken for one (spin_detector.h). On an interface kAlways
  // lets frames interrupt the program.
  virtual void watch_memory(MemoryWatch wanted) = 0;
  // Parks until all bytes of a message of a peer are in memory, another thread of the program has run, or 100
  // us have passed.
  virtual void park_memory() = 0;

  // --- system calls that wait for the outside (sockets, pipes): bracket them. Time stands while the call
  // lasts, up to the grace. `for_anyone`: a server's wait for whoever comes (accept). Before time has begun,
  // where there is no grace, such a thread holds it only while no other one of the process waits for it.
  virtual void foreign_enter(bool for_anyone) = 0;
  void foreign_enter() { foreign_enter(false); }
  virtual void foreign_leave() = 0;
  // In lock step only. Time has begun; how long it stands for such a call, of wall time; something came from
  // outside after time had passed in a wait, so that when depended on the wall: it is counted.
  virtual bool time_has_begun() const { return true; }
  virtual std::int64_t grace_wall_ns() const { return 0; }
  virtual void count_detach() {}

  // A state machine beside the NIC, with timers of its own. Both are called under the lock: next_timeout when
  // the process says what comes next, run at that instant and whenever a completion was made, before the
  // threads that this wakes. One of a process; set once.
  struct Resident {
    std::function<Time()> next_timeout;
    std::function<void(std::size_t nic, Nic&, Time)> run;  // for one NIC after the other
  };
  virtual void set_resident(Resident resident) = 0;

  // --- signals at instants of experiment time: a program's timers. On an interface there are none.
  // Both are called under the lock: `next_timeout` says when, `take` what then: one signal a call, until the
  // next timeout is later than `now`; or none, but something that a parked thread's `ready()` looks at has
  // changed. A signal goes to the program's main thread, or, where that blocks it,
  // to the first thread that does not. One that is parked wakes, and its wait is over; it delivers the signal
  // to itself, outside of code of ours, by deliver_signals(). One that is outside gets it from the operating
  // system, which ends its system call. Set once.
  struct Alarms {
    std::function<Time()> next_timeout;
    std::function<std::optional<siginfo_t>(Time now)> take;
  };
  virtual void set_alarms(Alarms) {}
  // Of the calling thread: the handlers of the signals that have woken it run.
  static void deliver_signals();
  // They are of the kind after which the kernel goes on with a call that reads (SA_RESTART, signal(7)).
  static bool signals_restart();

  // For exit() in a signal's handler: what of ours the calling thread is in will not go on. From here on the
  // thread is the program's again, and may call in and wait. False: it is in the midst of a change of our
  // state; nothing here may be called any more.
  static bool abandon_interrupted();

  // Called for every completion made (under the lock, in NIC order), so that the verbs layer can raise
  // completion events.
  using CompletionHook = std::function<void(std::size_t nic, Nic&)>;
  virtual void set_completion_hook(CompletionHook hook) = 0;

 protected:
  LiveProcess() = default;
  // Around every call into the NIC: takes the lock and tells the caller's time; gives it back.
  virtual Time enter() = 0;
  virtual void leave() = 0;
  virtual Nic& nic(std::size_t number) = 0;
  virtual bool keeps_time() const = 0;
  virtual void end() = 0;    // the process exits
  virtual void abandon() {}  // the wait that the calling thread is in

 private:
  bool inherited_ = false;

  struct Guard {
    explicit Guard(LiveProcess& p) : process(p), now(p.enter()) {}
    ~Guard() { process.leave(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    LiveProcess& process;
    Time now;
  };
};

// While one lives, the calling thread is in code of ours: a sample of it says nothing (live_memory_poll.cc),
// and pthread_cancel(3) waits, since system calls that it may end are made in the midst of changes of our
// state.
extern constinit thread_local int t_inside, t_cancel_state;
struct Inside {
  Inside() { begin(); }
  ~Inside() { end(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  static void begin() {
    if (t_inside++ == 0) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &t_cancel_state);
  }
  static void end() {
    if (--t_inside == 0) pthread_setcancelstate(t_cancel_state, nullptr);
  }
};

// Inside, where the thread holds nothing and may be cancelled in a system call if the program allows it.
struct Cancellable {
  Cancellable() { pthread_setcancelstate(t_cancel_state, nullptr); }
  ~Cancellable() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr); }
  Cancellable(const Cancellable&) = delete;
  Cancellable& operator=(const Cancellable&) = delete;
};

}  // namespace rocelab
