// RoccCp: RoCC's congestion point (CP): queue length -> fair rate, once per T.
// Source: seed 000, chapter 3, algorithm 1, line by line (the F > F_max/8 gate of both decreases included);
// parameters: 3.5, "System parameters". No clock, packet or queue here. Arithmetic is fixed point, as the
// authors' model and hardware have it: queue lengths in whole Delta^Q, F in Delta^F with kFractionBits behind
// the point. Departures and open questions: DEVIATIONS.md#rocc.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace rocelab {

struct RoccParams {         // defaults: the paper's set for 40 Gb/s links
  Duration period = 40_us;  // T
  Bytes q_ref = 150_KB;     // Q_ref: length at which the PI law rests
  Bytes q_mid = 300_KB;     // Q_mid: growth in one T that halves the rate
  Bytes q_max = 360_KB;     // Q_max: length that forces F_min
  Rate f_min = 100_Mbps;    // F_min: 10 Delta^F on every link
  Rate f_max = 40_Gbps;     // F_max: the link's rate
  Bytes delta_q = 600_B;    // Delta^Q: queue unit
  Rate delta_f = 10_Mbps;   // Delta^F: rate unit
  double alpha = 0.3;       // alpha~: gain on the distance to Q_ref, in Delta^F per Delta^Q
  double beta = 1.5;        // beta~: gain on the growth
};

// The set for a link: 3.5 gives 40 and 100 Gb/s, and 3.5.2 the thresholds of a 10 Gb/s testbed, whose gains
// are those of 40 Gb/s: the loop's gain depends on them and on the number of flows, not on the link (seed
// 001, V.A). Links between take the set of the next faster one, F_max is always the link's rate.
RoccParams rocc_params_for(Rate link);

class RoccCp {
 public:
  static constexpr int kFractionBits = 32;

  explicit RoccCp(const RoccParams& params);

  // Once per T. The field of the CNP: F in multiples of Delta^F, rounded; F itself keeps its fraction.
  std::uint32_t update(Bytes q_cur);

  std::uint32_t units() const { return static_cast<std::uint32_t>((f_ + kHalf) >> kFractionBits); }
  Rate rate() const { return params_.delta_f * static_cast<std::int64_t>(units()); }
  // Nobody is held back: F is at its upper bound.
  bool unlimited() const { return f_ == f_max_; }
  const RoccParams& params() const { return params_; }

 private:
  using Fixed = std::int64_t;
  static constexpr Fixed kHalf = Fixed{1} << (kFractionBits - 1);
  std::int64_t ratio() const;  // AUTO_TUNE: 1, 2 ... 32: gentler at a smaller fair rate

  RoccParams params_;
  std::int64_t q_ref_, q_mid_, q_max_;  // in Delta^Q
  Fixed f_min_, f_max_, alpha_, beta_;  // in Delta^F
  std::int64_t q_old_ = 0;
  Fixed f_;
};

}  // namespace rocelab
