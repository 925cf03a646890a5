// Whether the switches can run the queueing policies of a plan.
#include <algorithm>
#include <set>
#include <stdexcept>

#include "emu/runner/plan_checks.h"
#include "ovs_patches/openqueue/builtin.h"

namespace rocelab {
namespace {

// The bytes that may wait for one egress port, and within the switch for it.
Bytes room_of(const PolicyProgram& program, Bytes frame) {
  const auto bytes = [&](const auto& object) {
    return object.in_packets ? frame * object.size : Bytes::from_count(object.size);
  };
  Bytes most, inside;
  for (const PolicyPort& port : program.ports) {
    Bytes here;
    std::set<std::uint32_t> buffers;
    for (const std::uint32_t number : port.queues) {
      const PolicyQueue& queue = program.queues[number];
      if (queue.buffer == kNoPolicyObject)
        here += bytes(queue);
      else if (buffers.insert(queue.buffer).second)
        here += bytes(program.buffers[queue.buffer]);
    }
    if (port.internal)
      inside += here;
    else
      most = std::max(most, here);
  }
  return most + inside;
}

}  // namespace

Bytes check_policies(RunPlan& plan) {
  const PolicySettings& settings = plan.settings.policies;
  Bytes room;
  if (settings.policies.empty()) return room;
  const auto fail = [&](std::uint32_t source, const SwitchEntry& entry, const std::string& why) {
    refuse(plan.settings, settings.keys[source], "switch \"" + std::string(entry.name) + "\": " + why);
  };
  for (std::uint32_t s = 0; s < plan.world.switches.size(); ++s) {
    const SwitchEntry& entry = plan.world.switches[s];
    const std::uint32_t first = settings.policies.events.front().source;
    if (const std::string problem = problem_of_policies(entry.config); !problem.empty())
      fail(first, entry, "a policy cannot go with this switch: " + problem);
    if (entry.config.mechanisms.is_on("escape"))
      fail(
          first, entry,
          "Escape takes frames out of a class's queue by flow, and a policy orders them: use one of the two");
    if (entry.config.mechanisms.is_on("bfc"))
      fail(first, entry, "BFC serves a class's queues in turn, and a policy orders them: use one of the two");
    for (std::uint32_t i = 0; i < settings.policies.sources.size(); ++i)
      if (const std::string problem = problem_of_builtin(entry.config);
          settings.policies.sources[i].files.empty() && !problem.empty())
        fail(i, entry, "\"builtin\" as a program: " + problem);
    try {
      const std::vector<PortConfig> ports = port_configs(plan.world.ports, entry);
      for (const PolicyChange& change : policy_changes(settings.policies, s, entry.config, ports))
        room = std::max(room, room_of(*change.program, plan.wire_mtu));
    } catch (const std::runtime_error& error) {
      refuse(plan.settings, settings.keys.front(),
             std::string("the policy of switch \"") + entry.name + "\" has errors:\n" + error.what());
    }
  }
  plan.world.policies = packed(settings.policies);
  return room;
}

}  // namespace rocelab
