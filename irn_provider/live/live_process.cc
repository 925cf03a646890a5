#include "irn_provider/live/live_process.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/check.h"
#include "irn_provider/live/live_nic.h"
#include "irn_provider/live/shared_port.h"
#include "lockstep/futex.h"

namespace rocelab {

using lockstep::futex_wait;
using lockstep::futex_wake_all;
using lockstep::RunState;
using lockstep::Segment;
using lockstep::VfSlot;
using lockstep::VfState;

namespace {

constexpr int kYieldsBeforeSleep = 3;  // see lockstep/coordinator.cc
constexpr std::int64_t kLookAroundNs =
    200'000'000;  // a leader without a window checks that the switch process lives

enum class ThreadMode { kRunning, kForeign, kParked, kDetached };

struct ThreadState {
  int tid = 0;
  ThreadMode mode = ThreadMode::kDetached;
  // What a parked thread waits for.
  bool polls = false;  // any completion, or the window's end
  Time deadline = Time::never();
  const std::function<bool()>* ready = nullptr;
  bool timed_out = false;
  std::uint64_t calls = 0;             // how often it has called in
  bool due = false;                    // an instant woke it; it runs when its turn comes
  std::atomic<std::uint32_t> turn{0};  // futex: 1 = run
};

char thread_letter(int tid) {
  char path[64], text[512];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  std::FILE* file = std::fopen(path, "r");
  if (file == nullptr) return 'X';
  const std::size_t n = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[n] = 0;
  const char* end = std::strrchr(text, ')');
  return end != nullptr && end[1] != 0 && end[2] != 0 ? end[2] : 'X';
}

}  // namespace

struct LiveProcess::Impl {
  Impl(Segment&& s, std::uint32_t host_index, std::uint32_t vf_index)
      : segment(std::move(s)),
        host(segment.hosts()[host_index]),
        vf(vf_index),
        slot(segment.vfs()[vf_index]),
        nic(segment, host_index, vf_index),
        port(segment, vf_index),
        owner(static_cast<std::uint32_t>(getpid())),
        seq(slot.grant_seq.load()) {}

  // --- set once
  Segment segment;
  const lockstep::HostEntry& host;
  const std::uint32_t vf;
  VfSlot& slot;

  // --- under the lock
  std::mutex mutex;
  LiveNic nic;
  SharedPort port;
  bool by_turns = false;                              // other VFs of the host take part in this window
  bool in_turn = false;                               // an event of ours ran; the turn is still ours
  bool sent = false;                                  // ... and a frame left
  std::vector<std::unique_ptr<ThreadState>> threads;  // in the order in which they first called in
  int running = 0;                                    // threads in kRunning or kForeign
  const std::uint32_t owner;
  std::uint32_t seq;          // last window seen
  bool granted = false;       // in a window that ends at `limit`
  bool pollers_told = false;  // that the window has ended
  Time limit;
  ThreadState* leader = nullptr;  // waits for the next window, or runs the NIC
  ThreadState helper;
  std::atomic<std::uint32_t> helper_wake{0};
  std::atomic<bool> leaving{false};
  std::uint64_t completions_seen = 0;
  std::function<void(Nic&)> completion_hook;
  std::thread helper_thread;

  using Lock = std::unique_lock<std::mutex>;

