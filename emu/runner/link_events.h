// What a schedule of link failures and recoveries means for a run: which link changes when, and which rules
// change after it. Both are part of the plan, so that every driver that can do it does the same.
#pragma once

#include <vector>

#include "base/rng.h"
#include "emu/runner/plan.h"

namespace rocelab {

// In the order of time; a link between switches by the port at its end b, then that at a.
std::vector<LinkChangeEntry> link_changes(const Settings& settings, const World& world);

// From `at` on the rules are those of a network without the links that are dead, by the topology's numbers.
struct LinkState {
  Time at;
  std::vector<bool> dead;
};
// In the order of time, from the first event on.
std::vector<LinkState> link_states(const Settings& settings);

// In the order of time. `before`: the rules of the healthy network, made from the same `seed`.
std::vector<RouteChange> route_changes(const Settings& settings, const std::vector<Route>& before, Rng seed);

// All rules after the first `changes` of the plan's route changes.
std::vector<Route> routes_after(const RunPlan& plan, std::size_t changes);

}  // namespace rocelab
