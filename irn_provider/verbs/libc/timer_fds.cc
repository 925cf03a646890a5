// Interposed: timerfd_create, timerfd_settime, timerfd_gettime. A timer on a clock of experiment time is an
// eventfd, to which its expirations are added at their instants of experiment time: it reads as the kernel's
// does, and waits know it (event_fd.h). One of the kernel's from before the device was opened becomes such a
// one then (kernel_timer_fds.h). From a fork on the child reads what its parent's timers add.
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/event_fd.h"
#include "irn_provider/verbs/libc/kernel_timer_fds.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/libc/timers.h"
#include "irn_provider/verbs/libc/timers_state.h"
#include "irn_provider/verbs/libc/without_nonnull.h"

static_assert(int{TFD_NONBLOCK} == int{EFD_NONBLOCK} && int{TFD_CLOEXEC} == int{EFD_CLOEXEC});

namespace rocelab::libc {
namespace {

struct TimerFd {
  ProgramTimers::Id id = 0;
  clockid_t clock = CLOCK_MONOTONIC;
  int own = -1;  // the same eventfd: whatever the program does with its number, we write to this
  std::shared_ptr<std::atomic<std::uint64_t>> raised;
};

// Never destroyed: programs close in exit handlers. The mutex is the last one taken.
struct TimerFds {
  real::Mutex mutex;
  std::map<int, TimerFd> by_fd;
  std::atomic<std::size_t> count{0};
};
TimerFds& timer_fds() {
  static auto* t = new TimerFds;
  return *t;
}

std::optional<TimerFd> find(int fd) {
  if (timer_fds().count.load(std::memory_order_relaxed) == 0 || !have_timers()) return std::nullopt;
  std::lock_guard lock(timer_fds().mutex);
  const auto found = timer_fds().by_fd.find(fd);
  return found != timer_fds().by_fd.end() ? std::optional(found->second) : std::nullopt;
}

void add(LiveProcess& process, int fd, TimerFd timer, const itimerspec& value) {
  timer.raised = watch_event_fd(fd);
  timer.id = with_timers(process, [&](Timers& t, Time now) {
    const ProgramTimers::Id id = t.timers.create(ProgramTimers::Readable{});
    t.timers.set(id, setting_of(process, value, false, now, timer.clock));
    return id;
  });
  std::lock_guard lock(timer_fds().mutex);
  timer_fds().by_fd[fd] = timer;
  timer_fds().count = timer_fds().by_fd.size();
}

// A descriptor, or -1 with errno.
int make(LiveProcess& process, clockid_t clock, int flags) {
  if ((flags & ~(TFD_NONBLOCK | TFD_CLOEXEC)) != 0) {
    errno = EINVAL;
    return -1;
  }
  TimerFd timer;
  timer.clock = clock;
  int fd = -1;
  {
    real::RuntimeScope scope;  // not an eventfd of the program's
    fd = ::eventfd(0, flags);
    if (fd >= 0) timer.own = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0 && timer.own < 0) {
      ::close(fd);
      errno = EMFILE;
      fd = -1;
    }
  }
  if (fd >= 0) add(process, fd, timer, {});
  return fd;
}

// What expired before it was set anew is not read any more (timerfd_setup()).
void take_back(const TimerFd& timer) {
  std::uint64_t expirations = 0;
  const iovec part{&expirations, sizeof expirations};
  [[maybe_unused]] const ssize_t got = preadv2(timer.own, &part, 1, -1, RWF_NOWAIT);
}

}  // namespace

void adopt_timer_fds(LiveProcess& process) {
  real::RuntimeScope scope;
  for (const KernelTimerFd& kernels : kernel_timer_fds()) {
    if (!is_of_experiment(kernels.clock) || !replace_by_event_fd(kernels)) continue;
    const TimerFd timer{
        .id = 0, .clock = kernels.clock, .own = ::fcntl(kernels.fd, F_DUPFD_CLOEXEC, 0), .raised = {}};
    add(process, kernels.fd, timer, kernels.left);
  }
}

void make_readable(ProgramTimers::Id timer, std::int64_t expirations) {
  std::lock_guard lock(timer_fds().mutex);
  for (const auto& [fd, t] : timer_fds().by_fd) {
    if (t.id != timer) continue;
    const auto count = static_cast<std::uint64_t>(expirations);
    [[maybe_unused]] const ssize_t written = real::write(t.own, &count, sizeof count);
    ++*t.raised;
  }
}

void forget_timer_fd(int fd) {
  const std::optional<TimerFd> timer = find(fd);
  if (!timer) return;
  {
    std::lock_guard lock(timer_fds().mutex);
    timer_fds().by_fd.erase(fd);
    timer_fds().count = timer_fds().by_fd.size();
  }
  forget_event_fd(fd);
  real::RuntimeScope scope;
  ::close(timer->own);
  if (LiveProcess* process = LiveProcess::timekeeper())
    with_timers(*process, [&](Timers& t, Time) { return t.timers.erase(timer->id); });
}

}  // namespace rocelab::libc

using namespace rocelab;
using namespace rocelab::libc;

RL_EXPORT int timerfd_create(clockid_t clock, int flags) noexcept {
  LiveProcess* process = experiment();
  if (process != nullptr && is_of_experiment(clock)) return make(*process, clock, flags);
  return real::timerfd_create(clock, flags);
}

RL_EXPORT int timerfd_settime(int fd, int flags, const itimerspec* value, itimerspec* old) noexcept {
  const std::optional<TimerFd> timer = find(fd);
  if (!timer) return set_kernel_timer_fd(fd, flags, value, old);
  if ((flags & ~(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)) != 0 || value == nullptr || !valid(*value)) {
    errno = value == nullptr ? EFAULT : EINVAL;
    return -1;
  }
  LiveProcess& process = *experiment();
  with_timers(process, [&](Timers& t, Time now) {
    if (old != nullptr) *old = read_timer(t.timers.setting(timer->id), now);
    take_back(*timer);
    t.timers.set(timer->id, setting_of(process, *value, (flags & TFD_TIMER_ABSTIME) != 0, now, timer->clock));
    if (t.timers.setting(timer->id).due <= now) make_readable(timer->id, t.timers.take(timer->id, now).count);
  });
  return 0;
}

RL_EXPORT int timerfd_gettime(int fd, itimerspec* value) noexcept {
  const std::optional<TimerFd> timer = find(fd);
  if (!timer) {
    return real::timerfd_gettime(fd, value);
  }
  if (without_nonnull(value) == nullptr) {
    errno = EFAULT;
    return -1;
  }
  *value = with_timers(
      *experiment(), [&](const Timers& t, Time now) { return read_timer(t.timers.setting(timer->id), now); });
  return 0;
}
