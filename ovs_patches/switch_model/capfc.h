// CapfcQueue: which ingress ports one egress queue of a lossless class holds responsible for its length.
// Source: S. N. Avci, Z. Li, F. Liu, "Congestion Aware Priority Flow Control in Data Center Networks", IFIP
// Networking 2016: algorithms 1 (counting, release) and 2 (Stop-Calibrate), section II-D (Stop-Max). What the
// paper leaves open, and where it is not followed: DEVIATIONS.md#capfc. What follows from it, pauses of
// links, is in mechanisms/capfc.cc. No frames, no clock here.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

enum class CapfcPolicy : std::uint8_t {
  kStopMax,        // the port that contributes most
  kStopCalibrate,  // the smallest set of ports that contribute CUT of all
};
enum class CapfcCount : std::uint8_t { kFrames, kBytes };
enum class CapfcContributors : std::uint8_t {
  kArrivals,   // the paper's: what came while the queue was at WARN or above, forgotten at WARN or below
  kOccupancy,  // what waits in the queue
};
// What the paper's algorithms lack, each by itself. None, with frames and arrivals: the algorithm to the
// letter.
enum class CapfcFix : std::uint8_t {
  kSkip = 1 << 0,     // Stop-Max chooses among ports that are not held responsible yet
  kTurn = 1 << 1,     // equal contributors are chosen in turn, not always the lowest number
  kHairpin = 1 << 2,  // the egress port's own link is never chosen: it does not help
};

struct CapfcParams {
  bool enabled = false;
  CapfcPolicy policy = CapfcPolicy::kStopCalibrate;
  Bytes xoff = kComputed;  // of an egress queue, as are the next two
  Bytes xon = kComputed;
  Bytes warn = kComputed;
  double cut = 0.8;
  CapfcCount count = CapfcCount::kBytes;
  CapfcContributors contributors = CapfcContributors::kOccupancy;
  std::uint32_t fixes = 0b111;  // bits of CapfcFix
  bool has(CapfcFix fix) const { return (fixes & static_cast<std::uint32_t>(fix)) != 0; }
};

struct CapfcThresholds {  // 0 <= xon <= warn <= xoff
  Bytes xoff, xon, warn;
};

class CapfcQueue {
 public:
  // `own`: the egress port. Ports are numbers below `ports`.
  CapfcQueue(const CapfcParams& params, CapfcThresholds thresholds, std::uint16_t ports, std::uint16_t own)
      : params_(params),
        at_(thresholds),
        own_(own),
        last_(static_cast<std::uint16_t>(ports - 1)),
        counts_(ports),
        places_(ports),
        held_(ports) {}

  // Algorithm 1, enqueue: a frame from ingress port `in` has joined; `length` is the queue's with it.
  // stop(port): it is held responsible from now on.
  template <class F>
  void on_joined(std::uint16_t in, Bytes frame, Bytes length, F&& stop) {
    if (params_.contributors == CapfcContributors::kOccupancy || length >= at_.warn) add(in, unit(frame));
    if (length < at_.xoff) return;
    params_.policy == CapfcPolicy::kStopMax ? stop_max(stop) : stop_calibrate(stop);
  }
  // Algorithm 1, dequeue, whatever took the frame out; `length` is the queue's without it. release(port).
  template <class F>
  void on_left(std::uint16_t in, Bytes frame, Bytes length, F&& release) {
    if (params_.contributors == CapfcContributors::kOccupancy)
      take(in, unit(frame));
    else if (length <= at_.warn)
      forget();
    if (length > at_.xon || held_count_ == 0) return;
    for (std::uint16_t port = 0; held_count_ > 0; ++port) {
      if (!held_[port]) continue;
      held_[port] = false;
      --held_count_;
      free_ += counts_[port] != 0 && !is_own(port);
      release(port);
    }
  }

  bool holds(std::uint16_t port) const { return held_[port]; }             // E
  std::uint32_t count(std::uint16_t port) const { return counts_[port]; }  // C

 private:
  std::uint32_t unit(Bytes frame) const {
    return params_.count == CapfcCount::kFrames ? 1 : static_cast<std::uint32_t>(frame.count());
  }
  void add(std::uint16_t port, std::uint32_t units);
  void take(std::uint16_t port, std::uint32_t units);
  void forget();
  bool is_own(std::uint16_t port) const { return params_.has(CapfcFix::kHairpin) && port == own_; }
  // Position in the turn behind the port chosen last; without the fix the number.
  std::uint32_t turn(std::uint16_t port) const {
    const auto ports = static_cast<std::uint32_t>(counts_.size());
    return params_.has(CapfcFix::kTurn) ? (port + ports - last_ - 1) % ports : port;
  }
  bool before(std::uint16_t a, std::uint16_t b) const {  // a is asked to stop before b
    return counts_[a] != counts_[b] ? counts_[a] > counts_[b] : turn(a) < turn(b);
  }
  bool hold(std::uint16_t port) {  // true: it was not
    last_ = port;
    if (held_[port]) return false;
    held_[port] = true;
    ++held_count_;
    free_ -= counts_[port] != 0 && !is_own(port);
    return true;
  }
  static constexpr std::uint16_t kNone = 0xffff;
  std::uint16_t heaviest() const;  // that Stop-Max may choose; kNone: there is none
  template <class F>
  void stop_max(F& stop) {
    if (free_ == 0 && params_.has(CapfcFix::kSkip)) return;
    const std::uint16_t port = heaviest();
    if (port != kNone && hold(port)) stop(port);
  }
  const std::vector<std::uint16_t>& smallest_set();  // that contributes CUT of all
  template <class F>
  void stop_calibrate(F& stop) {
    if (free_ == 0) return;
    for (const std::uint16_t port : smallest_set())
      if (!is_own(port) && hold(port)) stop(port);
  }

  CapfcParams params_;
  CapfcThresholds at_;
  std::uint16_t own_;
  std::uint16_t last_;                                // chosen last
  std::vector<std::uint32_t> counts_;                 // by ingress port, saturating
  std::vector<std::uint16_t> contributing_, places_;  // ports with a count, in no order; their places there
  std::vector<std::uint16_t> sorted_;
  std::vector<bool> held_;
  std::uint32_t held_count_ = 0;
  std::uint32_t free_ = 0;  // contributing ports that may be chosen and are not held
};

}  // namespace rocelab
