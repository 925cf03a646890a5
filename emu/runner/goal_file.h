// Schedules in GOAL, the text format of LogGOPSim and of traces of MPI and NCCL programs made for it:
//
//   num_ranks 2
//   rank 0 {
//   l1: calc 1500
//   l2: send 4096b to 1 tag 7
//   l2 requires l1
//   }
//   rank 1 {
//   l1: recv 4096b from 0 tag 7
//   }
//
// Ranks are the hosts in their order. `calc` takes nanoseconds. `a requires b`: a begins when b is complete;
// `a irequires b`: when b has begun.
#pragma once

#include <string>
#include <vector>

#include "emu/runner/scenario.h"

namespace rocelab {

// A flow for each send. Throws ScenarioError with "name:line: ...".
std::vector<ListedFlow> parse_goal(const std::string& text, const std::string& name, FlowOp op,
                                   const Topology& topology);

}  // namespace rocelab
