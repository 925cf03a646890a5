// Ring: a FIFO over one block of memory that doubles when it is full and never shrinks, so that a queue in
// steady state allocates nothing. Elements are default-constructible and are assigned to, not constructed in
// place; indices count from the head.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/check.h"

namespace rocelab {

// `first_block`: elements of which the first block has room; 0: by their size.
template <class T, std::size_t first_block = 0>
class Ring {
 public:
  bool empty() const { return head_ == tail_; }
  std::size_t size() const { return tail_ - head_; }
  T& operator[](std::size_t i) { return slot(head_ + i); }
  const T& operator[](std::size_t i) const { return slot(head_ + i); }
  T& front() { return slot(head_); }
  const T& front() const { return slot(head_); }
  T& back() { return slot(tail_ - 1); }
  const T& back() const { return slot(tail_ - 1); }

  // The new last element, with whatever value its slot held before: the caller sets every field.
  T& push_slot() {
    if (size() == capacity_) [[unlikely]]
      grow();
    return slot(tail_++);
  }
  void push_back(T value) { push_slot() = std::move(value); }
  void pop_front() {
    RL_CHECK(!empty());
    ++head_;
  }
  T take_front() {
    T value = std::move(front());
    pop_front();
    return value;
  }
  void clear() {
    while (!empty()) take_front();  // elements that own something let go of it
  }

 private:
  // Small queues of large elements are many (two per queue pair): they begin with little memory.
  static constexpr std::size_t kFirstBlock =
      first_block > 0
          ? first_block
          : std::clamp<std::size_t>(std::bit_floor(512 / std::min<std::size_t>(sizeof(T), 512)), 1, 8);
  static_assert(std::has_single_bit(kFirstBlock));

  T& slot(std::size_t position) { return slots_.data()[position & (capacity_ - 1)]; }
  const T& slot(std::size_t position) const { return slots_.data()[position & (capacity_ - 1)]; }
  [[gnu::noinline]] void grow() {
    std::vector<T> wider(slots_.empty() ? kFirstBlock : slots_.size() * 2);
    const std::size_t count = size();
    for (std::size_t i = 0; i < count; ++i) wider[i] = std::move((*this)[i]);
    slots_ = std::move(wider);
    capacity_ = slots_.size();
    head_ = 0;
    tail_ = count;
  }
  std::vector<T> slots_;             // a power of two
  std::size_t capacity_ = 0;         // slots_.size()
  std::size_t head_ = 0, tail_ = 0;  // positions, counted without wrapping: the slot is the remainder
};

}  // namespace rocelab
