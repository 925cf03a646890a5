// Named sets of parameters, where sources disagree. Each says what it is from.
#pragma once

#include <string_view>
#include <vector>

#include "irn_provider/cc/cc_config.h"

namespace rocelab {

// Marking that goes with a set of parameters: as EcnConfig of the switch.
struct CcMarking {
  Bytes k_min, k_max;
  double p_max = 1;
};

struct CcPreset {
  std::string_view name, source;
  CcConfig config;    // of its kind; the others' parameters have their defaults
  CcMarking marking;  // where config.needs_ecn()
};

// The sets of one kind, the default first. Empty for kNone.
std::vector<CcPreset> cc_presets(CcKind kind);

}  // namespace rocelab