  ThreadState& me();
  void join(ThreadState& t);
  void start_running(ThreadState& t);
  void park(Lock& lock, ThreadState& t);
  void lead(Lock& lock, ThreadState& t);
  void wait_for_window(Lock& lock, ThreadState& t);
  void accept_window();
  void run_window(Lock& lock);
  void run_alone();
  void run_turn(Lock& lock);
  void finish_turn();
  void end_window();
  void finish_window();
  bool give_turn();
  void wake_by_instant();
  void wake_by_deadline();
  void note_completions();
  void settle();
  Time earliest_deadline() const;
  void leave_thread(ThreadState& t);
  void detach_blocked(Lock& lock, bool also_stuck);
  void helper_loop();
  void check_run(bool idle);
  void leave();
};

namespace {

LiveProcess* g_process = nullptr;  // the one VF of this process; set under g_attach_mutex
std::mutex g_attach_mutex;
bool g_attach_failed = false;

// A thread that ends leaves experiment time at once instead of holding it for the grace.
struct ThreadExit {
  std::function<void()> on_exit;
  ~ThreadExit() {
    if (on_exit) on_exit();
  }
};
thread_local ThreadState* t_state = nullptr;
thread_local ThreadExit t_exit;

}  // namespace

// The calling thread's state; a thread becomes one in experiment time by calling in.
ThreadState& LiveProcess::Impl::me() {
  if (t_state == nullptr) {
    threads.push_back(std::make_unique<ThreadState>());
    t_state = threads.back().get();
    t_state->tid = static_cast<int>(syscall(SYS_gettid));
    ThreadState* state = t_state;
    t_exit.on_exit = [this, state] {
      if (leaving) return;
      Lock lock(mutex);
      leave_thread(*state);
    };
  }
  ++t_state->calls;
  join(*t_state);
  return *t_state;
}

// Makes a detached thread a running one. Time stands from here on: either a window of this VF is open, or the
// VF holds.
void LiveProcess::Impl::join(ThreadState& t) {
  if (t.mode == ThreadMode::kRunning || t.mode == ThreadMode::kForeign) return;
  start_running(t);
}

// Counts `t` as running. Outside a window the VF holds time first, and looks then how far time has gone: the
// order that the coordinator relies on.
void LiveProcess::Impl::start_running(ThreadState& t) {
  t.mode = ThreadMode::kRunning;
  if (running++ > 0 || granted) return;
  slot.hold.store(1);
  announce(segment.header());
  if (slot.grant_seq.load() != seq) {
    accept_window();  // a window was opened before we held: join at its begin
  } else {
    nic.advance(Time::from_ps(segment.header().committed_ps.load()));
  }
}

void LiveProcess::Impl::accept_window() {
  seq = slot.grant_seq.load();
  granted = true;
  pollers_told = false;
  limit = Time::from_ps(slot.grant_ps.load());
  nic.advance(Time::from_ps(slot.grant_from_ps.load()));
  nic.set_port_free(port.port_free());
  by_turns = port.begin(limit);
  in_turn = false;
  if (by_turns) {
    VfIntent intent = nic.intent();
    intent.input = std::min(intent.input, earliest_deadline());
    if (running > 0)
      intent.input = nic.now();  // a thread that joined just now may post at the window's begin
    port.check_in(intent);
  }
  if (slot.hold.exchange(0) != 0) announce(segment.header());
}

// Nobody runs and no window is open: say what comes next and let time pass.
void LiveProcess::Impl::settle() {
  slot.promise_ps.store(std::min(nic.next_event(), earliest_deadline()).ps());
  if (slot.excluded.load() != 0) slot.excluded.store(0);
  if (slot.hold.exchange(0) != 0) announce(segment.header());
}

Time LiveProcess::Impl::earliest_deadline() const {
  Time earliest = Time::never();
  for (const auto& t : threads) {
    if (t->mode != ThreadMode::kParked) continue;
    earliest = std::min(earliest, t->due ? nic.now() : t->deadline);
  }
  return earliest;
}

void LiveProcess::Impl::park(Lock& lock, ThreadState& t) {
  RL_CHECK(t.mode == ThreadMode::kRunning);
  t.mode = ThreadMode::kParked;
  t.due = t.timed_out = false;
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
    lock.unlock();
    futex_wait(t.turn, 0, kLookAroundNs);
    lock.lock();
    check_run(false);
  }
}

// One step of the thread that leads: run what is due, or wait for the next window.
void LiveProcess::Impl::lead(Lock& lock, ThreadState& t) {
  if (give_turn()) return;
  if (granted) {
    run_window(lock);
  } else {
    wait_for_window(lock, t);
  }
}

void LiveProcess::Impl::wait_for_window(Lock& lock, ThreadState& t) {
  settle();
  lock.unlock();
  for (int i = 0; i < kYieldsBeforeSleep && slot.grant_seq.load() == seq; ++i) sched_yield();
  if (slot.grant_seq.load() == seq) futex_wait(slot.grant_seq, seq, kLookAroundNs);
  lock.lock();
  if (running > 0 || leader != &t || granted) return;
  if (slot.grant_seq.load() != seq) {
    accept_window();
  } else {
    check_run(true);
  }
}

