// LockstepProcess: a LiveProcess in a run's lock step; private to this folder. One process's threads and
// windows. Threads and whom an instant wakes: live_threads.cc; windows and turns: live_windows.cc; joining
// and leaving a run: live_attach.cc; loops on memory: live_memory_poll.cc; who holds time for long:
// live_standstill.cc; signals: live_signals.cc; the public functions: lockstep_process.cc.
#pragma once

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "irn_provider/live/live_nics.h"
#include "irn_provider/live/live_process.h"
#include "irn_provider/live/owner_tracking_mutex.h"
#include "irn_provider/live/shared_port.h"
#include "irn_provider/live/spin_detector.h"
#include "irn_provider/live/standstill.h"

namespace rocelab {

enum class ThreadMode { kRunning, kForeign, kParked, kDetached };

struct ThreadState {
  int tid = 0;
  ThreadMode mode = ThreadMode::kDetached;
  // What a parked thread waits for.
  bool polls = false;  // any completion, or the window's end
  Time deadline = Time::never();
  const std::function<bool()>* ready = nullptr;
  bool polls_memory = false;           // a message placed, or whatever another thread of the program did
  bool timed_out = false;              // its deadline woke it
  bool signalled = false;              // a signal woke it
  std::vector<siginfo_t> signals;      // to be delivered by the thread itself
  std::uint64_t calls = 0;             // how often it has called in
  std::uint64_t blocked_calls = 0;     // then, when it was last found blocked
  std::int64_t blocked_since_ns = 0;   // wall time of the first look that found it so
  std::uint64_t memory_calls = 0;      // then, when it was last found polling memory
  Duration recheck_after;              // after which it was to look, then
  bool for_anyone = false;             // kForeign: it waits for whoever comes
  bool due = false;                    // an instant woke it; it runs when its turn comes
  std::atomic<std::uint32_t> turn{0};  // futex: 1 = run
  std::optional<timer_t> timer;        // samples it while it runs
  std::atomic<bool> sampled{false};    // the timer goes on
  bool spun = false;                   // was found to spin: sampled whenever it runs
  bool counts = false;                 // parks because of SpinDetector::Finding::kCounts
  SampleClock samples;
  std::unique_ptr<SpinDetector> spin;  // made with the timer
  std::int64_t program_cpu_ns = 0,
               cpu_after_sample_ns = 0;  // the program's progress; all of its processor time
};

inline constexpr std::int64_t kLookAroundNs =
    200'000'000;  // a leader without a window checks that the switch process lives

class LockstepProcess final : public LiveProcess {
 public:
  // Throws std::runtime_error: no such run or host, another build, all VFs taken.
  static std::unique_ptr<LockstepProcess> join(const char* segment_path, const char* host_name);
  ~LockstepProcess() override;

  std::size_t nics() const override;
  const HostEntry& host(std::size_t nic) const override;
  lockstep::HostShare share(std::size_t nic) const override;
  std::uint32_t vf() const override;
  std::uint64_t seed() const override;
  bool time_has_begun() const override;
  std::int64_t grace_wall_ns() const override;
  void count_detach() override;
  std::optional<PathEnd> find_peer(std::size_t nic, const std::array<std::uint8_t, 16>& gid) override;
  std::size_t nic_towards(const std::array<std::uint8_t, 16>& gid) const override;
  int listen_to_groups(std::size_t nic, std::size_t memberships) override;
  Time now() override;
  void poll(std::size_t nic, const std::function<bool(Nic&, Time)>& look) override;
  void park_poll() override;
  void park_poll(Duration longest) override;
  Woken sleep_until(Time deadline) override;
  Woken park_until(const std::function<bool()>& ready, Time deadline) override;
  void drain_output(Duration longest) override;
  void recheck_waiters() override;
  void watch_memory(MemoryWatch wanted) override;
  void park_memory() override;
  void foreign_enter(bool for_anyone) override;
  void foreign_leave() override;
  void set_resident(Resident resident) override;
  void set_alarms(Alarms alarms) override;
  void set_completion_hook(CompletionHook hook) override;

