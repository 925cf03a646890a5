// Workload: from a scenario's workloads to the list of flows of one run. All draws come from the run's seed,
// each workload from its own stream.
#pragma once

#include <vector>

#include "base/rng.h"
#include "emu/runner/plan.h"

namespace rocelab {

// In start order with ids from 1; `alone` and `packets` are left to the plan.
std::vector<Flow> draw_flows(const Settings& settings, Rng seed);

// Messages of a stream that are due within `length` of its begin.
std::int64_t stream_messages(const StreamSettings& stream, Bytes message, Duration length);

// Of a flow's messages: as large as the scenario says (zero: one per queue pair), within the limit of the
// architecture.
Bytes message_size_of(Bytes flow, std::uint32_t qps, Bytes wanted);

}  // namespace rocelab
