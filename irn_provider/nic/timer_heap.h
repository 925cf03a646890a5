// TimerHeap: when which slot (QP) wants to be woken, earliest (time, slot) first. A slot has at most one
// entry, and an entry only ever moves earlier: a deadline that was put off wakes its owner early, who then
// sets the later one. So the many ACKs that put off a timer cost nothing here.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace rocelab {

class TimerHeap {
 public:
  Time next() const { return heap_.empty() ? Time::never() : heap_.front().time; }

  // `slot` is woken at `time` at the latest.
  void wake_by(std::uint32_t slot, Time time) {
    if (time.is_never()) return;
    if (slot >= position_.size()) position_.resize(slot + 1, kAbsent);
    if (position_[slot] == kAbsent) {
      heap_.push_back({time, slot});
      sift_up(heap_.size() - 1);
    } else if (time < heap_[position_[slot]].time) {
      heap_[position_[slot]].time = time;
      sift_up(position_[slot]);
    }
  }
  std::uint32_t pop() {  // precondition: next() is not never
    const std::uint32_t slot = heap_.front().slot;
    remove(slot);
    return slot;
  }
  void remove(std::uint32_t slot) {
    if (slot >= position_.size() || position_[slot] == kAbsent) return;
    const std::size_t hole = position_[slot];
    position_[slot] = kAbsent;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (hole == heap_.size()) return;
    put(hole, last);
    sift_up(hole);
    sift_down(position_[last.slot]);
  }

 private:
  static constexpr std::uint32_t kAbsent = 0xffffffff;
  struct Entry {
    Time time;
    std::uint32_t slot;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  void put(std::size_t i, const Entry& entry) {
    heap_[i] = entry;
    position_[entry.slot] = static_cast<std::uint32_t>(i);
  }
  void sift_up(std::size_t i) {
    const Entry entry = heap_[i];
    for (; i > 0 && entry < heap_[(i - 1) / 2]; i = (i - 1) / 2) put(i, heap_[(i - 1) / 2]);
    put(i, entry);
  }
  void sift_down(std::size_t i) {
    const Entry entry = heap_[i];
    for (std::size_t child; (child = 2 * i + 1) < heap_.size(); i = child) {
      if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
      if (entry < heap_[child]) break;
      put(i, heap_[child]);
    }
    put(i, entry);
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> position_;  // by slot
};

}  // namespace rocelab
