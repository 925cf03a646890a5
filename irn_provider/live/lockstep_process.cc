// LockstepProcess: what programs' calls do. Threads, windows and attaching: lockstep_process.h names their
// files.
#include "irn_provider/live/lockstep_process.h"

#include "emu/world/host_identity.h"
#include "lockstep/futex.h"

namespace rocelab {

LockstepProcess::LockstepProcess(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LockstepProcess::~LockstepProcess() = default;

std::size_t LockstepProcess::nics() const { return impl_->nics.size(); }
const HostEntry& LockstepProcess::host(std::size_t nic) const { return (&impl_->host)[nic]; }
lockstep::HostShare LockstepProcess::share(std::size_t nic) const {
  return impl_->segment.share_of(impl_->slot.host + static_cast<std::uint32_t>(nic));
}
std::uint32_t LockstepProcess::vf() const { return impl_->slot.vf; }
std::uint64_t LockstepProcess::seed() const { return impl_->segment.header().seed; }
Nic& LockstepProcess::nic(std::size_t number) { return impl_->nics[number].nic(); }

Time LockstepProcess::now() {
  if (t_state == nullptr) return Time::from_ps(impl_->segment.header().committed_ps.load());
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  impl_->me();
  return impl_->nics.now();
}

bool LockstepProcess::time_has_begun() const {
  return impl_->segment.header().state.load() != lockstep::RunState::kSetup;
}

std::int64_t LockstepProcess::grace_wall_ns() const { return impl_->segment.header().grace_wall_ns; }

void LockstepProcess::count_detach() {
  lockstep::Header& header = impl_->segment.header();
  if (header.state.load() == lockstep::RunState::kRunning) note_detach(header, now());
}

Time LockstepProcess::enter() {
  Inside::begin();
  impl_->mutex.lock();
  impl_->me();
  return impl_->nics.now();
}

void LockstepProcess::leave() {
  impl_->note_completions();
  impl_->mutex.unlock();
  Inside::end();
}

void LockstepProcess::end() { impl_->leave(); }

void LockstepProcess::abandon() {
  if (t_state == nullptr) return;
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  impl_->abandon_wait(*t_state);
}

int LockstepProcess::listen_to_groups(std::size_t nic, std::size_t memberships) {
  share(nic).vfs[vf()].groups.store(static_cast<std::uint32_t>(memberships));
  return 0;
}

std::optional<PathEnd> LockstepProcess::find_peer(std::size_t nic, const std::array<std::uint8_t, 16>& gid) {
  const HostEntry* peer = find_host(impl_->segment.hosts(), gid);
  if (peer == nullptr || peer->plane != host(nic).plane) return std::nullopt;
  return PathEnd{peer->mac, NodeId{peer->node}};
}

// The peer's own number, as the host's routes say, too (emu/rocelab/live/network.py); else the first from
// which there is a way.
std::size_t LockstepProcess::nic_towards(const std::array<std::uint8_t, 16>& gid) const {
  const HostEntry* peer = find_host(impl_->segment.hosts(), gid);
  if (peer == nullptr) return 0;
  const auto has_way = [&](std::size_t nic) { return host(nic).plane == peer->plane; };
  if (peer->nic_number < nics() && has_way(peer->nic_number)) return peer->nic_number;
  for (std::size_t nic = 0; nic < nics(); ++nic)
    if (has_way(nic)) return nic;
  return 0;
}

// Before time has begun nothing was sent, and time stands.
void LockstepProcess::drain_output(Duration longest) {
  if (impl_->segment.header().state.load() == lockstep::RunState::kSetup) return;
  const Time deadline = now() + longest;
  while (sleep_until(deadline) == Woken::kSignal) {
  }
}

void LockstepProcess::poll(std::size_t nic, const std::function<bool(Nic&, Time)>& look) {
  if (!call(look, nic)) return;
  park_poll();
  call(look, nic);
}

void LockstepProcess::park_poll() { park_poll(Duration::from_ps(impl_->segment.header().poll_interval_ps)); }

void LockstepProcess::park_poll(Duration longest) {
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  ThreadState& t = impl_->me();
  t.polls = true;
  t.ready = nullptr;
  t.deadline = impl_->nics.now() + longest;
  impl_->park(lock, t);
  t.polls = false;
}

Woken LockstepProcess::sleep_until(Time deadline) {
  static const std::function<bool()> never = [] { return false; };
  return park_until(never, deadline);
}

Woken LockstepProcess::park_until(const std::function<bool()>& ready, Time deadline) {
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  ThreadState& t = impl_->me();
  while (!ready()) {
    if (deadline <= impl_->nics.now()) return Woken::kDeadline;
    t.ready = &ready;
    t.deadline = deadline;
    impl_->park(lock, t);
    if (t.signalled) return ready() ? Woken::kReady : Woken::kSignal;
  }
  return Woken::kReady;
}

void LockstepProcess::recheck_waiters() {
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  if (!impl_->wake_ready() || impl_->running > 0) return;
  lockstep::futex_wake_all(impl_->slot.grant_seq);  // whoever leads waits for a window
}

void LockstepProcess::foreign_enter(bool for_anyone) {
  if (t_state == nullptr) return;
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  ++t_state->calls;
  if (t_state->mode != ThreadMode::kRunning) return;
  t_state->mode = ThreadMode::kForeign;
  t_state->for_anyone = for_anyone;
  impl_->stop_samples(*t_state);
  impl_->wake_memory_pollers();
}

void LockstepProcess::foreign_leave() {
  if (t_state == nullptr) return;
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  ++t_state->calls;
  if (t_state->mode == ThreadMode::kForeign) {
    t_state->mode = ThreadMode::kRunning;
    impl_->start_samples(*t_state);
  } else {
    impl_->join(*t_state);
  }
}

void LockstepProcess::set_resident(Resident resident) {
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  impl_->resident = std::move(resident);
}

void LockstepProcess::set_completion_hook(CompletionHook hook) {
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  impl_->completion_hook = std::move(hook);
}

}  // namespace rocelab
