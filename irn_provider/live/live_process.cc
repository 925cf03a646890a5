// LiveProcess: the one of this process.
#include "irn_provider/live/live_process.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "irn_provider/live/owner_tracking_mutex.h"

namespace rocelab {

constinit thread_local int t_inside = 0, t_cancel_state = PTHREAD_CANCEL_ENABLE;
constinit thread_local int t_locks = 0;

namespace {

LiveProcess* g_process = nullptr;  // the one VF of this process; set under g_attach_mutex
pid_t g_owner = 0;                 // whose it is: a forked child has none
bool g_keeps_time = false;
std::mutex g_attach_mutex;
bool g_attach_failed = false;

}  // namespace

bool LiveProcess::inside() { return t_inside > 0; }

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

LiveProcess* LiveProcess::attach(const std::function<std::unique_ptr<LiveProcess>()>& join) {
  std::lock_guard attach_lock(g_attach_mutex);
  if (LiveProcess* p = attached()) return p;
  if (g_attach_failed) return nullptr;
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
