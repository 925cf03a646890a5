// A library that, while it is unloaded, waits for a thread of the program: the loader's lock is held
// meanwhile. DAPL's providers do so for their event threads.
#include <time.h>

#include <atomic>

extern "C" std::atomic<int>* g_stage;  // of the program: 1: unloading, 2: the thread is done
std::atomic<int>* g_stage = nullptr;

namespace {

struct WaitsAtItsEnd {
  ~WaitsAtItsEnd() {
    if (g_stage == nullptr) return;
    *g_stage = 1;
    while (*g_stage != 2) {
      const timespec moment{0, 10'000};
      nanosleep(&moment, nullptr);
    }
  }
} g_waits_at_its_end;

}  // namespace
