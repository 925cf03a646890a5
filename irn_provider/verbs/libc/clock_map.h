// ClockMap: how one of the program's clocks shows experiment time. Law only: no I/O.
//
// A clock never goes back when the program opens its device. Two kinds:
//
// - A clock that counts from the machine's start (CLOCK_MONOTONIC and the like) goes on from what it showed,
//   so that intervals and deadlines from before stay what they are. It is moved by whole hundredths of a
//   second: programs that cut it to nanoseconds, microseconds, milliseconds or ticks cut at the same instants
//   of experiment time in every run.
// - A clock of dates (CLOCK_REALTIME) is the same for all hosts and in every run. It begins late enough that
//   the machine's date is earlier, so it goes forward, as when somebody sets it. A deadline from before,
//   which lies in the gap, keeps what was left of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/units.h"

namespace rocelab::libc {

struct ClockMap {
  std::int64_t zero_ns = 0;    // what the clock shows at experiment time 0
  std::int64_t before_ns = 0;  // what it showed last before the device was opened,
  Time opened;                 // at this instant

  static constexpr std::int64_t kStepNs = 10'000'000;
  static constexpr std::int64_t kPsPerNs = 1'000;
  static constexpr std::int64_t kMaxNs = std::numeric_limits<std::int64_t>::max() / kPsPerNs - 1;

  // `before_ns`: nullopt: the program has not looked, and it begins at `least_ns`. Between `kStepNs` and
  // twice as much later than it was: another thread may be about to return from its last look.
  static ClockMap at_opening(std::optional<std::int64_t> before_ns, std::optional<std::int64_t> least_ns,
                             Time opened) {
    const std::int64_t opened_ns = opened.ps() / kPsPerNs;
    ClockMap map{.opened = opened};
    if (!before_ns) {
      map.zero_ns = least_ns.value_or(0);
      map.before_ns = map.zero_ns + opened_ns;
      return map;
    }
    const std::int64_t zero_ns = *before_ns - opened_ns;
    const std::int64_t steps = zero_ns / kStepNs - (zero_ns % kStepNs < 0 ? 1 : 0);  // rounded down
    const std::int64_t goes_on = (steps + 2) * kStepNs;
    map.zero_ns = least_ns ? std::max(*least_ns, goes_on) : goes_on;
    map.before_ns = *before_ns;
    return map;
  }

  std::int64_t shown_ns(Time t) const { return zero_ns + t.ps() / kPsPerNs; }

  // The instant at which it shows `ns`; of what was shown before the device was opened, that at which so much
  // will have passed since then. Saturates at never().
  Time instant(std::int64_t ns) const {
    const bool from_before = ns <= shown_ns(opened);
    const std::int64_t left = std::max<std::int64_t>(from_before ? ns - before_ns : ns - zero_ns, 0);
    if (left > kMaxNs) return Time::never();
    const Duration d = Duration::from_ps(left * kPsPerNs);
    return from_before ? opened + d : Time::zero() + d;
  }
};

}  // namespace rocelab::libc
