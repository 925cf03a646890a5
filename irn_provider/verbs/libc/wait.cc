#include "irn_provider/verbs/libc/wait.h"

#include <algorithm>

#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/real.h"

namespace rocelab::libc {
namespace {

using Attempt = std::function<int(int)>;

constexpr Duration kStep = 1_ms;  // of experiment time, and as much wall time beside it
constexpr int kStepWallMs = 1;
constexpr int kSetupSliceMs = 5;
constexpr std::int64_t kBeyondGraceNs =
    10'000'000;  // the coordinator has surely seen the end of the grace by then

bool time_has_begun(const LiveProcess& process) {
  return process.segment().header().state.load() != lockstep::RunState::kSetup;
}

bool any_pending(const WaitSet& set) {
  return std::any_of(set.ours.begin(), set.ours.end(), [](const EventFd* e) { return e->pending(); });
}

// Time stands. Returns when something is ready (result != 0), when the wall's clock has used up the timeout
// before time began, or when the grace is over.
struct Foreign {
  int result = 0;
  bool timed_out = false;
};
Foreign wait_foreign(LiveProcess& process, bool with_grace, Duration timeout, const Attempt& attempt) {
  ForeignScope foreign(process);
  const std::int64_t begin = real::wall_ns();
  const std::int64_t grace = with_grace ? process.segment().header().grace_wall_ns + kBeyondGraceNs : 0;
  std::int64_t running_since = -1;
  while (true) {
    const std::int64_t now = real::wall_ns();
    if (running_since < 0 && time_has_begun(process)) running_since = now;
    if (running_since >= 0 && now - running_since >= grace) return {};
    if (running_since < 0 && (now - begin) >= timeout.ps() / 1'000) return {.result = 0, .timed_out = true};
    if (const int r = attempt(kSetupSliceMs); r != 0) return {.result = r, .timed_out = false};
  }
}

// Something from outside arrived after time had passed in a wait: when, depended on the wall.
void count_detach(LiveProcess& process) {
  lockstep::Header& header = process.segment().header();
  if (header.state.load() != lockstep::RunState::kRunning) return;
  note_detach(header, process.now());
}

int wait_with_outside(LiveProcess& process, const WaitSet& set, Time deadline, const Attempt& attempt) {
  while (true) {
    const bool ours =
        process.park_until([&] { return any_pending(set); }, std::min(deadline, process.now() + kStep));
    int r = attempt(0);
    if (r == 0 && process.now() >= deadline) return 0;
    if (r == 0 && !ours) {
      ForeignScope foreign(process);
      r = attempt(kStepWallMs);
    }
    if (r == 0) continue;
    if (r > 0 && !ours) count_detach(process);
    return r;
  }
}

}  // namespace

void WaitSet::add(int fd) {
  if (const EventFd* event = EventFd::find(fd)) {
    ours.push_back(event);
  } else {
    outside = true;
  }
}

int wait_for(LiveProcess& process, const WaitSet& set, Duration timeout, const Attempt& attempt) {
  end_spin();
  real::RuntimeScope scope;
  if (const int r = attempt(0); r != 0) return r;
  if (timeout <= Duration()) {
    process.park_poll();
    return attempt(0);
  }
  const Time deadline = process.now() + timeout;
  if (set.outside) {
    const bool with_grace = set.ours.empty();
    if (with_grace || !time_has_begun(process)) {
      const Foreign f = wait_foreign(process, with_grace, timeout, attempt);
      if (f.result != 0 || f.timed_out) return f.result;
    }
    return wait_with_outside(process, set, deadline, attempt);
  }
  while (true) {
    const bool ready = process.park_until([&] { return any_pending(set); }, deadline);
    if (const int r = attempt(0); r != 0 || !ready) return r;
  }
}

}  // namespace rocelab::libc
