// LiveProcess: joining a run and leaving it: the virtual function that this process owns.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "irn_provider/live/live_process_impl.h"
#include "lockstep/futex.h"
#include "lockstep/vf_end.h"

namespace rocelab {

using lockstep::futex_wake_all;
using lockstep::Segment;
using lockstep::VfState;

namespace {

LiveProcess* g_process = nullptr;  // the one VF of this process; set under g_attach_mutex
std::mutex g_attach_mutex;
bool g_attach_failed = false;

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
    lockstep::finish_window(segment, vf, seq);
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
    const std::uint32_t vf = lockstep::claim_vf(segment, host_index);
    if (vf == lockstep::kNoSlot && segment.vfs()[host_index * segment.header().vfs_per_host].gateway != 0)
      throw std::runtime_error(std::string(host_name) +
                               " is a foreign device for now (rocelab plug): run programs on that device");
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
