// DirectProcess: a LiveProcess on a network interface, or among the programs of one machine, by the machine's
// own clock: no run, no switch process, no lock step. Experiment time is CLOCK_MONOTONIC since joining, the
// program's clocks and waits are the real ones, and frames go through ports (frame_port.h) as they are due:
// nothing here limits a rate or holds a frame back.
//
// Progress. Whoever calls in (a post, a poll, a wait) takes in what has come, runs what is due, and sends
// what may leave. When no thread of the program does, a helper thread does: it watches the socket and the
// NIC's timers, but leaves them to a program that polls (kTakeover). Who finds nothing yields, or sleeps
// where yielding takes long. One lock guards all of it.
//
// Frames between VFs of one interface go from process to process by shared memory, all others by a packet
// socket. A frame that its port does not take now stays there, and the NIC is asked for no more until it has
// left.
#pragma once

#include <poll.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "irn_provider/live/live_process.h"
#include "irn_provider/live/owner_tracking_mutex.h"
#include "irn_provider/live/packet_edge.h"
#include "irn_provider/nic/nic_port.h"
#include "irn_provider/realtime/interface_host.h"
#include "irn_provider/realtime/interface_share.h"
#include "irn_provider/realtime/memory_poll_laws.h"
#include "irn_provider/realtime/neighbours.h"
#include "irn_provider/realtime/packet_socket.h"
#include "irn_provider/realtime/peer_table.h"
#include "irn_provider/realtime/ring_port.h"

namespace rocelab {

class DirectProcess final : public LiveProcess {
 public:
  // Throws std::runtime_error with a line that says what to do: no such interface, not root, all VFs taken.
  static std::unique_ptr<DirectProcess> join(const direct::Settings& settings);
  ~DirectProcess() override;

  const HostEntry& host(std::size_t) const override { return host_; }
  lockstep::HostShare share(std::size_t) const override { return share_->share(); }
  std::uint32_t vf() const override { return share_->vf(); }
  std::uint64_t seed() const override { return 0; }
  int listen_to_groups(std::size_t nic, std::size_t memberships) override;
  std::optional<PathEnd> find_peer(std::size_t nic, const Gid& gid) override;
  void reach(const Gid& gid) override;
  Time now() override { return clock(); }
  void poll(std::size_t nic, const std::function<bool(Nic&, Time)>& look) override;
  void park_poll() override;
  void park_poll(Duration) override { park_poll(); }
  Woken sleep_until(Time deadline) override;
  Woken park_until(const std::function<bool()>& ready, Time deadline) override;
  void drain_output(Duration longest) override;
  void hint_blocking() override;
  void recheck_waiters() override;
  void watch_memory(MemoryWatch wanted) override;
  void park_memory() override;
  void foreign_enter(bool) override {}
  void foreign_leave() override {}
  void set_resident(Resident resident) override;
  void set_completion_hook(CompletionHook hook) override;

 private:
  struct Waiter {  // a thread in park_until()
    const std::function<bool()>& ready;
    int event;  // tells it that another thread has made it ready
    bool told = false;
  };
  using Lock = std::unique_lock<OwnerTrackingMutex>;
  static constexpr std::size_t kMaxPorts = 2;
  static constexpr Duration kLongestWait = 40_us;  // of a post, for those behind it
  static constexpr Duration kPostsLook = 50_us;    // between looks at what has come, of a program that posts

  explicit DirectProcess(const direct::Settings& settings);
  Time enter() override;
  void leave() override;
  Nic& nic(std::size_t) override { return nic_; }
  bool keeps_time() const override { return false; }
  void end() override;
  void forget_sockets();

  Time clock() const;
  Time tick();  // clock(), but never before an instant that was seen

  // --- direct_progress.cc; under the lock
  // What the program is about to see: nothing, a completion if there is one, or that and memory. What it does
  // then may leave together with the acknowledgement.
  enum class Sees { kNothing, kCompletion, kMemory };
  bool progress(Sees sees = Sees::kNothing);  // true: something came or left
  bool progress(Sees sees, Time now);
  bool receive(Time now);
  bool receive(direct::FramePort& port, Time now);
  void answer_meanwhile(Time now);
  void take(const direct::FramePort::Arrival& arrival, Time now);
  void take_frame(std::span<std::byte> frame, std::span<const std::byte> shared, Time now);
  void note_senders(std::span<const direct::FramePort::Arrival> arrivals);
  void regulate();
  void pause_senders(std::uint16_t quanta);  // 0: they may go on
  void depart(Time now);
  void none_waits();
  bool may_wait(bool posted);
  void send(PacketRef packet);
  void send(const Packet& packet, direct::FramePort& port, const PathAddress& path);
  void flush();
  bool note_completions(Time now);  // true: there were some
  Time next_event() const;
  Time next_due() const;  // of that, without what could leave
  bool blocked() const { return rings_.stuck() || (wire_ && wire_->stuck()); }

