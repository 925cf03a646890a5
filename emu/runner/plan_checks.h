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

// Escape's places that are free again after a while (EscapeFix::kReclaim). `most_links`: of the longest path.
void check_reclaim(const RunPlan& plan, const SwitchConfig& config, std::size_t most_links);

// Escape's flows by hosts: a token reserves places along the way of its flow, so that connections of two
// hosts must not go different ways from the switch `node` on.
void check_one_path(const RunPlan& plan, const Routing& routing, std::uint32_t node);

// No workload stops behind the run's limit.
void check_stops(const RunPlan& plan);

// When it starts, how long it takes at least, and what its sender's congestion control asks for. Hosts are in
// the plan; `on_wire`: all its frames.
void check_flow(const RunPlan& plan, const Routing& routing, const Flow& flow, Bytes on_wire);

}  // namespace rocelab
