// EventFd: a queue of events that a program may wait for in poll(): an eventfd that is readable while events
// wait. Completion channels and the async channel of a device are such queues. The waits of
// irn_provider/verbs/libc know them all by descriptor: a program that waits for nothing else waits in
// experiment time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "irn_provider/live/live_process.h"

namespace rocelab::libc {

class EventFd {
 public:
  EventFd();  // fd() < 0: the process has no descriptor left
  ~EventFd();
  EventFd(const EventFd&) = delete;
  EventFd& operator=(const EventFd&) = delete;

  int fd() const { return fd_; }
  // All three under the lock of the LiveProcess.
  void raise();  // one event more
  bool take();   // one event less; false: there is none
  bool pending() const { return pending_ > 0; }
  // Waits until an event is there: 0. EAGAIN: the program has set O_NONBLOCK and there is none. EINTR: a
  // signal awaits delivery (libc::restarting).
  int wait(LiveProcess& process) const;

  // How often events were raised, of the one that is that descriptor; null: none is. Any thread may ask, and
  // keep it: a program may destroy a channel while another of its threads waits for a set that holds it.
  using Raised = std::shared_ptr<const std::atomic<std::uint64_t>>;
  static Raised find(int fd);

 private:
  int fd_ = -1;
  std::uint64_t pending_ = 0;
  const std::shared_ptr<std::atomic<std::uint64_t>> raised_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

// For other descriptors of ours that tell of events (timer_fds.h): what waits look at, to be counted up
// whenever the descriptor has become readable. From now on EventFd::find() knows it.
std::shared_ptr<std::atomic<std::uint64_t>> watch_event_fd(int fd);
void forget_event_fd(int fd);  // it is about to be closed

}  // namespace rocelab::libc
