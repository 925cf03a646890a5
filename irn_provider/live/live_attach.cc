// LockstepProcess: joining a run and leaving it: the virtual function that this process owns.
#include <signal.h>

#include <stdexcept>

#include "irn_provider/live/lockstep_process.h"
#include "lockstep/futex.h"
#include "lockstep/vf_end.h"

namespace rocelab {

using lockstep::futex_wake_all;
using lockstep::Segment;
using lockstep::VfState;

void LockstepProcess::Impl::leave() {
  leaving = true;
  futex_wake_all(slot.detach_request);
  Inside inside;
  Lock lock(mutex);
  for (const auto& t : threads) unwatch(*t);
  nics.publish_counters();
  nics.finish();
  for (const std::uint32_t each : segment.slots_of(vf)) segment.vfs()[each].state.store(VfState::kLeft);
  slot.promise_ps.store(Time::never().ps());
  for (std::size_t i = 0; i < nics.size(); ++i) port.note_ready(i, 0);
  if (granted) {
    port.leave(in_turn, sent);
    lockstep::finish_window(segment, vf, seq);
  }
  if (slot.hold.exchange(0) != 0) announce(segment.header());
}

namespace {

// That the host's NICs are to replay.
std::optional<Schedule> schedule_of(const Segment& segment, const HostEntry& host) {
  if (!host.nic.slack.replays()) return std::nullopt;
  return Schedule::open({segment.header().schedule, segment.header().schedule_key});
}

}  // namespace

std::unique_ptr<LockstepProcess> LockstepProcess::join(const char* path, const char* host_name) {
  Segment segment = Segment::open(path);
  const HostEntry* host = find_machine(segment.hosts(), host_name);
  if (host == nullptr) throw std::runtime_error(std::string("the run has no host '") + host_name + "'");
  std::optional<Schedule> schedule = schedule_of(segment, *host);
  const auto host_index = static_cast<std::uint32_t>(host - segment.hosts().data());
  const std::uint32_t vf = lockstep::claim_vf(segment, host_index);
  if (vf == lockstep::kNoSlot && lockstep::has_gateway(segment, host_index))
    throw std::runtime_error(std::string(host_name) +
                             " is a foreign device for now (rocelab plug): run programs on that device");
  if (vf == lockstep::kNoSlot)
    throw std::runtime_error(std::string(host_name) + ": all " +
                             std::to_string(segment.header().vfs_per_host) +
                             " virtual functions are in use by other programs; end one, or raise nic.vfs");
  std::unique_ptr<LockstepProcess> process(
      new LockstepProcess(std::make_unique<Impl>(std::move(segment), std::move(schedule), host_index, vf)));
  Impl& impl = *process->impl_;
  remember_runtime_text();
  {
    Impl::Lock lock(impl.mutex);
    impl.me();
  }
  // A signal is for the program's threads: its handler would run in the midst of code of ours.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  impl.helper_thread = std::thread([&impl] { impl.helper_loop(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  impl.helper_thread.detach();
  return process;
}

}  // namespace rocelab
