// Flows of a plan in files of other simulators that say which flows wait for which: htsim's connection matrix
// (connection_matrix.h) and GOAL (goal_file.h).
#pragma once

#include <string>
#include <vector>

#include "emu/runner/plan.h"

namespace rocelab {

struct WrittenFlows {
  std::string text;
  std::vector<std::string> omissions;  // what such a file cannot express of the plan, a phrase each
};

// `epoch`: what the file calls experiment time 0.
WrittenFlows write_connection_matrix(const RunPlan& plan, Duration epoch);
WrittenFlows write_goal(const RunPlan& plan);

// Streams, stops, services without repair.
std::vector<std::string> plain_omissions(const RunPlan& plan);

}  // namespace rocelab
