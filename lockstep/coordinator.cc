#include "lockstep/coordinator.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>

#include "base/check.h"
#include "lockstep/futex.h"
#include "lockstep/proc_state.h"
#include "lockstep/wall_clock.h"

namespace rocelab::lockstep {
namespace {

constexpr std::int64_t kCheckEveryNs = 1'000'000;
constexpr std::int64_t kWorstLagNs = 100'000'000;  // of experiment time behind the machine's clock

std::int64_t wall_ns() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return ts.tv_sec * 1'000'000'000LL + ts.tv_nsec;
}

bool has_ended(int pidfd) {
  pollfd fd{pidfd, POLLIN, 0};
  return poll(&fd, 1, 0) == 1;
}

}  // namespace

Coordinator::Coordinator(Segment& segment)
    : segment_(segment),
      header_(segment.header()),
      lookahead_(Duration::from_ps(segment.header().lookahead_ps)),
      followers_(segment.vfs().size()),
      input_(segment.vfs().size(), Time::never()),
      watches_(segment.vfs().size()) {
  header_.coordinator_pid.store(static_cast<std::uint32_t>(getpid()));
  for (std::uint32_t vf = 0; vf < followers_.size(); ++vf) {
    leads_.push_back(segment.vfs()[vf].lead);
    if (leads_[vf] != vf) followers_.at(leads_[vf]).push_back(vf);
  }
  for (const PortEntry& port : segment.ports()) switches_linked_ |= port.peer_port != kNoPeer;
}

Coordinator::~Coordinator() {
  for (const Watch& w : watches_)
    if (w.pidfd >= 0) close(w.pidfd);
}

std::uint32_t Coordinator::lead_of(std::uint32_t vf) const {
  return segment_.vfs()[vf].gateway.load() != 0 ? vf : leads_[vf];
}

std::span<const std::uint32_t> Coordinator::followers_of(std::uint32_t vf) const {
  if (segment_.vfs()[vf].gateway.load() != 0) return {};
  return followers_[vf];
}

bool Coordinator::owes(std::uint32_t vf) const {
  return !watches_[vf].ended && holds_time(segment_.vfs()[vf]);
}

bool Coordinator::anyone_owes() const {
  for (std::uint32_t vf = 0; vf < watches_.size(); ++vf)
    if (owes(vf)) return true;
  return false;
}

bool Coordinator::wait_ready(std::int64_t wall) {
  const std::int64_t start = wall_ns();
  Patience patience;
  for (;;) {
    if (header_.pending.load() == 0 && !anyone_owes()) {
      if (const std::int64_t now = wall_ns(); now - last_check_ns_ > kCheckEveryNs) check_liveness(now);
      return true;
    }
    if (patience.yield()) continue;
    const std::int64_t now = wall_ns();
    if (now - last_check_ns_ > kCheckEveryNs) check_liveness(now);
    if (now - start >= wall) return !anyone_owes();
    const std::int64_t left = std::min(wall - (now - start), kCheckEveryNs);
    if (const std::uint32_t pending = header_.pending.load(); pending != 0) {
      // A VF that time has gone on without never counts down: the hint is void when nobody owes.
      if (!anyone_owes())
        header_.pending.store(0);
      else
        futex_wait(header_.pending, pending, left);
    } else {
      const std::uint32_t seen = header_.activity.load();
      if (anyone_owes()) futex_wait(header_.activity, seen, left);
    }
  }
}

void Coordinator::wait_idle(std::int64_t wall) {
  const std::uint32_t seen = header_.activity.load();
  if (held_until_ns_ >= 0) wall = std::clamp(held_until_ns_ - wall_ns(), std::int64_t{0}, wall);
  if (!anyone_owes()) futex_wait(header_.activity, seen, wall);
  if (const std::int64_t now = wall_ns(); now - last_check_ns_ > kCheckEveryNs) check_liveness(now);
}

Time Coordinator::earliest_host_event() const {
  Time earliest = Time::never();
  for (std::uint32_t vf = 0; vf < input_.size(); ++vf) {
    const VfSlot& slot = segment_.vfs()[vf];
    if (slot.state.load(std::memory_order_relaxed) != VfState::kClaimed || slot.excluded.load() != 0)
      continue;
    earliest = std::min({earliest, input_[vf], Time::from_ps(slot.promise_ps.load())});
  }
  return earliest;
}