void LiveProcess::Impl::run_window(Lock& lock) {
  if (by_turns && !port.abandoned()) {
    run_turn(lock);
  } else {
    run_alone();
  }
}

// Runs the NIC up to the next instant that concerns a thread, or to the window's end.
void LiveProcess::Impl::run_alone() {
  const Time deadline = earliest_deadline();
  if (deadline < limit) {
    nic.run_to_posts(deadline);
    note_completions();
    wake_by_deadline();
  } else if (nic.run_until(limit)) {
    note_completions();
  } else {
    end_window();
  }
}

// One event of ours, when it is our turn; the turn goes on when the threads that the event woke have parked
// again.
void LiveProcess::Impl::run_turn(Lock& lock) {
  if (in_turn) {
    finish_turn();
  } else if (const Turn turn = port.my_turn(); turn.what != Turn::What::kNone) {
    in_turn = true;
    sent = false;
    nic.set_port_free(port.port_free());
    if (turn.what == Turn::What::kDeparture) {
      nic.depart(turn.at, sent);
      port.set_port_free(nic.port_free());
    } else {
      nic.run_inputs(turn.at);
    }
    note_completions();
    wake_by_deadline();
  } else if (port.over()) {
    nic.set_port_free(port.port_free());
    nic.advance(limit);
    end_window();
  } else {
    lock.unlock();
    port.wait(kLookAroundNs);
    lock.lock();
    check_run(false);
  }
}

void LiveProcess::Impl::finish_turn() {
  in_turn = false;
  VfIntent intent = nic.intent();
  intent.input = std::min(intent.input, earliest_deadline());
  port.hand_on(intent, sent);
}

// All events of the window are done. Whoever polls runs at its end, and may post at that instant.
void LiveProcess::Impl::end_window() {
  if (!pollers_told) {
    pollers_told = true;
    for (const auto& t : threads) t->due = t->due || (t->mode == ThreadMode::kParked && t->polls);
    return;
  }
  if (!by_turns || port.abandoned()) port.set_port_free(nic.port_free());
  finish_window();
}

void LiveProcess::Impl::finish_window() {
  granted = false;
  nic.publish_counters();
  slot.promise_ps.store(std::min(nic.next_event(), earliest_deadline()).ps());
  if (slot.excluded.load() !=
      0) {  // time went on without us: whatever we sent was late; stand still once, to join again
    slot.hold.store(1);
    slot.excluded.store(0);
    nic.advance(Time::from_ps(segment.header().committed_ps.load()));
  }
  slot.done_seq.store(seq);
  lockstep::Header& header = segment.header();
  if (header.pending.fetch_sub(1) == 1) futex_wake_all(header.pending);
}

void LiveProcess::Impl::note_completions() {
  if (nic.nic().completions() == completions_seen) return;
  completions_seen = nic.nic().completions();
  if (completion_hook) completion_hook(nic.nic());
  wake_by_instant();
}

void LiveProcess::Impl::wake_by_instant() {
  for (const auto& t : threads)
    if (t->mode == ThreadMode::kParked && (t->polls || (t->ready != nullptr && (*t->ready)()))) t->due = true;
}

void LiveProcess::Impl::wake_by_deadline() {
  for (const auto& t : threads)
    if (t->mode == ThreadMode::kParked && !t->due && t->deadline <= nic.now()) t->due = t->timed_out = true;
}