 private:
  Time enter() override;
  void leave() override;
  Nic& nic(std::size_t number) override;
  bool keeps_time() const override { return true; }
  void end() override;
  void abandon() override;
  struct Impl;
  std::unique_ptr<Impl> impl_;
  explicit LockstepProcess(std::unique_ptr<Impl> impl);
};

struct LockstepProcess::Impl {
  Impl(lockstep::Segment&& s, std::optional<Schedule>&& replayed, std::uint32_t host_index,
       std::uint32_t vf_index)
      : segment(std::move(s)),
        schedule(std::move(replayed)),
        host(segment.hosts()[host_index]),
        name(machine_name(host)),
        vf(vf_index),
        slot(segment.vfs()[vf_index]),
        nics(segment, schedule ? &*schedule : nullptr, segment.slots_of(vf_index)),
        port(segment, vf_index),
        owner(static_cast<std::uint32_t>(getpid())),
        seq(slot.grant_seq.load()) {}

  // --- set once
  lockstep::Segment segment;
  const std::optional<Schedule> schedule;  // that its NICs replay
  const HostEntry& host;                   // its first NIC
  const std::string name;
  const std::uint32_t vf;  // the first NIC's; those of the others follow it
  lockstep::VfSlot& slot;

  // --- under the lock
  OwnerTrackingMutex mutex;
  LiveNics nics;
  SharedPort port;
  bool by_turns = false;                              // other VFs of the host take part in this window
  bool in_turn = false;                               // an event of ours ran; the turn is still ours
  Bytes sent;                                         // ... and a frame of so many left
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
  struct {
    std::int64_t committed_ps = -1;
    std::int64_t since_ns = 0;  // wall time since when time stands there
    bool told = false;          // that the switch process is stopped
  } switch_watch;
  MemoryWatch watch_memory = MemoryWatch::kOfHolders;
  Standstill standstill, others_standstill;
  LiveProcess::CompletionHook completion_hook;
  LiveProcess::Resident resident;  // its functions are empty until there is one
  LiveProcess::Alarms alarms;      // so are these
  std::thread helper_thread;

  using Lock = std::unique_lock<OwnerTrackingMutex>;

  // --- live_threads.cc
  ThreadState& me();
  void leave_at_end();  // of the calling thread
  void thread_ends();
  void join(ThreadState& t);
  void start_running(ThreadState& t);
  void park(Lock& lock, ThreadState& t);
  bool give_turn();
  void wake_by_instant();
  bool wake_ready();  // true: there was one
  void wake_by_deadline();
  void note_completions();
  void run_resident();
  Time earliest_deadline() const;
  void leave_thread(ThreadState& t);
  void abandon_wait(ThreadState& t);
  void detach_blocked(Lock& lock, bool also_stuck);

  // --- live_windows.cc
  void lead(Lock& lock, ThreadState& t);
  void wait_for_window(Lock& lock, ThreadState& t);
  void accept_window();
  void run_window(Lock& lock);
  void run_alone();
  void run_turn(Lock& lock);
  void finish_turn();
  void end_window();
  void finish_window();
  void take_port_times();
  void readmit();
  void settle();
  void helper_loop();
  void look_after_switch();
  void check_run(bool idle);

  // --- live_memory_poll.cc
  bool make_timer(ThreadState& t);
  void watch(ThreadState& t);
  void look_at(ThreadState& t);
  void unwatch(ThreadState& t);
  void start_samples(ThreadState& t);
  void stop_samples(ThreadState& t);
  void wake_memory_pollers();

  // --- live_standstill.cc
  void note_own_standstill(const ThreadState& t);
  void note_standstill();

  // --- live_signals.cc
  void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t expected, Lock& lock, ThreadState& t);
  void ring_alarms();
  void send(const siginfo_t& signal);

  void leave();  // live_attach.cc
};

void remember_runtime_text();                        // before the first sample
extern constinit thread_local ThreadState* t_state;  // of the calling thread; null: it has not called in

}  // namespace rocelab
