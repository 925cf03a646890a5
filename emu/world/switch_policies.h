// SwitchPolicies: the queueing policies (OpenQueue programs) of a run's switches, and when each is in force.
// Texts, so that both engines compile them with the same code; the live engine finds them in shared memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "ovs_patches/openqueue/compile.h"
#include "ovs_patches/switch_model/switch_policy.h"

namespace rocelab {

inline constexpr std::size_t kMostPolicyText = std::size_t{1} << 22;  // of a run, all programs together

struct PolicyEvent {
  Duration at{};                          // experiment time
  std::vector<std::uint32_t> switches{};  // indices of World::switches; empty: all
  std::uint32_t source = 0;               // of SwitchPolicies::sources
  bool requeue = false;
};

struct SwitchPolicies {
  std::vector<PolicySource> sources;  // without files: the switch's configuration as a program
  std::vector<PolicyEvent> events;    // in the order of time; of one instant the last one counts
  bool empty() const { return events.empty(); }
};

std::string packed(const SwitchPolicies& policies);
SwitchPolicies unpacked(std::string_view text);  // of packed() only

// A source as it is compiled for a switch: the program that it stands for where it has no files.
PolicySource source_for(const PolicySource& source, const SwitchConfig& config);

// For SwitchNode::set_policies(); empty: the switch has none. Throws std::runtime_error with the compiler's
// errors.
std::vector<PolicyChange> policy_changes(const SwitchPolicies& policies, std::uint32_t switch_index,
                                         const SwitchConfig& config, std::span<const PortConfig> ports);

// What was in force from when on, and the counts of the last program's queues, as a JSON object:
// {"policies": [{"at_ps", "program", "id", "by_hand"}], "queues": [{"queue", "unit", "max", "curr", "peak",
// "dropped", "total"}]}, queues without frames left out. `total`: frames that arrived.
std::string policy_json(const SwitchPolicy& policy);

}  // namespace rocelab
