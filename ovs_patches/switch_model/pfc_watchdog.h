// PfcWatchdog: classes of one egress port that the peer keeps paused although frames wait: a PFC storm.
// Source: SONiC's PFC watchdog (design notes in the wiki of github.com/sonic-net/SONiC): a lossless queue
// that is paused for the detection time T0 with frames in it is in a storm; the action drops what waits in it
// and what comes for it, or only reports; it is restored when pauses have ended. Departures:
// DEVIATIONS.md#switch.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/ids.h"
#include "base/tc_mask.h"
#include "base/units.h"

namespace rocelab {

enum class WatchdogAction : std::uint8_t { kReport, kDrop };

struct PfcWatchdogParams {
  Duration period{};  // a queue that its peer keeps paused for longer is in a storm; 0: off
  WatchdogAction action = WatchdogAction::kReport;
};

class PfcWatchdog {
 public:
  explicit PfcWatchdog(Duration period) : period_(period) { looks_at_.fill(Time::never()); }

  void on_paused(TcMask classes, Time now) {
    for_each(classes, [&](std::size_t tc) { looks_at_[tc] = now + period_; });
    update();
  }
  // The peer lets them go on: storms of these classes are over.
  void on_resumed(TcMask classes) {
    for_each(classes, [&](std::size_t tc) { looks_at_[tc] = Time::never(); });
    storming_ = static_cast<TcMask>(storming_ & ~classes);
    update();
  }
  // Classes whose storm begins at `now`; `waiting`: those with frames. A paused class without frames holds
  // nobody up, and is looked at again a period later.
  TcMask on_timeout(Time now, TcMask waiting) {
    TcMask begun = 0;
    for (std::size_t tc = 0; tc < looks_at_.size(); ++tc) {
      if (looks_at_[tc] > now) continue;
      const TcMask bit = bit_of(Tc{static_cast<std::uint8_t>(tc)});
      if ((waiting & bit) != 0) begun |= bit;
      looks_at_[tc] = (waiting & bit) != 0 ? Time::never() : now + period_;
    }
    storming_ |= begun;
    update();
    return begun;
  }
  Time next_timeout() const { return next_; }
  TcMask storming() const { return storming_; }

 private:
  template <class F>
  static void for_each(TcMask classes, F&& f) {
    for (std::size_t tc = 0; tc < kTrafficClasses; ++tc)
      if ((classes >> tc & 1) != 0) f(tc);
  }
  void update() { next_ = *std::ranges::min_element(looks_at_); }

  Duration period_;
  std::array<Time, kTrafficClasses> looks_at_;  // never: not paused, or in a storm already
  Time next_ = Time::never();
  TcMask storming_ = 0;
};

}  // namespace rocelab
