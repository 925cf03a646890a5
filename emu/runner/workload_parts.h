// Parts that kinds of workloads share: who sends to whom, what that is on the wire, exponential gaps,
// think times.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "emu/runner/scenario.h"

namespace rocelab {

std::vector<std::uint32_t> hosts_or_all(const std::vector<std::uint32_t>& named, const Topology& topology);
// The senders of a workload; whom one of them may send to: without itself, and without other NICs of its own
// host.
std::vector<std::uint32_t> senders_of(const WorkloadSettings& w, const Topology& topology);
bool may_send(const WorkloadSettings& w, const Topology& topology, std::uint32_t src, std::uint32_t dst);
std::vector<std::uint32_t> senders_to(const WorkloadSettings& w, const Topology& topology,
                                      std::uint32_t receiver);
std::vector<std::uint32_t> receivers_of(const WorkloadSettings& w, const Topology& topology,
                                        std::uint32_t sender);
// Each sender with each receiver, by default another sender: pair(src, dst).
void for_each_pair(const WorkloadSettings& w, const Topology& topology,
                   const std::function<void(std::uint32_t, std::uint32_t)>& pair);
double bps_of(const Topology& topology, const std::vector<std::uint32_t>& hosts);  // of their links together

// Mean of a flow's bytes on the wire: all frames with headers, FCS, preamble and gap, counted as RoCE's
// whatever the transport, so that all labels get the same flows.
double mean_wire_bytes(const WorkloadSettings& w, std::uint32_t path_mtu);

// Mean of the bytes on the wire of the acknowledgements of a flow, none of which is lost: one of `ack` bytes
// for every `interval` packets of a message and for its last.
double mean_ack_bytes(const WorkloadSettings& w, std::uint32_t path_mtu, std::uint32_t interval, Bytes ack);

// Of a flow's messages: as large as the scenario says (zero: one per queue pair), within the limit of the
// architecture.
Bytes message_size_of(Bytes flow, std::uint32_t qps, Bytes wanted);

// Exponential with mean 1, in 2^-53 steps, from comparisons of uniform draws only (von Neumann 1951): equal
// on every machine, which log() is not.
double draw_exponential(Rng& rng);

// Times between the end of a flow and the next one of a closed loop.
inline constexpr std::string_view kThinkTimes[] = {"exponential", "constant"};
Duration think_time(Duration mean, bool constant, Rng& rng);

}  // namespace rocelab
