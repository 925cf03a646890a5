// LinkChange: a link fails or recovers.
#pragma once

#include "base/units.h"

namespace rocelab {

struct LinkChange {
  Time at;
  bool up = false;
};

}  // namespace rocelab
