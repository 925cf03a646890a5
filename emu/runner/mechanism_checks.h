// Facts of a network that mechanisms of switches need, and networks that they refuse.
#pragma once

#include "emu/runner/plan.h"
#include "emu/runner/routing.h"

namespace rocelab {

// Gives ports of equal-cost paths their numbers (PortConfig::equal_cost) where switches balance load.
void number_equal_cost_ports(RunPlan& plan, const Routing& routing);

// Throws ScenarioError, which names the key to change and where it stands.
void refuse_unfit_networks(const RunPlan& plan);

}  // namespace rocelab
