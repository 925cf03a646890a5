// A mutex of which the thread that takes it knows so: a signal's handler that is going to end the program
// must not wait for a lock that its own thread holds.
#pragma once

#include <atomic>

namespace rocelab {

// Not 0: the calling thread holds a KnownMutex, or is taking or freeing one. There is one of a process.
// Counted, since a handler may look whether it is free (try_lock) while its thread takes it.
extern constinit thread_local int t_locks;

// Not the C library's lock, which is interposed (verbs/libc/locks.cc): every call of the program takes this
// one.
class KnownMutex {
 public:
  void lock() {
    ++t_locks;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (take()) return;
    while (state_.exchange(kWaitedFor, std::memory_order_acquire) != kFree)
      state_.wait(kWaitedFor, std::memory_order_relaxed);
  }
  bool try_lock() {
    ++t_locks;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (take()) return true;
    --t_locks;
    return false;
  }
  void unlock() {
    if (state_.exchange(kFree, std::memory_order_release) == kWaitedFor) state_.notify_one();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    --t_locks;
  }

 private:
  static constexpr int kFree = 0, kTaken = 1, kWaitedFor = 2;
  bool take() {
    int expected = kFree;
    return state_.compare_exchange_strong(expected, kTaken, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  std::atomic<int> state_{kFree};
};

}  // namespace rocelab
