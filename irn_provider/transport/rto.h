// Rto: the retransmission timer of one IRN sender, with RTO_low and RTO_high.
// Source: seed 004, 4.2.1 (RTO_low only while at most N packets are in flight) and 4.5.2 (4) (the timer
// always starts with RTO_low; at expiry the condition is checked, and where it does not hold the timer is
// extended to RTO_high instead of firing). Contract: the owner restarts it on cumulative progress, when a
// packet leaves while none was in flight, and stops it when nothing is in flight. A firing restarts it.
// Restarting only moves a deadline in this object: a driver that keeps an earlier one asks early, which
// changes nothing.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace rocelab {

struct RtoParams {
  Duration low = 100_us;          // RTO_low, 4.3.1
  Duration high = 320_us;         // RTO_high, 4.3.1
  std::uint32_t low_packets = 3;  // N, 4.3.1
  bool enabled = true;            // false: never fires ("timeouts off" under PFC, 4.3.1)
};

enum class RtoExpiry : std::uint8_t { kNone, kLow, kHigh };

class Rto {
 public:
  explicit Rto(const RtoParams& params);
  void restart(Time now);
  void stop() { deadline_ = Time::never(); }
  RtoExpiry on_timeout(Time now,
                       std::int64_t in_flight);  // kNone: nothing is due, or the deadline was extended
  Time deadline() const { return deadline_; }    // of the next look, not necessarily of a firing
  bool running() const { return !deadline_.is_never(); }

 private:
  RtoParams params_;
  Time start_;
  Time deadline_ = Time::never();
  bool extended_ = false;  // the flag of 4.5.2: RTO_low has passed with more than N in flight
};

}  // namespace rocelab
