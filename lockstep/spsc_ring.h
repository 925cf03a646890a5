// SpscRing: a bounded queue between exactly one producer and one consumer, in memory that two processes
// share. The ring is a view: counters and entries lie in the segment (lockstep/segment.h). Each side keeps a
// private copy of the other side's counter and looks at the shared one only when the copy says full or empty,
// so that in the steady state a push or pop touches no line of the other side.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace rocelab::lockstep {

// Shared part; both counters only grow. 128 bytes: x86 prefetches cache lines in pairs.
struct alignas(128) RingCounters {
  std::atomic<std::uint64_t> tail{0};               // entries ever pushed; written by the producer
  alignas(128) std::atomic<std::uint64_t> head{0};  // entries ever popped; written by the consumer
};

template <class T>
class SpscRing {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SpscRing() = default;
  // `capacity` must be a power of two; `entries` holds that many.
  SpscRing(RingCounters* counters, T* entries, std::uint32_t capacity)
      : counters_(counters), entries_(entries), mask_(capacity - 1), capacity_(capacity) {
    head_ = counters->head.load(std::memory_order_acquire);
    tail_ = counters->tail.load(std::memory_order_acquire);
  }

  // Producer. False: full; nothing was written.
  bool push(const T& entry) {
    if (tail_ - head_ == capacity_) {
      head_ = counters_->head.load(std::memory_order_acquire);
      if (tail_ - head_ == capacity_) return false;
    }
    entries_[tail_ & mask_] = entry;
    counters_->tail.store(++tail_, std::memory_order_release);
    return true;
  }

  // Consumer. Null: empty. The entry stays valid until pop().
  const T* front() {
    if (head_ == tail_) {
      tail_ = counters_->tail.load(std::memory_order_acquire);
      if (head_ == tail_) return nullptr;
    }
    return &entries_[head_ & mask_];
  }
  void pop() { counters_->head.store(++head_, std::memory_order_release); }

  std::uint32_t capacity() const { return static_cast<std::uint32_t>(capacity_); }

 private:
  RingCounters* counters_ = nullptr;
  T* entries_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint64_t head_ = 0, tail_ = 0;  // own counter, and a stale copy of the other side's
};

}  // namespace rocelab::lockstep
