#include "emu/runner/mechanism_checks.h"

#include <algorithm>
#include <map>
#include <vector>

#include "emu/runner/plan_checks.h"
#include "ovs_patches/switch_model/mechanisms/load_balance.h"
#include "ovs_patches/switch_model/mechanisms/pipeline.h"

namespace rocelab {
namespace {

bool balances(const SwitchConfig& config) { return config.mechanisms.of<LoadBalanceMechanism>().enabled; }

// Go-back-N takes a frame that has been overtaken for a lost one.
void check_transports(const RunPlan& plan) {
  const std::string what = "switch.load_balance lets frames of a flow overtake one another, which ";
  for (const HostEntry& host : plan.world.hosts)
    if (host.nic.mode == TransportMode::kRoce)
      refuse(plan.settings, "switch.load_balance.enabled",
             what + "RoCE's go-back-N takes for loss: use mode \"irn\"");
  if (plan.settings.nic.config.irn.go_back_n)
    refuse(plan.settings, "switch.load_balance.enabled", what + "irn.go_back_n takes for loss");
}

}  // namespace

void number_equal_cost_ports(RunPlan& plan, const Routing& routing) {
  for (const SwitchEntry& entry : plan.world.switches) {
    if (!balances(entry.config)) continue;
    std::map<std::uint32_t, std::vector<std::uint32_t>> set_of;
    std::map<std::vector<std::uint32_t>, std::uint16_t> numbers;
    for (std::uint32_t host = 0; host < plan.world.hosts.size(); ++host) {
      const std::vector<std::uint32_t> ports = routing.next_ports(entry.node, host);
      for (const std::uint32_t port : ports)
        if (set_of.try_emplace(port, ports).first->second != ports)
          refuse(plan.settings, "switch.load_balance.enabled",
                 "switch.load_balance: a port of \"" + std::string(entry.name) +
                     "\" is of two sets of equal-cost paths; it needs a topology whose sets do not overlap, "
                     "as leaf-spine and fat-tree");
      if (ports.size() < 2) continue;
      const auto number = static_cast<std::uint16_t>(numbers.size() + 1);
      const std::uint16_t own = numbers.try_emplace(ports, number).first->second;
      for (const std::uint32_t port : ports)
        plan.world.ports[entry.first_port + port].config.equal_cost = own;
    }
  }
}

void refuse_unfit_networks(const RunPlan& plan) {
  for (const SwitchEntry& entry : plan.world.switches) {
    const auto pipeline = entry.config.mechanisms.of<PipelineMechanism>();
    if (pipeline.enabled && pipeline.full == PipelineFull::kStop &&
        plan.settings.engine.clock == ClockKind::kWall)
      refuse(plan.settings, "switch.pipeline.full",
             "switch.pipeline.full = \"stop\" may deadlock, and foreign devices would wait for ever: use "
             "clock = \"lockstep\" or \"skip-port\"");
    if (!balances(entry.config)) continue;
    check_transports(plan);
    if (!plan.settings.link_events.empty())
      refuse(
          plan.settings, "switch.load_balance.enabled",
          "switch.load_balance keeps the sets of paths of the healthy network: use it without link events");
  }
}

}  // namespace rocelab
