// P4qcnCp: P4QCN's congestion point: whether a frame that finds a queue of this length sends feedback to its
// source. Source: Geng et al., Future Internet 11(3), 2019, 3.1.1, equation 1: with a probability that rises
// from 0 at Q_min to 1 at Q_max, and of one flow at most once in `gap` (the paper's N microseconds). What the
// equation leaves open, and the bounded memory of flows: DEVIATIONS.md#p4qcn. No clock, queue or packet here.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "base/ring.h"
#include "base/rng.h"
#include "base/units.h"

namespace rocelab {

struct P4qcnPoint {
  std::int64_t q_min = 11, q_max = 11;  // Q_min, Q_max: frames or bytes, as the lengths that come in
  double p_max = 1;                     // probability just below Q_max
  Duration gap = 50_us;                 // N; 0: none
  std::uint32_t flows = 4096;           // that are remembered for it
};

// Flows that have had feedback within the last `gap`. With too many of them the oldest is forgotten, which
// can have feedback again too early.
class FeedbackGap {
 public:
  FeedbackGap(Duration gap, std::uint32_t most) : gap_(gap), most_(most) {}

  // True: the flow has not, and is noted.
  bool take(std::uint64_t flow, Time now) {
    if (gap_ == Duration{}) return true;
    while (!recent_.empty() && recent_.front().at + gap_ <= now) forget();
    if (!flows_.insert(flow).second) return false;
    if (recent_.size() == most_) {
      forget();
      ++evicted_;
    }
    recent_.push_back({flow, now});
    return true;
  }
  std::uint64_t evicted() const { return evicted_; }

 private:
  struct Entry {
    std::uint64_t flow = 0;
    Time at;
  };
  void forget() { flows_.erase(recent_.take_front().flow); }

  Duration gap_;
  std::uint32_t most_;
  Ring<Entry> recent_;                       // the oldest first
  std::unordered_set<std::uint64_t> flows_;  // the same; looked up, never walked
  std::uint64_t evicted_ = 0;
};

enum class P4qcnVerdict : std::uint8_t { kNone, kSend, kWithinGap };

class P4qcnCp {
 public:
  P4qcnCp(const P4qcnPoint& point, const Rng& rng) : point_(point), rng_(rng), gap_(point.gap, point.flows) {}

  // `q`: what a frame of `flow` finds in the queue.
  P4qcnVerdict on_frame(std::int64_t q, std::uint64_t flow, Time now) {
    if (!draws(q)) return P4qcnVerdict::kNone;
    return gap_.take(flow, now) ? P4qcnVerdict::kSend : P4qcnVerdict::kWithinGap;
  }
  // Whether it draws feedback, whatever its flow has had. With Q_min = Q_max a step, as in the paper's
  // experiments.
  bool draws(std::int64_t q) {
    if (q < point_.q_min) return false;
    if (q >= point_.q_max) return true;
    const auto above = static_cast<double>(q - point_.q_min);
    return rng_.bernoulli(point_.p_max * above / static_cast<double>(point_.q_max - point_.q_min));
  }
  std::uint64_t evicted() const { return gap_.evicted(); }

 private:
  P4qcnPoint point_;
  Rng rng_;
  FeedbackGap gap_;
};

}  // namespace rocelab
