// RpcMetrics: latencies of RPCs, and what was offered and accepted, from the records of their flows.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "emu/runner/plan.h"

namespace rocelab {

struct FlowRecord;

// Of RPCs whose request came in the measuring window: at its time in an open loop, else when it was posted.
struct RpcSums {
  std::vector<double> latency_s;  // of those that are complete: request posted to last byte of the response
  std::vector<double> wait_s;     // of requests of an open loop: from their time until they were posted
  // Payload per second of both directions, over the time in which a workload's clients send requests and the
  // measuring window, summed over workloads: of requests that came in it, and of RPCs that completed in it.
  // Of closed loops only where there is no open one: they offer nothing that accepted_bps could be held
  // against.
  double offered_bps = std::numeric_limits<double>::quiet_NaN();  // of open loops
  double accepted_bps = std::numeric_limits<double>::quiet_NaN();
};

// Of the workloads of kind "rpc", or of this one alone (null: of all). `records`: by id.
RpcSums rpcs_of(const RunPlan& plan, const std::vector<FlowRecord>& records, const std::string* workload);

}  // namespace rocelab
