// AllToAll: every sender has a flow to every receiver, all at the start.
#pragma once

#include <string_view>

#include "emu/runner/workload_type.h"

namespace rocelab {

class AllToAll final : public Workload {
 public:
  static constexpr std::string_view kName = "all-to-all";
  static constexpr WorkloadKeys kKeys{.receivers = true};
  void check(ConfigSection& section, const WorkloadSettings& w, const Topology& topology) const override;
  void draw(FlowDraw& draw) const override;
};

}  // namespace rocelab
