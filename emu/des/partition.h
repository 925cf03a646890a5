// Partition: which nodes of a run are run together, by one thread at a time. A switch and its hosts are never
// apart, so that only links between switches lead from one part to another. Results do not depend on it.
#pragma once

#include <cstdint>
#include <vector>

#include "emu/des/peers.h"
#include "emu/runner/plan.h"

namespace rocelab::des {

struct Partition {
  std::uint32_t parts = 1;
  std::vector<std::uint32_t> of_node;           // by node (hosts, then switches): its part; empty: all in one
  std::uint32_t first_here = 0, last_here = 1;  // range of the parts that this process runs
  std::uint32_t part_of(std::size_t node) const { return of_node.empty() ? 0 : of_node[node]; }
  bool is_here(std::size_t node) const { return first_here <= part_of(node) && part_of(node) < last_here; }
};

// Of the parts that process `rank` of `ranks` runs, the first; the last one of all is before `parts`.
constexpr std::uint32_t first_part_of(std::uint32_t rank, std::uint32_t ranks, std::uint32_t parts) {
  return static_cast<std::uint32_t>(std::uint64_t{rank} * parts / ranks);
}

// A frame that leaves by the port is due at the other end of its link so much later at the earliest.
Duration latency_of(const World& world, const PortEntry& port);

// At most `parts` parts of about equal work with few and long links between them; fewer where there are fewer
// switches with links to others. The work of a node is estimated from the flows that begin and end at it.
Partition make_partition(const RunPlan& plan, std::uint32_t parts);

// The same over the processes of a run. Throws std::runtime_error when there are more of them than parts.
Partition make_partition(const RunPlan& plan, std::uint32_t parts, const Peers& peers);

// So many threads as the run is worth, of at most `most`: a meeting of threads costs about what a thread does
// with a few hundred frames.
std::uint32_t threads_for(const RunPlan& plan, std::uint32_t most);

// By the weight of each node, for tests: the same with the work given.
Partition make_partition(const World& world, const std::vector<double>& work, std::uint32_t parts);

}  // namespace rocelab::des
