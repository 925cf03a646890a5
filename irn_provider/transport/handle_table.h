// HandleTable: objects behind 32-bit handles, (generation << 16 | slot). A stale or invented handle finds
// nothing; slots are reused in the order in which they were freed and a slot's generation grows each time, so
// that a handle comes back after 2^16 uses of its slot at the earliest (2^8 where handles are 24 bits wide,
// because they travel in packets; 2^15 and 2^7 for memory regions and windows, which share their keys' bits).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ring.h"

namespace rocelab {

template <class T, int kHandleBits = 32>
class HandleTable {
  static_assert(kHandleBits > 16 && kHandleBits <= 32);

 public:
  explicit HandleTable(std::uint32_t capacity) : capacity_(capacity < kSlots ? capacity : kSlots) {}

  std::optional<std::uint32_t> add(T value) {
    std::uint32_t slot;
    if (slots_.size() < capacity_) {
      slot = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
      ++count_;
    } else if (!free_.empty()) {
      slot = free_.take_front();
    } else {
      return std::nullopt;
    }
    Slot& s = slots_[slot];
    s.generation = s.generation == kLastGeneration ? 1 : s.generation + 1;  // never 0: no handle is 0
    s.live = true;
    s.value = std::move(value);
    return s.generation << 16 | slot;
  }
  T* find(std::uint32_t handle) {
    const std::uint32_t slot = handle & (kSlots - 1);
    if (slot >= count_) return nullptr;
    Slot& s = slots_[slot];
    return s.live && s.generation == handle >> 16 ? &s.value : nullptr;
  }
  // f(handle, value) for each, in the order of their slots.
  template <class F>
  void for_each(F&& f) {
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot)
      if (Slot& s = slots_[slot]; s.live) f(s.generation << 16 | slot, s.value);
  }
  const T* find(std::uint32_t handle) const { return const_cast<HandleTable*>(this)->find(handle); }
  bool remove(std::uint32_t handle) {
    if (find(handle) == nullptr) return false;
    Slot& s = slots_[handle & (kSlots - 1)];
    s.live = false;
    s.value = T{};
    free_.push_back(handle & (kSlots - 1));
    return true;
  }

 private:
  static constexpr std::uint32_t kSlots = 1u << 16, kLastGeneration = (1u << (kHandleBits - 16)) - 1;
  struct Slot {
    T value{};
    std::uint32_t generation = 0;
    bool live = false;
  };
  std::uint32_t capacity_, count_ = 0;  // count_: of slots, at hand for find()
  std::vector<Slot> slots_;
  Ring<std::uint32_t> free_;
};

}  // namespace rocelab
