// Interposed: poll, ppoll, select, pselect, epoll_wait, epoll_pwait, epoll_pwait2. wait.h says what their
// timeouts mean in experiment time. The masks of ppoll, pselect and epoll_pwait hold while the call lasts.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/libc/wait.h"
#include "irn_provider/verbs/libc/without_nonnull.h"

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
  if (without_nonnull(fds) == nullptr && count > 0) return real::poll(fds, count, 0);  // EFAULT
  WaitSet set;
  for (nfds_t i = 0; i < count; ++i)
    if (fds[i].fd >= 0) add(set, fds[i].fd);
  return wait_for(process, set, timeout, [=](int wall_ms) { return real::poll(fds, count, wall_ms); });
}

// A program's sets may be longer than an fd_set: the kernel looks at `count` bits, in whole words.
using Word = unsigned long;
constexpr int kWordBits = 8 * sizeof(Word);
std::size_t words_of(int count) { return (static_cast<std::size_t>(count) + kWordBits - 1) / kWordBits; }
bool has(const fd_set* set, int fd) {
  return set != nullptr && (reinterpret_cast<const Word*>(set)[fd / kWordBits] >> (fd % kWordBits) & 1) != 0;
}

struct SelectSets {
  fd_set *in, *out, *except;
  bool has(int fd) const { return libc::has(in, fd) || libc::has(out, fd) || libc::has(except, fd); }
};

// select overwrites its sets: each attempt works on copies, and the last one's are the result.
int select_for(LiveProcess& process, int count, SelectSets sets, Duration timeout) {
  if (count < 0) return real::select(count, sets.in, sets.out, sets.except, nullptr);  // EINVAL
  WaitSet waits;
  for (int fd = 0; fd < count; ++fd)
    if (sets.has(fd)) add(waits, fd);
  const std::size_t words = words_of(count);
  std::vector<Word> in(words), out(words), except(words);
  const auto copy = [=](std::vector<Word>& to, const fd_set* from) {
    if (from == nullptr) return static_cast<fd_set*>(nullptr);
    std::copy_n(reinterpret_cast<const Word*>(from), words, to.begin());
    return reinterpret_cast<fd_set*>(to.data());
  };
  const auto give = [](const std::vector<Word>& from, fd_set* to) {
    if (to != nullptr) std::ranges::copy(from, reinterpret_cast<Word*>(to));
  };
  const int result = wait_for(process, waits, timeout, [&](int wall_ms) {
    timeval wall{.tv_sec = 0, .tv_usec = wall_ms * 1'000};
    return real::select(count, copy(in, sets.in), copy(out, sets.out), copy(except, sets.except),
                        wall_ms >= 0 ? &wall : nullptr);
  });
  if (result < 0) return result;
  give(in, sets.in);
  give(out, sets.out);
  give(except, sets.except);
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

RL_EXPORT int epoll_pwait2(int epfd, epoll_event* events, int count, const timespec* timeout,
                           const sigset_t* mask) {
  LiveProcess* process = experiment();
  if (process == nullptr) return real::epoll_pwait2(epfd, events, count, timeout, mask);
  if (refuse(timeout)) return -1;
  SignalMask scope(mask);
  if (scope.interrupted()) return -1;
  return epoll_for(*process, epfd, events, count, from_timespec(timeout));
}
