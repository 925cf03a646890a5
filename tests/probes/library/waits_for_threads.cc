// A library that waits for threads while it is loaded and while it is unloaded: the loader's lock is held
// meanwhile. Plugins that start workers do the former; DAPL's providers the latter, for their event threads.
#include <time.h>

#include <atomic>
#include <thread>

extern "C" std::atomic<int>* g_stage;  // of the program: 1: unloading, 2: its thread is done
extern "C" std::atomic<int> g_started;
std::atomic<int>* g_stage = nullptr;
std::atomic<int> g_started = 0;  // of the library's thread: it has run

namespace {

void sleep_a_moment() {
  const timespec moment{0, 10'000};
  nanosleep(&moment, nullptr);
}

struct WaitsForThreads {
  WaitsForThreads() {
    std::thread([] {
      sleep_a_moment();
      g_started = 1;
    }).join();
  }
  ~WaitsForThreads() {
    if (g_stage == nullptr) return;
    *g_stage = 1;
    while (*g_stage != 2) sleep_a_moment();
  }
} g_waits_for_threads;

}  // namespace
