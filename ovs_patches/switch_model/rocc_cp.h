// RoccCp: RoCC's congestion point (CP) where the switch computes the fair rate: a queue in bytes, the law of
// base/rocc_law.h, a rate. Source: Menikkumbura, 3.3.2.
#pragma once

#include <cstdint>
#include <optional>

#include "base/rocc_law.h"
#include "base/units.h"

namespace rocelab {

// Congestion points: what a scenario sets; the rest is the set of each link (rocc_params_for).
struct RoccSettings {
  std::optional<Duration> period;
  std::optional<Bytes> q_ref, q_mid, q_max, delta_q;
  std::optional<Rate> f_min, delta_f, f_first;
  std::optional<double> alpha, beta;
  bool allow_unstable = false;  // T and phase margin are not checked (emu/runner/rocc_loop.h)

  RoccParams params(Rate link) const;
};

class RoccCp {
 public:
  explicit RoccCp(const RoccParams& params)
      : params_(params), law_(rocc_values(params), rocc_first(params)) {}

  // Once per T. The field of the CNP: F in multiples of Delta^F, rounded; F itself keeps its fraction.
  std::uint32_t update(Bytes q_cur) {
    law_.update(units_of(q_cur));
    return units();
  }

  std::int64_t units_of(Bytes queue) const { return queue / params_.delta_q; }  // whole Delta^Q
  std::uint32_t units() const { return law_.units(); }
  Rate rate() const { return params_.delta_f * static_cast<std::int64_t>(units()); }
  bool unlimited() const { return law_.unlimited(); }
  const RoccParams& params() const { return params_; }
  const RoccValues& values() const { return law_.values(); }

 private:
  RoccParams params_;
  RoccLaw law_;
};

}  // namespace rocelab
