// Poisson arrivals: when flows of a workload start, from whom, to whom.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "emu/runner/scenario.h"

namespace rocelab {

struct Arrival {
  Duration at;
  std::uint32_t src = 0, dst = 0;  // hosts
};

// In the order of `at`. A limit on the number of flows cuts the end and changes nothing before it: each
// sender has a stream of its own, or all have one.
std::vector<Arrival> draw_arrivals(const Settings& settings, const WorkloadSettings& w, const Rng& seed);

// The senders of a workload; whom one of them may send to: without itself.
std::vector<std::uint32_t> senders_of(const WorkloadSettings& w, const Topology& topology);
std::vector<std::uint32_t> receivers_of(const WorkloadSettings& w, const Topology& topology,
                                        std::uint32_t sender);
double bps_of(const Topology& topology, const std::vector<std::uint32_t>& hosts);  // of their links together

// Mean of a flow's bytes on the wire: all frames with headers, FCS, preamble and gap, counted as RoCE's
// whatever the transport, so that all labels get the same flows.
double mean_wire_bytes(const WorkloadSettings& w, std::uint32_t path_mtu);

// How many flows a workload makes whose number is drawn, Poisson or incasts with gaps that says only how
// long; 0 for others.
double expected_flows(const WorkloadSettings& w, const Topology& topology, std::uint32_t path_mtu);

// Exponential with mean 1, in 2^-53 steps, from comparisons of uniform draws only (von Neumann 1951): equal
// on every machine, which log() is not.
double draw_exponential(Rng& rng);

}  // namespace rocelab
