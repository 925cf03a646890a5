// RoccCp: RoCC's congestion point (CP) where the switch computes the fair rate: a queue in bytes, the law of
// base/rocc_law.h, a rate. Source: Menikkumbura, 3.3.2.
#pragma once

#include <cstdint>

#include "base/rocc_law.h"
#include "base/units.h"

namespace rocelab {

class RoccCp {
 public:
  explicit RoccCp(const RoccParams& params) : params_(params), law_(rocc_values(params)) {}

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
