#include "emu/runner/plan_checks.h"

#include <algorithm>

#include "base/slack.h"
#include "emu/runner/identity.h"
#include "irn_provider/cc/cc_algorithm.h"
#include "ovs_patches/switch_model/headroom.h"

namespace rocelab {
namespace {

void check_start(const RunPlan& plan, const Flow& flow) {
  const Topology& topology = plan.settings.topology;
  const Duration limit = plan.settings.engine.limit, start = flow.start - Time::zero();
  if (start >= limit)
    refuse(plan.settings, plan.settings.places.contains("engine.limit") ? "engine.limit" : "workload",
           "flow " + std::to_string(flow.id) + " (\"" + flow.group + "\", from \"" +
               topology.nodes()[flow.src].name + "\" to \"" + topology.nodes()[flow.dst].name +
               "\") begins at " + to_string(start) + ", and engine.limit ends the run at " +
               to_string(limit) + ": raise it, or let no flow begin so late");
}

void check_planes(const RunPlan& plan, const Flow& flow) {
  const Topology& topology = plan.settings.topology;
  if (!topology.reaches(flow.src, flow.dst))
    refuse(plan.settings, "workload",
           "a flow of \"" + flow.group + "\" goes from \"" + topology.nodes()[flow.src].name + "\" to \"" +
               topology.nodes()[flow.dst].name +
               "\", which are in different planes: no link leads from one to the other");
}

// Parts that switches write come back in acknowledgements of data. RoCE acknowledges no READ response: its
// sender would hear nothing.
void check_read(const RunPlan& plan, const Flow& flow) {
  const NicConfig& sender = plan.world.hosts[flow.src].nic;
  const CcNeeds& needs = sender.cc.needs();
  if (flow.op == FlowOp::kRead && sender.mode == TransportMode::kRoce && (needs.telemetry || needs.path_rate))
    refuse(plan.settings, "workload",
           "READs over RoCE with " + std::string(name_of(sender.cc)) +
               ": RoCE acknowledges no READ response, so that none brings "
               "back what switches say. Use op = \"write\", or mode \"irn\"");
}

// Picoseconds in 64 bits end after 106 days.
void check_duration(const RunPlan& plan, const Routing& routing, const Flow& flow, Bytes on_wire) {
  const Path path = routing.path(flow.src, flow.dst);
  const Rate slowest = std::ranges::min_element(path, {}, &Hop::rate)->rate;
  if (static_cast<double>(on_wire.count()) * 8 >
      kLongestDuration.seconds() * static_cast<double>(slowest.bps()))
    refuse(plan.settings, "workload",
           "a flow of " + to_string(flow.size) + " would take more than " + to_string(kLongestDuration) +
               " at " + to_string(slowest));
}

// Mittal, 5.2.1: D for each packet of a message, or of a flow over UD, is what a frame carries.
void check_slack(const RunPlan& plan, const Flow& flow) {
  const NicConfig& sender = plan.world.hosts[flow.src].nic;
  const SlackLaw law = sender.slack.law;
  if (law != SlackLaw::kFlowSize && law != SlackLaw::kRemaining) return;
  const std::int64_t of_message =
      (flow.message_size.count() + sender.active_mtu - 1) / std::int64_t{sender.active_mtu};
  const auto of_flow = static_cast<std::int64_t>(flow.packets);
  const std::int64_t packets = flow.service == FlowService::kUd ? of_flow : std::min(of_flow, of_message);
  const Duration most = Duration::from_ps(Slack::kMost / std::max<std::int64_t>(packets, 1));
  if (sender.slack.per_packet > most)
    refuse(plan.settings, "slack.per_packet",
           "slack.per_packet = \"" + to_string(sender.slack.per_packet) + "\" for each of the " +
               std::to_string(packets) + " packets that \"" + flow.group +
               "\" sends at once is more than a frame can carry, 26 days: write at most \"" +
               to_string(Duration::from_ps(most.ps() / 1'000'000 * 1'000'000)) + "\"");
}

}  // namespace

void refuse(const Settings& settings, const std::string& key, const std::string& why) {
  throw ScenarioError(place_of(settings, key) + ": " + why);
}

namespace {

// Of the ports of one group's switches, or of those in no group (null).
void check_buffer(const RunPlan& plan, const SwitchGroup* group) {
  const SwitchConfig& config = group != nullptr ? group->config : plan.settings.switches;
  const bool lossless = std::ranges::any_of(config.classes, [](const ClassConfig& c) { return c.lossless; });
  if (!config.pfc.enabled || !lossless) return;
  std::size_t most = 0;
  Bytes least;
  for (std::size_t p = 0; p < plan.world.ports.size(); ++p) {
    const std::uint32_t node = plan.world.switches[plan.world.ports[p].switch_index].node;
    if (group_of(plan.settings, node) != group) continue;
    if (const Bytes need = least_ingress_buffer(config, plan.world.ports[p].config); need > least)
      least = need, most = p;
  }
  if (least <= config.ingress_buffer) return;
  const PortLimits& port = plan.limits[most];
  refuse(plan.settings, "switch.lossless_buffer",
         "switch.lossless_buffer = \"" + to_string(config.ingress_buffer) + "\" is too small for PFC: port " +
             port.interface + " to " + port.peer + " (" + to_string(port.rate) + ", " +
             to_string(port.delay) + ") needs " + to_string(least) + ", of which " +
             to_string(port.headroom) + " are headroom. Write at least \"" + to_string(least) +
             "\", which is enough for every port");
}

}  // namespace

void check_buffers(const RunPlan& plan) {
  check_buffer(plan, nullptr);
  for (const SwitchGroup& group : plan.settings.switch_groups) check_buffer(plan, &group);
}

// A stream lasts as long as it says.
void check_stops(const RunPlan& plan) {
  for (const WorkloadSettings& w : plan.settings.workloads)
    if (w.stop != Duration::infinite() && w.stop > plan.settings.engine.limit)
      refuse(plan.settings, plan.settings.places.contains("engine.limit") ? "engine.limit" : "workload",
             "workload \"" + w.name + "\" stops at " + to_string(w.stop) +
                 ", and engine.limit ends the run at " + to_string(plan.settings.engine.limit) +
                 ": raise it, or stop earlier");
}

void check_flow(const RunPlan& plan, const Routing& routing, const Flow& flow, Bytes on_wire) {
  check_planes(plan, flow);
  check_start(plan, flow);
  check_duration(plan, routing, flow, on_wire);
  check_read(plan, flow);
  check_slack(plan, flow);
}

}  // namespace rocelab
