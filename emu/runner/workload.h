// Workload: from a scenario's workloads to the list of flows of one run. All draws come from the run's seed,
// each workload from its own stream.
#pragma once

#include <vector>

#include "base/rng.h"
#include "emu/runner/plan.h"

namespace rocelab {

// In start order with ids from 1; `alone` and `packets` are left to the plan.
std::vector<Flow> draw_flows(const Settings& settings, Rng seed);

}  // namespace rocelab
