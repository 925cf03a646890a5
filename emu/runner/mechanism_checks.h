// Checks that mechanisms of switches make of the network around them.
#pragma once

#include <cstddef>

#include "emu/runner/plan.h"
#include "emu/runner/routing.h"

namespace rocelab {

// Gives ports of equal-cost paths their numbers (PortConfig::equal_cost) at switches with a mechanism that
// asks (problem_of_network()), and refuses networks as it says: throws ScenarioError, which names the key to
// change and where it stands. Hosts and switches are in the plan; `most_links`: of the longest path.
void fit_mechanisms(RunPlan& plan, const Routing& routing, std::size_t most_links);

}  // namespace rocelab