  // --- direct_memory_poll.cc; under the lock
  void expect_memory_poll();
  void interrupt(bool on);
  void interrupt_if_wanted();
  void note_poll(bool told);

  // --- direct_wait.cc
  void tell_waiters();
  // Without the lock. `signals`: the thread's mask meanwhile; null: as it is. True: a handler of the
  // program's has ended it.
  bool wait_for_frames(Time deadline, int event, const sigset_t* signals = nullptr);
  bool sleep_on(std::span<pollfd> fds, Time until, const sigset_t* signals = nullptr);
  Time next_step() const;
  Time next_look() const;
  std::optional<Time> take_in_poll();
  bool frames_wait() const;
  void nap(Time until);
  void hand_over();
  void publish_counters();
  bool look(bool away);
  bool is_due();
  Time helper_looks_by(Time latest);
  static bool older(const std::atomic<std::int64_t>& since_ns, Duration than, Time now);
  bool wait_for_too_long() const;
  void give_way(Time until);
  static void set_timer(int timer, Duration after);  // wakes the helper thread; zero: not any more
  void watch_link();
  void helper_loop();

  const HostEntry host_;
  const std::int64_t epoch_ns_;
  std::unique_ptr<direct::InterfaceShare> share_;
  const NicCounters earlier_;                     // of programs that had this VF before
  std::optional<direct::Neighbours> neighbours_;  // none without an interface
  const int quiet_udp_;                           // its descriptor; -1: none

  OwnerTrackingMutex mutex_;
  // --- under the lock
  std::unique_ptr<direct::PacketSocket> wire_;  // null: no interface, only this machine's programs
  direct::RingPort rings_;
  std::vector<direct::FramePort*> ports_;  // both
  bool polls_memory_ = false, multicast_joined_ = false;
  bool interrupts_ = false;        // frames do, the thread that polls memory
  bool interrupted_ = false;       // one has, since
  bool took_frames_ = false;       // outside of progress()
  pid_t memory_poller_ = 0;        // that thread
  std::uint32_t empty_polls_ = 0;  // of a completion queue, in a row
  WakeupPolicy interrupt_law_;
  ReplyPredictor answer_law_;
  PacketPool pool_;
  ProcessMemory memory_;
  NullTrace trace_;
  Nic nic_;
  NicPort port_;
  PacketEdge edge_;
  Time last_;
  bool leaving_ = false;  // the process ends: nothing is touched any more
  std::uint64_t frames_published_ = 0;
  std::uint64_t completions_seen_ = 0, posts_seen_ = 0;
  direct::PeerTable peers_;
  std::map<Gid, Time> reached_;  // when the kernel said so
  std::vector<Waiter*> waiters_;
  std::uint32_t sent_since_receive_ = 0, taken_since_departure_ = 0;  // frames
  bool pausing_ = false;                                              // those that send to us
  struct Paused {
    MacAddress mac;
    std::uint8_t classes = 0;  // bit per class that frames came in
  };
  std::vector<Paused> senders_;  // in batches that were full, of this pause or the last such
  Time last_regulation_;
  std::atomic<std::int64_t> acks_wait_since_ns_{0};  // for what the program does next; 0: none does
  // Calls that had frames to send: waiting for more, since the last poll, and between the two before.
  std::uint32_t posts_waiting_ = 0, posts_in_run_ = 0, last_run_ = 0;
  Time last_departure_, last_post_, last_receive_;
  std::atomic<std::int64_t> posts_wait_since_ns_{0};  // 0: none does
  Time post_timer_expires_;
  static constexpr Time kSoon = Time::zero();
  Time helper_until_ = kSoon;  // when the helper looks again by itself; kSoon: nobody has to tell it
  Resident resident_;
  CompletionHook completion_hook_;

  // --- the helper thread
  std::atomic<std::int64_t> last_poll_ns_{0};  // when the program polled last
  std::atomic<int> watchers_{0};               // threads of the program that watch the ports
  std::atomic<int> nappers_{0};                // that poll, and have found nothing
  std::atomic<bool> helper_ends_{false};
  int helper_event_ = -1, helper_timer_ = -1, post_timer_ = -1;
  std::thread helper_;
};

}  // namespace rocelab
