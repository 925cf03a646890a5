// Slack: how long a frame may still wait in queues, as it carries it through the network for LSTF (Mittal,
// "Towards a More Stable Network Infrastructure", chapter 5; UPS, NSDI 2016). Waiting only: transmission and
// propagation are not charged. On the wire: base/wire/shim_slack.h.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace rocelab {

// Picoseconds: with anything coarser, LSTF would not be EDF (A.4), and a packet's lateness would not be its
// remaining slack with the sign changed.
struct Slack {
  // The most that a NIC writes and a switch believes, in size: 26 days. Ranks are sums of it and a time.
  static constexpr std::int64_t kMost = std::int64_t{1} << 61;

  std::int64_t initial = 0;  // as the sending NIC wrote it
  std::int64_t current = 0;  // less all waiting since; may become negative, and is never clamped
  std::uint16_t waits = 0;   // switches at which the frame waited at all: congestion points. At most 2^16 - 1

  friend bool operator==(const Slack&, const Slack&) = default;

  Duration used() const { return Duration::from_ps(initial - current); }
  void wait(Duration time) {
    if (time <= Duration{}) return;
    current -= time.ps();
    if (waits != 0xffff) ++waits;
  }
};

}  // namespace rocelab
