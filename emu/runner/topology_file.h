// topology.txt, the topology of other RDMA simulators (HPCC, ConWeave, ns3-rdma):
//
//   <nodes> <switches> <links>
//   <ids of the switches>
//   <src> <dst> <rate> <delay> <error rate>      one line a link, for example  0 32 100Gbps 1000ns 0.000000
//
// SimAI's begins with
//
//   <nodes> <GPUs of a server> <NVSwitches> <switches> <links> <type of GPU>
//   <ids of the NVSwitches, then of the switches>
//
// Text behind the links is a comment there, and ignored here. Nodes that are no switches are hosts. Node 7 is
// called h7 or s7 here; the error rate becomes the link's drop_rate in both directions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/runner/scenario.h"

namespace rocelab {

// An NVSwitch joins the GPUs of a server beside the network: a second link of each host.
enum class NvSwitches : std::uint8_t { kRefuse, kLeaveOut };

// Throws ScenarioError with "name:line: ...".
Topology parse_topology_file(const std::string& text, const std::string& name,
                             NvSwitches nv_switches = NvSwitches::kRefuse);

// The same for any topology, by the numbers of its nodes.
std::string topology_file(const Topology& topology);
// What such a file cannot say of a scenario's links, in words: faults other than one drop_rate for both
// directions, directions, events.
std::vector<std::string> topology_file_omissions(const Settings& settings);

}  // namespace rocelab
