// DcqcnPi: DCQCN+PI's reaction point, which is DCQCN's: what differs is who marks. Source: Zhu, Ghobadi,
// Misra and Padhye, ECN or Delay, CoNEXT 2016, section 5: switches mark by a PI controller in place of RED,
// and hosts "use that p in the usual way". The congestion point is the switch's mechanisms/pi_marking.h.
#pragma once

#include <string_view>

#include "irn_provider/cc/dcqcn_rp.h"

namespace rocelab {

class DcqcnPi final : public DcqcnRp {
 public:
  static constexpr std::string_view kName = "dcqcn-pi";
  static constexpr CcNeeds kNeeds{.marks = true, .own_marks = true, .cnps = true};
  using DcqcnRp::DcqcnRp;
};

}  // namespace rocelab
