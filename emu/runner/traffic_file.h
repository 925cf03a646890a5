// flow.txt, the traffic of other RDMA simulators, in its three dialects:
//
//   hpcc       <flows>, then  src dst priority_group dst_port bytes start_s
//   conweave   <flows>, then  src dst priority_group bytes start_s
//   ns3-rdma   <flows>, then  src dst priority packets start_s end_s
//
// Text behind the flows is a comment there, and ignored here. Nodes are numbers: of hosts h1, h2.. of a
// generated topology 0, 1.., of a topology file its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/runner/plan.h"
#include "emu/runner/scenario.h"

namespace rocelab {

enum class TrafficDialect : std::uint8_t { kHpcc, kConweave, kNs3Rdma };

TrafficDialect dialect_of(const std::string& name);  // throws std::invalid_argument

struct TrafficLine {
  std::uint32_t src = 0, dst = 0;  // node numbers
  std::uint32_t priority = 3;
  std::uint32_t dst_port = 100;  // hpcc
  std::int64_t size = 0;         // bytes; ns3-rdma: packets
  std::int64_t start_ps = 0, end_ps = 0;
  std::size_t line = 0;  // of the file
  friend bool operator==(const TrafficLine&, const TrafficLine&) = default;
};

// Throws ScenarioError with "name:line: ..."; a line of another dialect is named as such.
std::vector<TrafficLine> parse_traffic(const std::string& text, const std::string& name,
                                       TrafficDialect dialect);

struct TrafficFileOptions {
  Duration epoch = 2_s;           // what the file calls experiment time 0: the generators' base time
  Bytes packet_payload = 1000_B;  // ns3-rdma
  NicConfig nic{};                // priority groups are classes of its map
};

// Of an hpcc file with several destination ports each becomes a group, "NAME:PORT". A priority group is a
// class, unless the workload has a DSCP of its own. Throws ScenarioError for nodes that are no hosts, flows
// to themselves, empty flows, classes that no DSCP reaches.
std::vector<ListedFlow> listed_flows(const std::vector<TrafficLine>& lines, const std::string& file,
                                     const WorkloadSettings& w, const TrafficFileOptions& options,
                                     const Topology& topology);

// The flows of a plan as such a file; starts are rounded to a nanosecond. ns3-rdma counts whole packets, and
// is told that a flow may last a second longer than it needs alone.
std::string traffic_file(const RunPlan& plan, TrafficDialect dialect, const TrafficFileOptions& options);

// Describes the properties of a plan's flows that such a file cannot express.
std::vector<std::string> traffic_file_omissions(const RunPlan& plan);

// What hpcc's analysis scripts tell apart by it: 200 the flows of an incast, 100 others; of a group NAME:PORT
// that port.
std::uint32_t destination_port(const RunPlan& plan, const Flow& flow);

}  // namespace rocelab
