#include "irn_provider/verbs/libc/event_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <utility>

#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/real.h"

namespace rocelab::libc {
namespace {

// Never destroyed: programs wait in exit handlers too.
struct Registry {
  real::Mutex mutex;
  struct Entry {
    EventFd::Raised raised;
    std::uint32_t process = 0;
  };
  std::map<int, Entry> by_fd;
  // Grows with each fork, in the child: the parent's descriptors are not this process's, which may have
  // closed them and have others of the same numbers.
  std::atomic<std::uint32_t> process{0};
};
Registry& registry() {
  static auto* r = new Registry;
  return *r;
}

void watch(int fd, EventFd::Raised raised) {
  static const int watched = pthread_atfork(nullptr, nullptr, [] { ++registry().process; });
  static_cast<void>(watched);
  std::lock_guard lock(registry().mutex);
  registry().by_fd[fd] = {std::move(raised), registry().process};
}

}  // namespace

// Semaphore mode: each read takes one event, so that the descriptor is readable exactly while pending_ > 0.
EventFd::EventFd()
    : fd_([] {
        real::RuntimeScope scope;  // not one of the program's own
        return ::eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
      }()) {
  if (fd_ >= 0) watch(fd_, raised_);
}

EventFd::~EventFd() {
  if (fd_ < 0) return;
  forget_event_fd(fd_);
  ::close(fd_);
}

void EventFd::raise() {
  ++pending_;
  ++*raised_;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = real::write(fd_, &one, sizeof one);
}

bool EventFd::take() {
  if (pending_ == 0) return false;
  --pending_;
  std::uint64_t value = 0;
  [[maybe_unused]] const ssize_t got =
      real::read(fd_, &value, sizeof value);  // never blocks: pending_ counts what is in it
  return true;
}

int EventFd::wait(LiveProcess& process) const {
  const bool waits = (::fcntl(fd_, F_GETFL) & O_NONBLOCK) == 0;
  const std::function<bool()> ready = [this] { return pending(); };
  const auto is_ready = [&] { return process.call([&](Nic&, Time) { return ready(); }); };
  real::RuntimeScope scope;
  if (waits || is_ready()) {
    end_spin();
    return !waits || process.park_until(ready, Time::never()) == Woken::kReady ? 0 : EINTR;
  }
  ask_again(process, ready);  // a program that only asks lets time pass
  return is_ready() ? 0 : EAGAIN;
}

EventFd::Raised EventFd::find(int fd) {
  std::lock_guard lock(registry().mutex);
  const auto it = registry().by_fd.find(fd);
  return it != registry().by_fd.end() && it->second.process == registry().process ? it->second.raised
                                                                                  : nullptr;
}

std::shared_ptr<std::atomic<std::uint64_t>> watch_event_fd(int fd) {
  auto raised = std::make_shared<std::atomic<std::uint64_t>>(0);
  watch(fd, raised);
  return raised;
}

void forget_event_fd(int fd) {
  std::lock_guard lock(registry().mutex);
  registry().by_fd.erase(fd);
}

}  // namespace rocelab::libc
