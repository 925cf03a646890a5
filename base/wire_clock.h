// WireClock: how long frames occupy one link. The same as wire_time() of base/units.h, without its 128-bit
// division where a byte takes whole picoseconds.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace rocelab {

class WireClock {
 public:
  explicit WireClock(Rate rate)
      : rate_(rate),
        ps_per_byte_(kPsPerByteAtOneBps % rate.bps() == 0 ? kPsPerByteAtOneBps / rate.bps() : 0) {}
  Duration wire_time(Bytes frame) const {
    if (ps_per_byte_ != 0) return Duration::from_ps(wire_bytes(frame).count() * ps_per_byte_);
    return rocelab::wire_time(frame, rate_);
  }

 private:
  static constexpr std::int64_t kPsPerByteAtOneBps = 8'000'000'000'000;
  Rate rate_;
  std::int64_t ps_per_byte_;  // 0: not a whole number
};

}  // namespace rocelab
