// A mutex of which the thread that takes it knows so: a signal's handler that is going to end the program
// must not wait for a lock that its own thread holds.
#pragma once

#include <atomic>
#include <mutex>

namespace rocelab {

// Not 0: the calling thread holds a OwnerTrackingMutex, or is taking or freeing one. There is one of a
// process. Counted, since a handler may look whether it is free (try_lock) while its thread takes it.
extern constinit thread_local int t_locks;

class OwnerTrackingMutex {
 public:
  void lock() {
    ++t_locks;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    mutex_.lock();
  }
  bool try_lock() {
    ++t_locks;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (mutex_.try_lock()) return true;
    --t_locks;
    return false;
  }
  void unlock() {
    mutex_.unlock();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    --t_locks;
  }

 private:
  std::mutex mutex_;
};

}  // namespace rocelab
