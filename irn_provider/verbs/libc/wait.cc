#include "irn_provider/verbs/libc/wait.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/own_pipes.h"
#include "irn_provider/verbs/libc/real.h"

namespace rocelab::libc {
namespace {

using Attempt = std::function<int(int)>;

constexpr int kSetupSliceMs = 5;
constexpr std::int64_t kBeyondGraceNs =
    10'000'000;  // the coordinator has surely seen the end of the grace by then

// This thread's last wait for the outside outlasted the grace, and nothing has come since: a loop of short
// waits, as ucx_perftest's server makes while its client measures, does not get the grace each time.
thread_local bool t_left_behind = false;

// Time stands. Returns when something is ready (result != 0), when the wall's clock has used up the timeout
// before time began, or when the grace is over.
struct Foreign {
  int result = 0;
  bool timed_out = false;
};
Foreign wait_foreign(LiveProcess& process, bool with_grace, Duration timeout, const Attempt& attempt) {
  ForeignScope foreign(process);
  const std::int64_t begin = real::wall_ns();
  const std::int64_t grace = with_grace ? process.grace_wall_ns() + kBeyondGraceNs : 0;
  std::int64_t running_since = -1;
  while (true) {
    const std::int64_t now = real::wall_ns();
    if (running_since < 0 && process.time_has_begun()) running_since = now;
    if (running_since >= 0 && now - running_since >= grace) return {};
    if (running_since < 0 && (now - begin) >= timeout.ps() / 1'000) return {.result = 0, .timed_out = true};
    if (const int r = attempt(kSetupSliceMs); r != 0) return {.result = r, .timed_out = false};
  }
}

// Parks until something inside may be ready, the deadline, or a signal.
Woken park_for_change(LiveProcess& process, const WaitSet& set, std::uint64_t& seen, Time deadline) {
  const Woken woken = process.park_until([&] { return set.changes() != seen; }, deadline);
  seen = set.changes();
  return woken;
}

// poll, select and epoll_wait are not restarted, whatever the handler was installed with (signal(7)).
int interrupted() {
  errno = EINTR;
  return -1;
}

// A look, which no signal ends: a sample of the thread (live_memory_poll.cc) would, and programs of one
// signal handler or none do not reckon with EINTR.
int look(const Attempt& attempt) {
  int r = attempt(0);
  while (r < 0 && errno == EINTR) r = attempt(0);
  return r;
}

int wait_with_outside(LiveProcess& process, const WaitSet& set, std::uint64_t seen, Time deadline,
                      const Attempt& attempt) {
  while (true) {
    const Woken woken = park_for_change(process, set, seen, std::min(deadline, process.now() + kOutsideStep));
    const bool ours = woken == Woken::kReady;
    int r = look(attempt);
    if (r == 0 && woken == Woken::kSignal) return interrupted();
    if (r == 0 && process.now() >= deadline) return 0;
    if (r == 0 && !ours) {
      ForeignScope foreign(process);
      r = attempt(static_cast<int>(kOutsideSliceNs / 1'000'000));
    }
    if (r == 0) continue;
    if (r > 0 && !ours) process.count_detach(), t_left_behind = false;
    return r;
  }
}

}  // namespace

void WaitSet::add(int fd) {
  if (EventFd::Raised raised = EventFd::find(fd)) {
    ours.push_back(std::move(raised));
  } else if (is_own_pipe(fd)) {
    pipes = true;
  } else {
    outside = true;
  }
}

std::uint64_t WaitSet::changes() const {
  std::uint64_t sum = pipes ? own_pipe_changes() : 0;
  for (const EventFd::Raised& raised : ours) sum += raised->load();
  return sum;
}

int wait_for(LiveProcess& process, const WaitSet& set, Duration timeout, const Attempt& attempt) {
  end_spin();
  real::RuntimeScope scope;
  std::uint64_t seen = set.changes();
  if (const int r = look(attempt); r != 0) {
    t_left_behind = t_left_behind && !set.outside;
    return r;
  }
  if (timeout <= Duration()) {
    process.park_poll();
    return look(attempt);
  }
  const Time deadline = process.now() + timeout;
  if (set.outside) {
    const bool with_grace = !set.inside() && !t_left_behind;
    if (with_grace || !process.time_has_begun()) {
      const Foreign f = wait_foreign(process, with_grace, timeout, attempt);
      if (f.result != 0 || f.timed_out) return f.result;
      t_left_behind = with_grace;
    }
    if (!set.inside() && deadline == Time::never()) {
      ForeignScope foreign(process);
      return attempt(-1);
    }
    return wait_with_outside(process, set, seen, deadline, attempt);
  }
  while (true) {
    const Woken woken = park_for_change(process, set, seen, deadline);
    if (const int r = look(attempt); r != 0 || woken == Woken::kDeadline) return r;
    if (woken == Woken::kSignal) return interrupted();
  }
}

}  // namespace rocelab::libc
