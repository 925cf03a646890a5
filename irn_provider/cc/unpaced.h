// Unpaced: no congestion control at all, for flows of which only the RTTs are of interest.
#pragma once

#include "irn_provider/cc/congestion_control.h"

namespace rocelab {

class Unpaced final : public CongestionControl {
 public:
  explicit Unpaced(Rate line_rate) : line_(line_rate) {}
  void start(Time /*now*/) override {}
  Rate rate(Time /*now*/) override { return line_; }

 private:
  Rate line_;
};

}  // namespace rocelab
