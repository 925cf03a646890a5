// CollectiveSchedule: which rank sends what to whom in which step of a collective operation. Data is in
// blocks; a send carries consecutive ones. Pure values: the workload (workloads/collective.h) makes flows of
// them, with sizes and the times at which they start.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace rocelab {

enum class CollectiveOperation : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast
};
enum class CollectiveAlgorithm : std::uint8_t { kRing, kHalvingDoubling, kDirect, kPairwise, kTree };

std::span<const std::string_view> operation_names();  // by value
std::span<const std::string_view> algorithm_names();
std::string_view to_string(CollectiveOperation operation);
std::string_view to_string(CollectiveAlgorithm algorithm);
// The first one is the default.
std::span<const CollectiveAlgorithm> algorithms_of(CollectiveOperation operation);

struct CollectiveSend {
  std::uint32_t step = 0;
  std::uint32_t src = 0, dst = 0;             // ranks
  std::uint32_t first_block = 0, blocks = 1;  // of all-to-all: those of the source's buffer
  bool reduces = false;                       // the receiver adds them to its own; else it stores them
};

struct CollectiveSchedule {
  std::uint32_t ranks = 0, steps = 0;
  std::uint32_t blocks = 0;  // of a buffer: one for each rank, but a broadcast's is one
  // A rank's sends of a step also wait until all of the step before has arrived at it, whatever it was.
  bool ordered = false;
  std::vector<CollectiveSend> sends;  // by step, then source, then destination
};

// Why a number of ranks does not go with an algorithm; empty: it does.
std::string problem_of(CollectiveAlgorithm algorithm, std::uint32_t ranks);
// `root`: the rank whose data a broadcast sends.
CollectiveSchedule schedule_of(CollectiveOperation operation, CollectiveAlgorithm algorithm,
                               std::uint32_t ranks, std::uint32_t root = 0);

// Bus bandwidth over algorithm bandwidth, as nccl-tests has it: what a rank's link carries of the data.
double bus_factor(CollectiveOperation operation, std::uint32_t ranks);

}  // namespace rocelab
