// What a plan cannot be run with, found while it is made. Each check throws ScenarioError, which names the
// key to change and where it stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "emu/runner/plan.h"
#include "emu/runner/routing.h"

namespace rocelab {

[[noreturn]] void refuse(const Settings& settings, const std::string& key, const std::string& why);

// All ports have the same buffer for a lossless class: the least that is enough for each. Ports and their
// limits are in the plan.
void check_buffers(const RunPlan& plan);

// No workload stops behind the run's limit.
void check_stops(const RunPlan& plan);

// When it starts, how long it takes at least, and what its sender's congestion control asks for. Hosts are in
// the plan; `on_wire`: all its frames.
void check_flow(const RunPlan& plan, const Routing& routing, const Flow& flow, Bytes on_wire);

// It is a replay, or another label replays it.
bool takes_part_in_replay(const Scenario& scenario, const Settings& settings);
// The settings that slack.of names: those of a label, or of the same label with another case. Null: there are
// none.
const Settings* find_original(const Scenario& scenario, const Settings& settings);
// The same, refused if a replay cannot be of them.
const Settings& original_of(const Scenario& scenario, const Settings& settings);
// A replay must have its original's packets at the same instants on the same paths, and the original must
// lose none of them.
void check_replay(const RunPlan& plan);

// Compiles the policies of the switches, and puts them into the world. The most bytes that may wait for one
// port. Throws ScenarioError with the compiler's errors.
Bytes check_policies(RunPlan& plan);

}  // namespace rocelab
