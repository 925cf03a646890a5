// LiveProcess: the one of this process, and which kind it is.
#include "irn_provider/live/live_process.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "irn_provider/live/known_mutex.h"
#include "irn_provider/live/lockstep_process.h"
#include "irn_provider/realtime/direct_process.h"
#include "irn_provider/realtime/interface_host.h"
#include "irn_provider/realtime/interface_share.h"

namespace rocelab {

constinit thread_local int t_inside = 0, t_cancel_state = PTHREAD_CANCEL_ENABLE;
constinit thread_local int t_locks = 0;

namespace {

LiveProcess* g_process = nullptr;  // the one VF of this process; set under g_attach_mutex
pid_t g_owner = 0;                 // whose it is: a forked child has none
bool g_keeps_time = false;
std::mutex g_attach_mutex;
bool g_attach_failed = false;

// Null: not set, or empty. Not by getenv: bash has one of its own, of its variables.
const char* setting(std::string_view name) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    if (const std::string_view text = *entry; text.starts_with(name) && text.substr(name.size(), 1) == "=")
      return text.size() > name.size() + 1 ? *entry + name.size() + 1 : nullptr;
  return nullptr;
}

std::unique_ptr<LiveProcess> join() {
  if (setting("ROCELAB_SEGMENT") == nullptr) return DirectProcess::join(direct::settings_from_environment());
  const char* host = setting("ROCELAB_HOST");
  if (host == nullptr) throw std::runtime_error("ROCELAB_SEGMENT is set but ROCELAB_HOST is not");
  return LockstepProcess::join(setting("ROCELAB_SEGMENT"), host);
}

}  // namespace

bool LiveProcess::inside() { return t_inside > 0; }

bool LiveProcess::configured() {
  return setting("ROCELAB_SEGMENT") != nullptr || setting("ROCELAB_INTERFACE") != nullptr;
}

lockstep::HostEntry LiveProcess::configured_host() {
  if (setting("ROCELAB_SEGMENT") == nullptr) return direct::host_of(direct::settings_from_environment());
  const char* name = setting("ROCELAB_HOST");
  if (name == nullptr)
    throw std::runtime_error(
        "ROCELAB_SEGMENT is set but ROCELAB_HOST is not; start the program with `rocelab exec`");
  const lockstep::Segment segment = lockstep::Segment::open(setting("ROCELAB_SEGMENT"));
  const lockstep::HostEntry* host = segment.find_host(name);
  if (host == nullptr) throw std::runtime_error(std::string("the run has no host '") + name + "'");
  return *host;
}

LiveProcess::DeviceView LiveProcess::look() {
  if (setting("ROCELAB_SEGMENT") == nullptr) {
    const direct::Settings settings = direct::settings_from_environment();
    const lockstep::HostEntry host = direct::host_of(settings);
    const std::string key = direct::key_of(settings);
    return {host, direct::link_up(settings), direct::InterfaceShare::counters(key),
            "/dev/shm/rocelab-sysfs-" + direct::InterfaceShare::place(key) + "-" + std::to_string(getuid())};
  }
  DeviceView view;
  view.host = configured_host();
  view.folder =
      std::filesystem::path(setting("ROCELAB_SEGMENT")).parent_path().string() + "/sysfs-" + view.host.name;
  const lockstep::Segment segment = lockstep::Segment::open(setting("ROCELAB_SEGMENT"));
  const Time now = Time::from_ps(segment.header().committed_ps.load());
  for (const LinkChange& change : lockstep::link_changes_at(segment.link_changes(), view.host.port))
    if (change.at <= now) view.link_up = change.up;
  for (const lockstep::VfSlot& slot : segment.vfs())
    if (segment.hosts()[slot.host].node == view.host.node) view.counters = view.counters + slot.counters;
  return view;
}

LiveProcess* LiveProcess::attached() {
  return g_process != nullptr && g_owner == getpid() ? g_process : nullptr;
}

bool LiveProcess::abandon_interrupted() {
  LiveProcess* process = attached();
  if (process == nullptr) return true;
  if (t_locks > 0) return false;
  if (std::exchange(t_inside, 0) > 0) pthread_setcancelstate(t_cancel_state, nullptr);
  process->abandon();
  return true;
}

LiveProcess* LiveProcess::timekeeper() { return g_keeps_time ? attached() : nullptr; }

LiveProcess* LiveProcess::attach() {
  std::lock_guard attach_lock(g_attach_mutex);
  if (LiveProcess* p = attached()) return p;
  if (g_attach_failed || !configured()) return nullptr;
  try {
    LiveProcess* process = join().release();
    if (g_process == nullptr) {  // else the one of the program that forked this: it registered
      std::atexit([] {
        if (LiveProcess* p = attached()) p->end();
      });
      const int error = pthread_atfork(nullptr, nullptr, [] {
        if (g_process != nullptr) g_process->inherited_ = true;
      });
      RL_CHECK(error == 0);
    }
    g_owner = getpid();
    g_keeps_time = process->keeps_time();
    g_process = process;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rocelab: %s\n", e.what());
    g_attach_failed = true;
    return nullptr;
  }
  return g_process;
}

}  // namespace rocelab
