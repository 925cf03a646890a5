// Offered load: what the workloads that have a rate (Poisson, incasts that repeat) put on each link and
// direction by the routes of the healthy network, equal-cost paths taken evenly. More than a link carries
// makes queues that grow as long as the run lasts, so that its results depend on its length: such a scenario
// has to say so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emu/runner/routing.h"
#include "emu/runner/scenario.h"

namespace rocelab {

// Bits per second by direction of a link: [2 * link] from its a to its b, [2 * link + 1] back. Empty: no
// rate. Of an incast whose receiver is drawn once only the last link is told, of each host: any may be it.
std::vector<double> offered_load(const Topology& topology, const Routing& routing, const WorkloadSettings& w,
                                 std::uint32_t path_mtu);

struct Overload {
  std::size_t workload = 0;  // that brings the link above its rate: of those in the list's order
  std::string what;          // which link, how much
};

// The link with the highest share of its rate of those above it, at the time at which it is highest, unless
// one of the workloads that cross it says overload = true.
std::optional<Overload> find_overload(const std::vector<WorkloadSettings>& workloads,
                                      const Topology& topology, std::uint32_t path_mtu);

}  // namespace rocelab
