// QcnCp: QCN's congestion point: one queue's frames are sampled by bytes, and a sample that finds the queue
// long or growing tells the frame's source by how much, in 6 bits. Source: IEEE 802.1Qau (now 802.1Q, clauses
// 30 and 32; the formulas and the table of intervals as HPE's FlexFabric guides and Alizadeh et al., Allerton
// 2008 print them). DEVIATIONS.md#qcn. Integers only, so that every machine gets the same.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/rng.h"
#include "base/units.h"

namespace rocelab {

struct QcnPoint {
  Bytes q_eq = 26_KB;          // Q_eq, cpQSp: the length that the queue should have
  std::int64_t w = 2;          // w, 2 to the power of cpW: weight of the queue's growth
  Bytes sample_base = 150_KB;  // cpSampleBase: bytes between samples without congestion
  std::int64_t jitter_percent = 15;
};

struct QcnSample {
  std::uint8_t feedback = 0;               // quantised |Fb|, 1..63
  std::int64_t q_offset = 0, q_delta = 0;  // bytes
};

class QcnCp {
 public:
  static constexpr std::int64_t kMost = 63;  // 6 bits
  // Intervals in parts of sample_base = 150, by the upper three bits of the feedback.
  static constexpr std::array<std::int64_t, 8> kIntervals = {1500, 750, 500, 375, 300, 250, 215, 185};

  QcnCp(const QcnPoint& point, const Rng& rng) : point_(point), rng_(rng), left_(interval(0)) {}

  // A frame joins: `queue` is the length with it. What to tell its source; null: nothing.
  std::optional<QcnSample> on_frame(Bytes frame, Bytes queue) {
    left_ -= frame;
    if (left_ >= Bytes{}) return std::nullopt;
    QcnSample sample;
    sample.q_offset = (queue - point_.q_eq).count();
    sample.q_delta = (queue - queue_old_).count();
    queue_old_ = queue;
    sample.feedback = quantised(sample.q_offset + point_.w * sample.q_delta);
    left_ = interval(sample.feedback >> 3);
    if (sample.feedback == 0) return std::nullopt;
    return sample;
  }

 private:
  // Of -Fb.
  std::uint8_t quantised(std::int64_t congestion) const {
    const std::int64_t most = point_.q_eq.count() * (2 * point_.w + 1);
    return static_cast<std::uint8_t>(std::clamp<std::int64_t>(congestion, 0, most) * kMost / most);
  }
  Bytes interval(std::size_t row) {
    const std::int64_t drawn =
        100 - point_.jitter_percent +
        static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(2 * point_.jitter_percent) + 1));
    return Bytes::from_count(point_.sample_base.count() * kIntervals[row] / 1500 * drawn / 100);
  }

  QcnPoint point_;
  Rng rng_;
  Bytes left_;       // until the next sample
  Bytes queue_old_;  // at the last one
};

}  // namespace rocelab
