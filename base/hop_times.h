// HopTimes: of a frame, when each switch of its path began to send it, o(p, a_i) (Mittal, 5.1.2 and A.1).
// Frames of a run that is to be replayed collect them; those of its omniscient replay carry them as a
// schedule, of which each switch takes the next as the frame's static priority. On the wire:
// base/wire/shim_hop_times.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/slack.h"
#include "base/units.h"

namespace rocelab {

struct HopTimes {
  static constexpr std::size_t kMost = 15;  // switches of a path

  std::array<std::int64_t, kMost> ps{};  // first switch first; 0 behind the last that is known
  std::uint8_t count = 0;                // room: the switches of the network's longest path
  std::uint8_t next = 0;                 // of the switch that has the frame now
  bool schedule = false;                 // for switches to read; else for them to write

  friend bool operator==(const HopTimes&, const HopTimes&) = default;

  static HopTimes room_for(std::uint8_t switches) {
    HopTimes times;
    times.count = switches;
    return times;
  }
  static HopTimes scheduled(std::span<const std::int64_t> of_original) {
    HopTimes times = room_for(static_cast<std::uint8_t>(of_original.size()));
    for (std::size_t i = 0; i < of_original.size(); ++i) times.ps[i] = of_original[i];
    times.schedule = true;
    return times;
  }
  static constexpr bool possible(std::int64_t ps) { return 0 <= ps && ps <= Slack::kMost; }

  // There is a priority for this switch: head().
  bool ranks() const { return schedule && next < count; }
  std::int64_t head() const { return ps[next]; }
  // A switch begins to send the frame.
  void leaves(Time now) {
    if (next >= count) return;
    if (!schedule) ps[next] = now.ps();
    ++next;
  }
};

}  // namespace rocelab
