// Permutation: everybody sends to one other and receives from one.
#pragma once

#include <string_view>

#include "emu/runner/workload_type.h"

namespace rocelab {

class Permutation final : public Workload {
 public:
  static constexpr std::string_view kName = "permutation";
  static constexpr WorkloadKeys kKeys{};
  void draw(FlowDraw& draw) const override;
};

}  // namespace rocelab
