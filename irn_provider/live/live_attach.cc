// LiveProcess: joining a run and leaving it: the virtual function that this process owns.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "irn_provider/live/live_process_impl.h"
#include "lockstep/futex.h"

namespace rocelab {

using lockstep::futex_wake_all;
using lockstep::Segment;
using lockstep::VfSlot;
using lockstep::VfState;

namespace {

LiveProcess* g_process = nullptr;  // the one VF of this process; set under g_attach_mutex
std::mutex g_attach_mutex;
bool g_attach_failed = false;

// Index of a free VF of the host, now owned by this process; kNoSlot: none.
std::uint32_t claim_vf(const Segment& segment, std::uint32_t host) {
  const std::uint32_t vfs = segment.header().vfs_per_host;
  for (std::uint32_t i = host * vfs; i < (host + 1) * vfs; ++i) {
    VfSlot& slot = segment.vfs()[i];
    std::uint32_t free_pid = 0;
    if (!slot.pid.compare_exchange_strong(free_pid, static_cast<std::uint32_t>(getpid()))) continue;
    slot.promise_ps.store(Time::never().ps());
    slot.hold.store(1);
    slot.state.store(VfState::kClaimed);
    announce(segment.header());
    return i;
  }
  return lockstep::kNoSlot;
}

}  // namespace

void LiveProcess::Impl::leave() {
  leaving = true;
  futex_wake_all(slot.detach_request);
  Lock lock(mutex);
  for (const auto& t : threads) unwatch(*t);
  nic.publish_counters();
  nic.finish();
  slot.state.store(VfState::kLeft);
  slot.promise_ps.store(Time::never().ps());
  if (granted) {
    port.leave(in_turn, sent);
    slot.done_seq.store(seq);
    if (segment.header().pending.fetch_sub(1) == 1) futex_wake_all(segment.header().pending);
  }
  if (slot.hold.exchange(0) != 0) announce(segment.header());
}

LiveProcess* LiveProcess::attached() {
  return g_process != nullptr && g_process->impl_->owner == static_cast<std::uint32_t>(getpid()) ? g_process
                                                                                                 : nullptr;
}

LiveProcess* LiveProcess::attach() {
  std::lock_guard attach_lock(g_attach_mutex);
  if (LiveProcess* p = attached()) return p;
  if (g_attach_failed) return nullptr;
  g_attach_failed = true;
  const char* path = std::getenv("ROCELAB_SEGMENT");
  const char* host_name = std::getenv("ROCELAB_HOST");
  if (path == nullptr || host_name == nullptr) return nullptr;
  try {
    Segment segment = Segment::open(path);
    const lockstep::HostEntry* host = segment.find_host(host_name);
    if (host == nullptr) throw std::runtime_error(std::string("the run has no host '") + host_name + "'");
    const auto host_index = static_cast<std::uint32_t>(host - segment.hosts().data());
    const std::uint32_t vf = claim_vf(segment, host_index);
    if (vf == lockstep::kNoSlot)
      throw std::runtime_error(
          std::string(host_name) + ": all " + std::to_string(segment.header().vfs_per_host) +
          " virtual functions are in use by other programs; end one, or raise engine.vfs");
    g_process = new LiveProcess(std::make_unique<Impl>(std::move(segment), host_index, vf));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rocelab: %s\n", e.what());
    return nullptr;
  }
  g_attach_failed = false;
  Impl& impl = *g_process->impl_;
  {
    Impl::Lock lock(impl.mutex);
    impl.me();
  }
  impl.helper_thread = std::thread([&impl] { impl.helper_loop(); });
  impl.helper_thread.detach();
  std::atexit([] {
    if (LiveProcess* p = attached()) p->impl_->leave();
  });
  return g_process;
}

}  // namespace rocelab
