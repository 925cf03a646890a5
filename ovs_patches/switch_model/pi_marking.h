// PiMarking: DCQCN+PI's congestion point: once per period T a queue's length sets the probability with which
// frames that join it are marked. Source: Zhu, Ghobadi, Misra and Padhye, ECN or Delay, CoNEXT 2016, section
// 5: a PI controller in RED's place, dp/dt = K_1 de/dt + K_2 e, e = q - q_ref. The paper has no gains for a
// switch; these are those of the simulator of RoCC's authors (github.com/danushkam/rocc, SwitchEtherQueue),
// which has the same sum without the integral: `direct`. DEVIATIONS.md#congestion-control. No clock, packet
// or queue here.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"

namespace rocelab {

enum class PiForm : std::uint8_t { kIntegral, kDirect };

struct PiMarkingParams {
  bool enabled = false;     // of a switch
  Duration period = 10_us;  // T
  Bytes delta_q = 624_B;    // unit of lengths
  Bytes q_ref = 124'800_B;  // length at which the probability rests: 200 units
  Bytes q_max = 249'600_B;  // beyond it the probability is p_max: 400 units
  double alpha = 0.0005;    // K_2 T: gain on the distance to q_ref, per unit
  double beta = 0.01;       // K_1: gain on the growth, per unit
  double p_max = 0.5;
  PiForm form = PiForm::kIntegral;
};

class PiMarking {
 public:
  explicit PiMarking(const PiMarkingParams& params) : params_(params) {}

  // Once per period: `queue` is the length now. The probability until the next one.
  double update(Bytes queue) {
    const double q = units(queue);
    const double step = params_.alpha * (q - units(params_.q_ref)) + params_.beta * (q - q_old_);
    const double before = params_.form == PiForm::kIntegral ? p_ : 0;
    p_ = queue > params_.q_max ? params_.p_max : std::clamp(before + step, 0.0, params_.p_max);
    q_old_ = q;
    return p_;
  }
  double probability() const { return p_; }
  // Further periods with an empty queue change nothing.
  bool rests() const { return p_ == 0 && q_old_ == 0; }

 private:
  double units(Bytes length) const {
    return static_cast<double>(length.count()) / static_cast<double>(params_.delta_q.count());
  }

  PiMarkingParams params_;
  double p_ = 0, q_old_ = 0;
};

}  // namespace rocelab
