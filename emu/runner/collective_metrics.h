// CollectiveMetrics: what became of each collective of a run, from its flows' records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "emu/runner/plan.h"
#include "emu/runner/workload_type.h"

namespace rocelab {

struct FlowRecord;

// A step of a rank lasts from its first work request to the last byte in place, over all that it sends in it.
struct StepTimes {
  std::uint64_t ranks = 0;  // that send in it, over all collectives
  Duration sum, longest;
  double mean_s() const { return sum.seconds() / static_cast<double>(ranks); }
};

// One collective of one group of ranks, all of whose flows completed.
struct CollectiveResult {
  std::string workload;
  CollectiveFacts facts;
  std::uint32_t iteration = 0, group = 0;
  Time begin, end;               // first work request of any rank, last byte in place
  std::vector<StepTimes> steps;  // by step
  std::uint32_t straggler = 0;   // host whose steps took longest, together
  double straggler_ratio = 0;    // its time over the mean of the ranks that send

  double completion_s() const { return (end - begin).seconds(); }
  StepTimes all_steps() const;
  double algorithm_bps() const;  // size / completion
  double bus_bps() const;        // what nccl-tests calls bus bandwidth
};

// Of the workloads that are collectives, or of this one alone (null: of all), iteration by iteration; those
// whose first flow started in the measuring window. `records`: by id.
std::vector<CollectiveResult> collectives_of(const RunPlan& plan, const std::vector<FlowRecord>& records,
                                             const std::string* workload);

// Step by step over several collectives of a workload.
std::vector<StepTimes> sum_steps(const std::vector<CollectiveResult>& results);

}  // namespace rocelab
