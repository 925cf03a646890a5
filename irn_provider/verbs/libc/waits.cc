// Interposed: poll, ppoll, select, pselect, epoll_wait, epoll_pwait. wait.h says what their timeouts mean in
// experiment time. The masks of ppoll, pselect and epoll_pwait hold while the call lasts.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <string>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/libc/unpromised.h"
#include "irn_provider/verbs/libc/wait.h"

namespace rocelab::libc {
namespace {

Duration from_ms(int timeout_ms) {
  return timeout_ms < 0 ? Duration::infinite() : Duration::from_ps(std::int64_t{timeout_ms} * 1'000'000'000);
}

Duration from_timespec(const timespec* timeout) {
  return timeout == nullptr ? Duration::infinite() : to_duration(*timeout);
}

class SignalMask {
 public:
  explicit SignalMask(const sigset_t* mask) : set_(mask != nullptr) {
    constexpr timespec now{};
    interrupted_ = set_ && real::ppoll(nullptr, 0, &now, mask) < 0 && errno == EINTR;
    if (set_) pthread_sigmask(SIG_SETMASK, mask, &old_);
  }
  ~SignalMask() {
    const int error = errno;  // handlers that run now do not change what the call says
    if (set_) pthread_sigmask(SIG_SETMASK, &old_, nullptr);
    errno = error;
  }
  // A signal was pending that the mask lets in: its handler has run, and the call ends with EINTR.
  bool interrupted() const { return interrupted_; }
  SignalMask(const SignalMask&) = delete;
  SignalMask& operator=(const SignalMask&) = delete;

 private:
  bool set_, interrupted_ = false;
  sigset_t old_{};
};

// Descriptors that are watched for none of these only tell errors.
constexpr unsigned kAwaited = EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP;

void add(WaitSet& set, int fd);

// What an epoll descriptor watches. The kernel lists it: no need to follow epoll_ctl, dup and close. False:
// it watches nothing, or is another kind of descriptor.
bool add_watched(WaitSet& set, int epfd) {
  const std::string path = "/proc/self/fdinfo/" + std::to_string(epfd);
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return false;
  char line[256];
  int fd = -1;
  unsigned events = 0;
  bool any = false;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "tfd: %d events: %x", &fd, &events) != 2) continue;
    any = true;
    if ((events & kAwaited) != 0) add(set, fd);
  }
  std::fclose(file);
  return any;
}

// An epoll descriptor may be waited for itself (ucp_worker_wait): then for all that it watches. They do not
// watch one another in circles: the kernel refuses.
void add(WaitSet& set, int fd) {
  WaitSet one;
  one.add(fd);
  if (!one.outside || !add_watched(set, fd)) set.add(fd);
}

int poll_for(LiveProcess& process, pollfd* fds, nfds_t count, Duration timeout) {
  if (unpromised(fds) == nullptr && count > 0) return real::poll(fds, count, 0);  // EFAULT
  WaitSet set;
  for (nfds_t i = 0; i < count; ++i)
    if (fds[i].fd >= 0) add(set, fds[i].fd);
  return wait_for(process, set, timeout, [=](int wall_ms) { return real::poll(fds, count, wall_ms); });
}

struct SelectSets {
  fd_set *in, *out, *except;
  bool has(int fd) const {
    return (in != nullptr && FD_ISSET(fd, in)) || (out != nullptr && FD_ISSET(fd, out)) ||
           (except != nullptr && FD_ISSET(fd, except));
  }
};

// select overwrites its sets: each attempt works on copies, and the last one's are the result.
int select_for(LiveProcess& process, int count, SelectSets sets, Duration timeout) {
  WaitSet waits;
  for (int fd = 0; fd < count && fd < FD_SETSIZE; ++fd)
    if (sets.has(fd)) add(waits, fd);
  fd_set in, out, except;
  const auto copy = [](fd_set* to, const fd_set* from) {
    if (from == nullptr) return static_cast<fd_set*>(nullptr);
    *to = *from;
    return to;
  };
  const int result = wait_for(process, waits, timeout, [&](int wall_ms) {
    timeval wall{.tv_sec = 0, .tv_usec = wall_ms * 1'000};
    return real::select(count, copy(&in, sets.in), copy(&out, sets.out), copy(&except, sets.except),
                        wall_ms >= 0 ? &wall : nullptr);
  });
  if (result < 0) return result;
  if (sets.in != nullptr) *sets.in = in;
  if (sets.out != nullptr) *sets.out = out;
  if (sets.except != nullptr) *sets.except = except;
  return result;
}

int epoll_for(LiveProcess& process, int epfd, epoll_event* events, int count, Duration timeout) {
  WaitSet set;
  add_watched(set, epfd);
  return wait_for(process, set, timeout,
                  [=](int wall_ms) { return real::epoll_wait(epfd, events, count, wall_ms); });
}

bool refuse(const timespec* timeout) {
  if (timeout == nullptr || valid(*timeout)) return false;
  errno = EINVAL;
  return true;
}

}  // namespace
}  // namespace rocelab::libc

using namespace rocelab;
using namespace rocelab::libc;

RL_EXPORT int poll(pollfd* fds, nfds_t count, int timeout_ms) {
  LiveProcess* process = experiment();
  if (process == nullptr) return real::poll(fds, count, timeout_ms);
  return poll_for(*process, fds, count, from_ms(timeout_ms));
}

RL_EXPORT int ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  LiveProcess* process = experiment();
  if (process == nullptr) return real::ppoll(fds, count, timeout, mask);
  if (refuse(timeout)) return -1;
  SignalMask scope(mask);
  if (scope.interrupted()) return -1;
  return poll_for(*process, fds, count, from_timespec(timeout));
}

RL_EXPORT int select(int count, fd_set* in, fd_set* out, fd_set* except, timeval* timeout) {
  LiveProcess* process = experiment();
  if (process == nullptr) return real::select(count, in, out, except, timeout);
  Duration d = Duration::infinite();
  if (timeout != nullptr) {
    const timespec ts{.tv_sec = timeout->tv_sec + timeout->tv_usec / 1'000'000,
                      .tv_nsec = timeout->tv_usec % 1'000'000 * 1'000};
    if (refuse(&ts)) return -1;
    d = to_duration(ts);
  }
  return select_for(*process, count, {in, out, except}, d);
}

RL_EXPORT int pselect(int count, fd_set* in, fd_set* out, fd_set* except, const timespec* timeout,
                      const sigset_t* mask) {
  LiveProcess* process = experiment();
  if (process == nullptr) return real::pselect(count, in, out, except, timeout, mask);
  if (refuse(timeout)) return -1;
  SignalMask scope(mask);
  if (scope.interrupted()) return -1;
  return select_for(*process, count, {in, out, except}, from_timespec(timeout));
}

RL_EXPORT int epoll_wait(int epfd, epoll_event* events, int count, int timeout_ms) {
  LiveProcess* process = experiment();
  if (process == nullptr) return real::epoll_wait(epfd, events, count, timeout_ms);
  return epoll_for(*process, epfd, events, count, from_ms(timeout_ms));
}

RL_EXPORT int epoll_pwait(int epfd, epoll_event* events, int count, int timeout_ms, const sigset_t* mask) {
  LiveProcess* process = experiment();
  if (process == nullptr) return real::epoll_pwait(epfd, events, count, timeout_ms, mask);
  SignalMask scope(mask);
  if (scope.interrupted()) return -1;
  return epoll_for(*process, epfd, events, count, from_ms(timeout_ms));
}
