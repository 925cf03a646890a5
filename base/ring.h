// Ring: a FIFO over one block of memory that doubles when it is full and never shrinks, so that a queue in
// steady state allocates nothing. Elements are default-constructible and are assigned to, not constructed in
// place; indices count from the head.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/check.h"

namespace rocelab {

template <class T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return slots_[(head_ + i) & (slots_.size() - 1)]; }
  const T& operator[](std::size_t i) const { return slots_[(head_ + i) & (slots_.size() - 1)]; }
  T& front() { return slots_[head_]; }
  const T& front() const { return slots_[head_]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }

  // The new last element, with whatever value its slot held before: the caller sets every field.
  T& push_slot() {
    if (size_ == slots_.size()) grow();
    ++size_;
    return back();
  }
  void push_back(T value) { push_slot() = std::move(value); }
  void pop_front() {
    RL_CHECK(size_ > 0);
    head_ = (head_ + 1) & (slots_.size() - 1);
    --size_;
  }
  T take_front() {
    T value = std::move(front());
    pop_front();
    return value;
  }
  void clear() {
    while (size_ > 0) take_front();  // elements that own something let go of it
  }

 private:
  static constexpr std::size_t kFirstBlock = 8;
  void grow() {
    std::vector<T> wider(slots_.empty() ? kFirstBlock : slots_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) wider[i] = std::move((*this)[i]);
    slots_ = std::move(wider);
    head_ = 0;
  }
  std::vector<T> slots_;  // a power of two
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace rocelab
