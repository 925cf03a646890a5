// Rto: the retransmission timer of one IRN sender, with RTO_low and RTO_high, or computed from RTTs.
// Source: Mittal, 4.2.1 (RTO_low only while at most N packets are in flight) and 4.5.2 (4) (the timer
// always starts with RTO_low; at expiry the condition is checked, and where it does not hold the timer is
// extended to RTO_high instead of firing). Contract: the owner restarts it on cumulative progress or, where
// the configuration says so, at every (N)ACK, and when a packet leaves while none was in flight; it stops it
// when nothing is in flight. A firing restarts it. Dynamic (4.3.3 (3), RFC 6298): SRTT + 4 RTTVAR, at first
// RTO_high and never below RTO_low, doubled by every firing until the next sample. Restarting only moves a
// deadline in this object: a driver that keeps an earlier one asks early, which changes nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "base/psn.h"
#include "base/units.h"

namespace rocelab {

struct RtoParams {
  Duration low = 100_us;          // RTO_low, 4.3.1
  Duration high = 320_us;         // RTO_high, 4.3.1
  std::uint32_t low_packets = 3;  // N, 4.3.1
  bool dynamic = false;
  bool enabled = true;  // false: never fires ("timeouts off" under PFC, 4.3.1)
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
  void on_rtt(Duration sample);  // dynamic only
  Duration computed() const { return computed_; }

 private:
  RtoParams params_;
  Time start_;
  Time deadline_ = Time::never();
  Duration computed_;       // RTO, dynamic only
  Duration srtt_, rttvar_;  // RFC 6298; srtt zero: no sample yet
  bool extended_ = false;   // the flag of 4.5.2: RTO_low has passed with more than N in flight
};

// RttTimer: one packet at a time, from its departure to its cumulative acknowledgement; a packet that is sent
// again gives no sample (RFC 6298, 3: Karn).
class RttTimer {
 public:
  void on_sent(UnwrappedPsn psn, Time now) {
    if (!timing_) timing_ = true, psn_ = psn, sent_at_ = now;
  }
  void cancel() { timing_ = false; }
  void on_resent(UnwrappedPsn psn) { timing_ = timing_ && psn != psn_; }
  std::optional<Duration> on_ack(UnwrappedPsn una, Time now) {
    if (!timing_ || una <= psn_) return std::nullopt;
    timing_ = false;
    return now - sent_at_;
  }

 private:
  bool timing_ = false;
  UnwrappedPsn psn_ = 0;
  Time sent_at_;
};

}  // namespace rocelab
