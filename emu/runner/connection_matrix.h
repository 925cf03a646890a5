// Connection matrices (.cm), the traffic of htsim:
//
//   Nodes 16
//   Connections 2
//   Triggers 1
//   0->3 id 1 start 0 size 2000000 send_done_trigger 1
//   0->4 id 2 trigger 1 size 2000000
//   trigger id 1 oneshot
//
// Starts in picoseconds, sizes in bytes; nodes are the hosts in their order, from 0. A trigger is fired when
// a flow has ended: at its source (send_done_trigger) or its destination (recv_done_trigger); `oneshot` then
// starts all its flows, `multishot` the next of them each time, `barrier count N` all of them at the Nth
// time.
#pragma once

#include <string>
#include <vector>

#include "emu/runner/scenario.h"

namespace rocelab {

// Throws ScenarioError with "name:line: ...". A trigger takes effect where the flow that it starts is posted:
// there the end of the flows that fire it must be known, else it is refused.
std::vector<ListedFlow> parse_connection_matrix(const std::string& text, const std::string& name, FlowOp op,
                                                Duration epoch, const Topology& topology);

}  // namespace rocelab
