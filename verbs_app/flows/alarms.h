// Alarms: for which instants the flows under way wait, one for each at most. No I/O and no clock: the program
// (runner.cc) and the virtual-time engine (emu/des) act by it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace rocelab::app {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

class Alarms {
 public:
  // Replaces the slot's alarm; kNever: it has none.
  void set(std::uint32_t slot, std::int64_t ns) {
    const auto [known, is_new] = at_.try_emplace(slot, kNever);
    if (known->second == ns) return;
    if (known->second != kNever) queue_.erase({known->second, slot});
    if (ns != kNever) queue_.insert({ns, slot});
    known->second = ns;
  }
  // The slot whose alarm is the earliest, if it is due; equal ones by slot. It has none any more.
  std::optional<std::uint32_t> take(std::int64_t now_ns) {
    if (next_ns() > now_ns) return std::nullopt;
    const std::uint32_t slot = queue_.begin()->second;
    set(slot, kNever);
    return slot;
  }
  std::int64_t next_ns() const { return queue_.empty() ? kNever : queue_.begin()->first; }

 private:
  std::set<std::pair<std::int64_t, std::uint32_t>> queue_;
  std::unordered_map<std::uint32_t, std::int64_t> at_;
};

}  // namespace rocelab::app