bool Coordinator::update_gate() {
  if (gate_open_) return true;
  if (header_.state.load() != RunState::kSetup && header_.state.load() != RunState::kRunning) return false;
  std::uint32_t claimed = 0;
  for (std::uint32_t vf = 0; vf < watches_.size(); ++vf)
    claimed += leads_[vf] == vf && segment_.vfs()[vf].state.load() == VfState::kClaimed ? 1 : 0;
  if (claimed < header_.expected_participants || anyone_owes()) return false;
  gate_open_ = true;
  if (header_.dilation > 0) header_.wall_epoch_ns.store(wall_ns());
  header_.state.store(RunState::kRunning);
  return true;
}

// Where nothing happens time goes with the machine's clock: whoever joins must not begin in the past.
void Coordinator::follow_wall_clock(Time next) {
  const Time wall = std::min(wall_time(header_, wall_ns()), next);
  publish(wall);
  held_until_ns_ = next.is_never() ? -1 : wall_ns_of(header_, next);
}

// The machine has lost touch. What foreign peers send waits for experiment time: without a limit a busy
// second would delay them for ever.
void Coordinator::slip_wall_clock(Time next) {
  const std::int64_t lag = wall_ns() - wall_ns_of(header_, next);
  if (lag <= kWorstLagNs) return;
  header_.wall_epoch_ns.fetch_add(lag);
  header_.wall_slips.fetch_add(1);
}

bool Coordinator::held_back_by_pace(Time next) {
  if (header_.dilation > 0) {
    slip_wall_clock(next);
    return wall_time(header_, wall_ns()) < next;
  }
  if (header_.pace <= 0) return false;
  const std::int64_t now = wall_ns();
  if (pace_epoch_ns_ < 0)
    pace_epoch_ns_ = now - static_cast<std::int64_t>(next.seconds() * header_.pace * 1e9);
  return static_cast<double>(now - pace_epoch_ns_) < next.seconds() * header_.pace * 1e9;
}

// Time `t` is what a program sees that joins from now on. Publish first, then look for holders again: one
// that begins to hold now either is seen here, or sees the new time and joins behind it. False: somebody
// holds.
bool Coordinator::publish(Time t) {
  if (t.ps() > header_.committed_ps.load()) header_.committed_ps.store(t.ps());
  return !anyone_owes();
}

// Hosts stand, and send nothing before `host_next` or the first frame that they still get.
Time Coordinator::switches_end(Time host_next, Time switch_next) const {
  const Time end = std::min(host_next, switch_next + lookahead_) + lookahead_;
  return switches_linked_ ? std::min(end, switch_next + lookahead_) : end;
}

// Nothing that is still to come reaches a switch before the clock is to stop.
bool Coordinator::waits_at_stop(Time stop_at, Time host_next, Time switch_next) {
  if (stop_at.is_never() || std::min(host_next + lookahead_, switch_next) < stop_at) return false;
  header_.stop_due.store(1);
  return true;
}

Step Coordinator::next_step(Time switch_next) {
  participants_.clear();
  adopt_new_processes();
  if (!update_gate() || header_.state.load() != RunState::kRunning) return {};
  const Time host_next = earliest_host_event();
  const Time first = std::min(switch_next, host_next);
  const Time stop_at = Time::from_ps(header_.stop_ps.load());
  held_until_ns_ = -1;
  if (first.is_never() || held_back_by_pace(first)) {
    if (header_.dilation > 0) follow_wall_clock(first);
    return {};
  }
  if (waits_at_stop(stop_at, host_next, switch_next)) return {};
  // Switches first, until the hosts get a window of at least one and a half lookaheads.
  if (switch_next < host_next + lookahead_ / 2) {
    const Time end = std::min(std::max(switches_end(host_next, switch_next), switches_now_), stop_at);
    if (!publish(end - lookahead_)) return {};
    switches_now_ = end;
    return {Turn::kSwitches, end};
  }
  const Time end = std::max(std::min(host_next + lookahead_, switch_next) + lookahead_, now_);
  if (!publish(end)) return {};
  grant(end);
  return {Turn::kHosts, end};
}

