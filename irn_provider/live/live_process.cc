// LiveProcess: what programs' calls do. Threads, windows and attaching: live_process_impl.h names their
// files.
#include "irn_provider/live/live_process.h"

#include "irn_provider/live/live_process_impl.h"
#include "lockstep/futex.h"

namespace rocelab {

LiveProcess::LiveProcess(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

const lockstep::HostEntry& LiveProcess::host() const { return impl_->host; }
const lockstep::Segment& LiveProcess::segment() const { return impl_->segment; }
std::uint32_t LiveProcess::vf() const { return impl_->vf; }
Nic& LiveProcess::nic() { return impl_->nic.nic(); }

Time LiveProcess::now() {
  if (t_state == nullptr) return Time::from_ps(impl_->segment.header().committed_ps.load());
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  impl_->me();
  return impl_->nic.now();
}

LiveProcess::Guard::Guard(LiveProcess& p) : process(p) {
  ++t_inside;
  p.impl_->mutex.lock();
  p.impl_->me();
  now = p.impl_->nic.now();
}

LiveProcess::Guard::~Guard() {
  process.impl_->note_completions();
  process.impl_->mutex.unlock();
  --t_inside;
}

void LiveProcess::with_nic(const std::function<void(Nic&, Time)>& f) {
  Guard guard(*this);
  f(nic(), guard.now);
}

void LiveProcess::park_poll() { park_poll(Duration::from_ps(impl_->segment.header().poll_interval_ps)); }

void LiveProcess::park_poll(Duration longest) {
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  ThreadState& t = impl_->me();
  t.polls = true;
  t.ready = nullptr;
  t.deadline = impl_->nic.now() + longest;
  impl_->park(lock, t);
  t.polls = false;
}

void LiveProcess::sleep_until(Time deadline) {
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  ThreadState& t = impl_->me();
  if (deadline <= impl_->nic.now()) return;
  t.ready = nullptr;
  t.deadline = deadline;
  impl_->park(lock, t);
}

bool LiveProcess::park_until(const std::function<bool()>& ready, Time deadline) {
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  ThreadState& t = impl_->me();
  while (!ready()) {
    if (deadline <= impl_->nic.now()) return false;
    t.ready = &ready;
    t.deadline = deadline;
    impl_->park(lock, t);
  }
  return true;
}

void LiveProcess::look_again() {
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  if (!impl_->wake_ready() || impl_->running > 0) return;
  lockstep::futex_wake_all(impl_->slot.grant_seq);  // whoever leads waits for a window
}

void LiveProcess::foreign_enter() {
  if (t_state == nullptr) return;
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  ++t_state->calls;
  if (t_state->mode != ThreadMode::kRunning) return;
  t_state->mode = ThreadMode::kForeign;
  impl_->stop_samples(*t_state);
}

void LiveProcess::foreign_leave() {
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

void LiveProcess::set_resident(Resident resident) {
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  impl_->resident = std::move(resident);
}

void LiveProcess::set_completion_hook(std::function<void(Nic&)> hook) {
  Inside inside;
  Impl::Lock lock(impl_->mutex);
  impl_->completion_hook = std::move(hook);
}

}  // namespace rocelab
