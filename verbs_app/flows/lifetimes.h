// Lifetimes: when the queue pairs of flows that have their own only while they last are created, connected
// and destroyed at one host. No I/O and no clock: the program (runner.cc) and the virtual-time engine
// (emu/des) act by it.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "verbs_app/flows/alarms.h"
#include "verbs_app/flows/flow_list.h"

namespace rocelab::app {

class Lifetimes {
 public:
  // To connect, an end needs what its peer has created; both do so at the flow's start.
  enum class Step : std::uint8_t { kCreate, kConnect, kDestroy };
  struct Due {
    std::uint32_t slot;
    Step step;
  };

  void add(const Flow& flow, std::uint32_t slot) {
    if (!flow.connects_late()) return;
    set(slot, Step::kCreate, flow.connect_ns());
    starts_[slot] = flow.start_ns();
  }
  void destroy_at(std::uint32_t slot, std::int64_t ns) { set(slot, Step::kDestroy, ns); }

  // The next step that is due, by time, then slot.
  std::optional<Due> take(std::int64_t now_ns) {
    const std::optional<std::uint32_t> slot = at_.take(now_ns);
    if (!slot) return std::nullopt;
    const Due due{*slot, steps_.at(*slot)};
    if (due.step == Step::kCreate) set(*slot, Step::kConnect, starts_.at(*slot));
    return due;
  }
  std::int64_t next_ns() const { return at_.next_ns(); }

 private:
  void set(std::uint32_t slot, Step step, std::int64_t ns) {
    steps_[slot] = step;
    at_.set(slot, ns);
  }
  Alarms at_;
  std::unordered_map<std::uint32_t, Step> steps_;
  std::unordered_map<std::uint32_t, std::int64_t> starts_;
};

}  // namespace rocelab::app