void Coordinator::grant(Time end) {
  const Time from = now_;
  now_ = end;
  header_.windows.fetch_add(1, std::memory_order_relaxed);
  ++seq_;
  for (std::uint32_t vf = 0; vf < input_.size(); ++vf) {
    const VfSlot& slot = segment_.vfs()[vf];
    if (slot.state.load(std::memory_order_relaxed) != VfState::kClaimed || slot.excluded.load() != 0 ||
        watches_[vf].ended)
      continue;
    if (std::min(input_[vf], Time::from_ps(slot.promise_ps.load())) < end) participants_.push_back(vf);
  }
  header_.pending.store(static_cast<std::uint32_t>(participants_.size()));
  share_ports();
  const std::size_t leads = participants_.size();  // behind them come those that follow
  for (std::size_t i = 0; i < leads; ++i) {
    const std::uint32_t vf = participants_[i];
    VfSlot& slot = segment_.vfs()[vf];
    input_[vf] = Time::never();
    const auto followers = followers_of(vf);
    participants_.insert(participants_.end(), followers.begin(), followers.end());
    slot.grant_from_ps.store(from.ps());
    slot.grant_ps.store(end.ps());
    slot.grant_seq.store(seq_);
    futex_wake_all(slot.grant_seq);
  }
}

// Says to the participants of each host who shares its port with whom in this window.
void Coordinator::share_ports() {
  for (std::size_t i = 0; i < participants_.size();) {
    const std::uint32_t host = segment_.vfs()[participants_[i]].host;
    std::uint32_t members = 0;
    for (; i < participants_.size() && segment_.vfs()[participants_[i]].host == host; ++i)
      members |= 1u << segment_.vfs()[participants_[i]].vf;
    HostPort& port = segment_.host_ports()[host];
    port.members.store(members);
    port.checked_in.store(0);
    port.turn.store(HostPort::kNobody);
  }
}

// A member of a shared window is gone or stopped: the others must not wait for its turn.
void Coordinator::abandon_turns(std::uint32_t vf) {
  const VfSlot& slot = segment_.vfs()[vf];
  HostPort& port = segment_.host_ports()[slot.host];
  if ((port.members.load() & (1u << slot.vf)) == 0 || slot.done_seq.load() == slot.grant_seq.load()) return;
  port.turn.store(HostPort::kAbandoned);
  futex_wake_all(port.turn);
}

void Coordinator::note_input(std::uint32_t vf, Time due) {
  Time& input = input_[lead_of(vf)];
  input = std::min(input, due);
}

void Coordinator::adopt_new_processes() {
  for (std::uint32_t vf = 0; vf < watches_.size(); ++vf) {
    Watch& w = watches_[vf];
    if (w.pid != 0) continue;
    const std::uint32_t pid = segment_.vfs()[vf].pid.load();
    if (pid == 0) continue;
    w.pid = pid;
    w.pidfd = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
    w.waiting_since_ns = -1;
    if (w.pidfd < 0) {  // gone already
      w.ended = true;
      ended_.push_back(vf);
    }
  }
}

void Coordinator::check_liveness(std::int64_t now_ns) {
  last_check_ns_ = now_ns;
  adopt_new_processes();
  for (std::uint32_t vf = 0; vf < watches_.size(); ++vf) {
    Watch& w = watches_[vf];
    if (w.pid == 0 || w.ended) continue;
    if (has_ended(w.pidfd)) {
      w.ended = true;
      VfSlot& slot = segment_.vfs()[vf];
      if (slot.state.load() != VfState::kLeft) slot.state.store(VfState::kDead);
      abandon_turns(vf);
      ended_.push_back(vf);
    } else if (!owes(vf)) {
      w.waiting_since_ns = w.stopped_since_ns = -1;
    } else if (w.waiting_since_ns < 0) {
      w.waiting_since_ns = w.next_request_ns = now_ns;
    } else {
      press(vf, now_ns);
    }
  }
}

