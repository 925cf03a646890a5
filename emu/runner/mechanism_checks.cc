#include "emu/runner/mechanism_checks.h"

#include <algorithm>
#include <map>
#include <vector>

#include "emu/runner/plan_checks.h"
#include "ovs_patches/switch_model/mechanism_table.h"
#include "ovs_patches/switch_model/network_facts.h"

namespace rocelab {
namespace {

bool asks(const MechanismType& type, const SwitchEntry& entry) {
  return type.problem_of_network != nullptr && type.is_on(entry.config.mechanisms.of(type));
}

NetworkFacts facts_of(const RunPlan& plan, std::size_t most_links) {
  NetworkFacts facts;
  facts.most_links = most_links;
  facts.base_rtt = plan.base_rtt;
  facts.slowest_link = std::ranges::min_element(plan.settings.topology.links(), {}, &Link::rate)->rate;
  facts.roce_hosts = std::ranges::any_of(
      plan.world.hosts, [](const HostEntry& host) { return host.nic.mode == TransportMode::kRoce; });
  facts.irn_go_back_n = plan.settings.nic.config.irn.go_back_n;
  facts.link_events = !plan.settings.link_events.empty();
  facts.wall_clock = plan.settings.engine.clock == ClockKind::kWall;
  return facts;
}

void look_at_paths(RunPlan& plan, const Routing& routing, const SwitchEntry& entry, NetworkFacts& facts) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> set_of;
  std::map<std::vector<std::uint32_t>, std::uint16_t> numbers;
  for (std::uint32_t host = 0; host < plan.world.hosts.size(); ++host) {
    const std::vector<std::uint32_t> ports = routing.next_ports(entry.node, host);
    for (const std::uint32_t port : ports)
      facts.path_sets_overlap |= set_of.try_emplace(port, ports).first->second != ports;
    if (ports.size() < 2) continue;
    if (facts.several_paths_to.empty()) facts.several_paths_to = plan.world.hosts[host].name;
    const auto number = static_cast<std::uint16_t>(numbers.size() + 1);
    const std::uint16_t own = numbers.try_emplace(ports, number).first->second;
    for (const std::uint32_t port : ports) plan.world.ports[entry.first_port + port].config.equal_cost = own;
  }
}

}  // namespace

void fit_mechanisms(RunPlan& plan, const Routing& routing, std::size_t most_links) {
  const NetworkFacts of_all = facts_of(plan, most_links);
  for (const SwitchEntry& entry : plan.world.switches) {
    if (std::ranges::none_of(mechanism_types(), [&](const auto& type) { return asks(type, entry); }))
      continue;
    NetworkFacts facts = of_all;
    facts.name = entry.name;
    look_at_paths(plan, routing, entry, facts);
    for (const MechanismType& type : mechanism_types())
      if (asks(type, entry))
        if (const auto problem =
                type.problem_of_network(entry.config.mechanisms.of(type), entry.config, facts))
          refuse(plan.settings, section_of(type) + "." + std::string(problem->key), problem->why);
  }
}

}  // namespace rocelab
