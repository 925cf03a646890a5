// LockstepProcess: what programs' calls do. Threads, windows and attaching: lockstep_process.h names their
// files.
#include "irn_provider/live/lockstep_process.h"

#include "emu/world/host_identity.h"
#include "lockstep/futex.h"

namespace rocelab {

LockstepProcess::LockstepProcess(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LockstepProcess::~LockstepProcess() = default;

const HostEntry& LockstepProcess::host() const { return impl_->host; }
lockstep::HostShare LockstepProcess::share() const { return impl_->segment.share_of(impl_->slot.host); }
std::uint32_t LockstepProcess::vf() const { return impl_->slot.vf; }
std::uint64_t LockstepProcess::seed() const { return impl_->segment.header().seed; }
Nic& LockstepProcess::nic() { return impl_->nic.nic(); }

Time LockstepProcess::now() {
  if (t_state == nullptr) return Time::from_ps(impl_->segment.header().committed_ps.load());
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  impl_->me();
  return impl_->nic.now();
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
  return impl_->nic.now();
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

int LockstepProcess::listen_to_groups(std::size_t memberships) {
  impl_->slot.groups.store(static_cast<std::uint32_t>(memberships));
  return 0;
}

std::optional<PathEnd> LockstepProcess::find_peer(const std::array<std::uint8_t, 16>& gid) {
  const HostEntry* peer = find_host(impl_->segment.hosts(), gid);
  if (peer == nullptr) return std::nullopt;
  return PathEnd{peer->mac, NodeId{peer->node}};
}

// Before time has begun nothing was sent, and time stands.
void LockstepProcess::let_leave(Duration longest) {
  if (impl_->segment.header().state.load() == lockstep::RunState::kSetup) return;
  const Time deadline = now() + longest;
  while (sleep_until(deadline) == Woken::kSignal) {
  }
}

void LockstepProcess::poll(const std::function<bool(Nic&, Time)>& look) {
  if (!call(look)) return;
  park_poll();
  call(look);
}

void LockstepProcess::park_poll() { park_poll(Duration::from_ps(impl_->segment.header().poll_interval_ps)); }

void LockstepProcess::park_poll(Duration longest) {
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  ThreadState& t = impl_->me();
  t.polls = true;
  t.ready = nullptr;
  t.deadline = impl_->nic.now() + longest;
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
    if (deadline <= impl_->nic.now()) return Woken::kDeadline;
    t.ready = &ready;
    t.deadline = deadline;
    impl_->park(lock, t);
    if (t.signalled) return ready() ? Woken::kReady : Woken::kSignal;
  }
  return Woken::kReady;
}

void LockstepProcess::look_again() {
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

void LockstepProcess::set_completion_hook(std::function<void(Nic&)> hook) {
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  impl_->completion_hook = std::move(hook);
}

}  // namespace rocelab