// It is asked to go on without its threads that are blocked, later without those that compute. One that does
// not answer, because the machine does not run it (a frozen control group), is left behind. While another
// process computes, time stands anyhow, and the answer that a blocked thread waits for may come from there: a
// thread that had gone would be passed by time before the machine lets it go on.
void Coordinator::press(std::uint32_t vf, std::int64_t now_ns) {
  Watch& w = watches_[vf];
  VfSlot& slot = segment_.vfs()[vf];
  const std::int64_t waited = now_ns - w.waiting_since_ns;
  if (waited < header_.grace_wall_ns || now_ns < w.next_request_ns) return;
  w.next_request_ns = now_ns + header_.grace_wall_ns;
  const char state = state_of_process(w.pid);
  if (state == 'T' || state == 't') return wait_for_stopped(vf, state == 't', now_ns);
  w.stopped_since_ns = -1;
  if (gate_open_ && waited >= 2 * header_.stuck_wall_ns) return leave_behind(vf);
  const bool stuck = gate_open_ && waited >= header_.stuck_wall_ns;
  if (!stuck && header_.dilation <= 0 && another_runs(vf) && !has_running_thread(w.pid)) return;
  slot.detach_request.store(stuck ? 2 : 1);
  futex_wake_all(slot.detach_request);
}

bool Coordinator::another_runs(std::uint32_t vf) const {
  for (std::uint32_t other = 0; other < watches_.size(); ++other)
    if (other != vf && owes(other) && watches_[other].pid != watches_[vf].pid &&
        has_running_thread(watches_[other].pid))
      return true;
  return false;
}

// A stopped program stops the experiment: its peers see nothing of it, and the result is the same. Not for
// ever, unless a debugger holds it, and not under the wall clock, where foreign peers go on. When it goes on
// it has the whole grace again, and no request from before.
void Coordinator::wait_for_stopped(std::uint32_t vf, bool by_debugger, std::int64_t now_ns) {
  Watch& w = watches_[vf];
  if (w.stopped_since_ns < 0) w.stopped_since_ns = w.waiting_since_ns;
  const bool for_ever = !gate_open_ || (by_debugger && header_.dilation <= 0);
  if (!for_ever && now_ns - w.stopped_since_ns >= header_.stopped_wall_ns) return leave_behind(vf);
  w.waiting_since_ns = now_ns;
  segment_.vfs()[vf].detach_request.store(0);
}

// Time goes on without the process.
void Coordinator::leave_behind(std::uint32_t vf) {
  segment_.vfs()[vf].excluded.store(1);
  for (const std::uint32_t follower : followers_of(vf)) segment_.vfs()[follower].excluded.store(1);
  abandon_turns(vf);
  note_detach(header_, now_);
}

std::vector<std::uint32_t> Coordinator::take_ended() { return std::exchange(ended_, {}); }

void Coordinator::release(std::uint32_t vf) {
  VfSlot& slot = segment_.vfs()[vf];
  Watch& w = watches_[vf];
  RL_CHECK(w.ended);
  if (w.pidfd >= 0) close(w.pidfd);
  w = Watch{};
  input_[vf] = Time::never();
  for (RingCounters* ring : {&slot.tx, &slot.rx, &slot.returns, &slot.refill}) {
    ring->head.store(0);
    ring->tail.store(0);
  }
  slot.excluded.store(0);
  slot.cm.store(0);
  slot.groups.store(0);
  slot.gateway.store(0);
  slot.hold.store(0);
  slot.detach_request.store(0);
  slot.done_seq.store(slot.grant_seq.load());
  slot.promise_ps.store(Time::never().ps());
  slot.state.store(VfState::kFree);
  slot.pid.store(0);  // last: from here on another process may claim it
}

void Coordinator::fail(const std::string& why) {
  std::snprintf(header_.error, sizeof header_.error, "%s", why.c_str());
  header_.state.store(RunState::kFailed);
  for (VfSlot& slot : segment_.vfs()) futex_wake_all(slot.grant_seq);
}

void Coordinator::stop() {
  if (header_.state.load() != RunState::kFailed) header_.state.store(RunState::kStopped);
  for (VfSlot& slot : segment_.vfs()) futex_wake_all(slot.grant_seq);
}

}  // namespace rocelab::lockstep