// The first thread whose instant has come runs; the others follow when it has parked again.
bool LiveProcess::Impl::give_turn() {
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

void LiveProcess::Impl::leave_thread(ThreadState& t) {
  if (t.mode == ThreadMode::kRunning || t.mode == ThreadMode::kForeign) --running;
  t.mode = ThreadMode::kDetached;
  if (running == 0 && leader == nullptr) {
    helper_wake.store(1);
    futex_wake_all(slot.detach_request);
  }
}

// The grace is over: go on without threads that are blocked in the operating system, and, if told, without
// those that compute. While the gate is closed a thread that talks to the outside keeps it closed, and
// nothing counts: time has not begun. What the threads do is looked up without the lock, and only holds for
// those that have not called in meanwhile: one that waits for the lock looks blocked, too.
void LiveProcess::Impl::detach_blocked(Lock& lock, bool also_stuck) {
  struct Seen {
    ThreadState* thread;
    std::uint64_t calls;
    char letter;
  };
  const bool begun = segment.header().state.load() != RunState::kSetup;
  const auto holds_time = [begun](const ThreadState& t) {
    return t.mode == ThreadMode::kRunning || (t.mode == ThreadMode::kForeign && begun);
  };
  std::vector<Seen> seen;
  for (const auto& t : threads)
    if (holds_time(*t)) seen.push_back({t.get(), t->calls, 'R'});
  lock.unlock();
  for (Seen& s : seen) s.letter = thread_letter(s.thread->tid);
  lock.lock();
  for (const Seen& s : seen) {
    if (!holds_time(*s.thread) || s.thread->calls != s.calls || (s.letter == 'R' && !also_stuck)) continue;
    if (s.letter != 'X' && begun) note_detach(segment.header(), nic.now());
    s.thread->mode = ThreadMode::kDetached;
    --running;
  }
}

void LiveProcess::Impl::helper_loop() {
  helper.tid = static_cast<int>(syscall(SYS_gettid));
  while (!leaving) {
    if (helper_wake.load() == 0 && slot.detach_request.load() == 0)
      futex_wait(slot.detach_request, 0, kLookAroundNs);
    Lock lock(mutex);
    helper_wake.store(0);
    if (const std::uint32_t request = slot.detach_request.exchange(0); request != 0)
      detach_blocked(lock, request == 2);
    while (!leaving && running == 0 && (leader == nullptr || leader == &helper)) {
      leader = &helper;
      lead(lock, helper);
    }
    if (leader == &helper) leader = nullptr;
  }
}

// A run that is over, failed or without its switch process ends the program: its network is gone.
void LiveProcess::Impl::check_run(bool idle) {
  const lockstep::Header& header = segment.header();
  const RunState state = header.state.load();
  const auto switch_pid = static_cast<pid_t>(header.coordinator_pid.load());
  const bool switch_gone = idle && switch_pid != 0 && syscall(SYS_kill, switch_pid, 0) != 0 && errno == ESRCH;
  if (!switch_gone && (state == RunState::kSetup || state == RunState::kRunning)) return;
  std::fprintf(stderr, "rocelab: %s: %s; this program ends\n", host.name,
               switch_gone                  ? "the switch process (ovs-vswitchd) is gone"
               : state == RunState::kFailed ? header.error
                                            : "the topology was taken down");
  _exit(1);
}

void LiveProcess::Impl::leave() {
  leaving = true;
  futex_wake_all(slot.detach_request);
  Lock lock(mutex);
  nic.publish_counters();
  nic.finish();
  slot.state.store(VfState::kLeft);
  slot.promise_ps.store(Time::never().ps());
  if (granted) {
    port.leave(in_turn, sent);
    slot.done_seq.store(seq);
    if (segment.header().pending.fetch_sub(1) == 1) futex_wake_all(segment.header().pending);
  }
  if (slot.hold.exchange(0) != 0) announce(segment.header());
}

LiveProcess::LiveProcess(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LiveProcess* LiveProcess::attached() {
  return g_process != nullptr && g_process->impl_->owner == static_cast<std::uint32_t>(getpid()) ? g_process
                                                                                                 : nullptr;
}

namespace {

// Index of a free VF of the host, now owned by this process; kNoSlot: none.
std::uint32_t claim_vf(const Segment& segment, std::uint32_t host) {
  const std::uint32_t vfs = segment.header().vfs_per_host;
  for (std::uint32_t i = host * vfs; i < (host + 1) * vfs; ++i) {
    VfSlot& slot = segment.vfs()[i];
    std::uint32_t free_pid = 0;
    if (!slot.pid.compare_exchange_strong(free_pid, static_cast<std::uint32_t>(getpid()))) continue;
    slot.promise_ps.store(Time::never().ps());
    slot.hold.store(1);
    slot.state.store(VfState::kClaimed);
    announce(segment.header());
    return i;
  }
  return lockstep::kNoSlot;
}

}  // namespace

LiveProcess* LiveProcess::attach() {
  std::lock_guard attach_lock(g_attach_mutex);
  if (LiveProcess* p = attached()) return p;
  if (g_attach_failed) return nullptr;
  g_attach_failed = true;
  const char* path = std::getenv("ROCELAB_SEGMENT");
  const char* host_name = std::getenv("ROCELAB_HOST");
  if (path == nullptr || host_name == nullptr) return nullptr;
  try {
    Segment segment = Segment::open(path);
    const lockstep::HostEntry* host = segment.find_host(host_name);
    if (host == nullptr) throw std::runtime_error(std::string("the run has no host '") + host_name + "'");
    const auto host_index = static_cast<std::uint32_t>(host - segment.hosts().data());
    const std::uint32_t vf = claim_vf(segment, host_index);
    if (vf == lockstep::kNoSlot)
      throw std::runtime_error(
          std::string(host_name) + ": all " + std::to_string(segment.header().vfs_per_host) +
          " virtual functions are in use by other programs; end one, or raise engine.vfs");
    g_process = new LiveProcess(std::make_unique<Impl>(std::move(segment), host_index, vf));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rocelab: %s\n", e.what());
    return nullptr;
  }
  g_attach_failed = false;
  Impl& impl = *g_process->impl_;
  {
    Impl::Lock lock(impl.mutex);
    impl.me();
  }
  impl.helper_thread = std::thread([&impl] { impl.helper_loop(); });
  impl.helper_thread.detach();
  std::atexit([] {
    if (LiveProcess* p = attached()) p->impl_->leave();
  });
  return g_process;
}

const lockstep::HostEntry& LiveProcess::host() const { return impl_->host; }
const lockstep::Segment& LiveProcess::segment() const { return impl_->segment; }
std::uint32_t LiveProcess::vf() const { return impl_->vf; }
Nic& LiveProcess::nic() { return impl_->nic.nic(); }

Time LiveProcess::now() {
  if (t_state == nullptr) return Time::from_ps(impl_->segment.header().committed_ps.load());
  Impl::Lock lock(impl_->mutex);
  impl_->me();
  return impl_->nic.now();
}

LiveProcess::Guard::Guard(LiveProcess& p) : process(p) {
  p.impl_->mutex.lock();
  p.impl_->me();
  now = p.impl_->nic.now();
}

LiveProcess::Guard::~Guard() {
  process.impl_->note_completions();
  process.impl_->mutex.unlock();
}

void LiveProcess::with_nic(const std::function<void(Nic&, Time)>& f) {
  Guard guard(*this);
  f(nic(), guard.now);
}

void LiveProcess::park_poll() {
  Impl::Lock lock(impl_->mutex);
  ThreadState& t = impl_->me();
  t.polls = true;
  t.ready = nullptr;
  t.deadline = impl_->nic.now() + Duration::from_ps(impl_->segment.header().poll_interval_ps);
  impl_->park(lock, t);
  t.polls = false;
}

void LiveProcess::sleep_until(Time deadline) {
  Impl::Lock lock(impl_->mutex);
  ThreadState& t = impl_->me();
  if (deadline <= impl_->nic.now()) return;
  t.ready = nullptr;
  t.deadline = deadline;
  impl_->park(lock, t);
}

bool LiveProcess::park_until(const std::function<bool()>& ready, Time deadline) {
  Impl::Lock lock(impl_->mutex);
  ThreadState& t = impl_->me();
  while (!ready()) {
    if (deadline <= impl_->nic.now()) return false;
    t.ready = &ready;
    t.deadline = deadline;
    impl_->park(lock, t);
  }
  return true;
}

void LiveProcess::foreign_enter() {
  if (t_state == nullptr) return;
  Impl::Lock lock(impl_->mutex);
  ++t_state->calls;
  if (t_state->mode == ThreadMode::kRunning) t_state->mode = ThreadMode::kForeign;
}

void LiveProcess::foreign_leave() {
  if (t_state == nullptr) return;
  Impl::Lock lock(impl_->mutex);
  ++t_state->calls;
  if (t_state->mode == ThreadMode::kForeign) {
    t_state->mode = ThreadMode::kRunning;
  } else {
    impl_->join(*t_state);
  }
}

void LiveProcess::set_completion_hook(std::function<void(Nic&)> hook) {
  Impl::Lock lock(impl_->mutex);
  impl_->completion_hook = std::move(hook);
}

}  // namespace rocelab
