// Checks of a replay (slack.law = "replay") and of the run that it replays: same packets, instants and paths,
// and no drops (Mittal, 5.1.1).
#include <algorithm>
#include <string>

#include "emu/runner/plan_checks.h"

namespace rocelab {
namespace {

[[noreturn]] void refuse_original(const Settings& settings, const std::string& why) {
  refuse(settings, "slack.of", "slack.of = \"" + settings.replay_of + "\" " + why);
}

bool same_flow(const Flow& a, const Flow& b) {
  return a.src == b.src && a.dst == b.dst && a.size == b.size && a.message_size == b.message_size &&
         a.start == b.start && a.service == b.service && a.qps == b.qps;
}
bool same_link(const Link& a, const Link& b) {
  return a.a == b.a && a.b == b.b && a.rate == b.rate && a.delay == b.delay;
}

bool preempts(const Settings& settings) {
  for (const SwitchConfig* config : switch_configs(settings))
    if (std::ranges::any_of(config->classes, &ClassConfig::preempt)) return true;
  return false;
}

// Whatever depends on what comes back would not be there at the same instants.
std::string problem_with(const RunPlan& plan) {
  const Settings& s = plan.settings;
  if (s.switches.pfc.enabled) return "pauses packets at hosts: replays are of labels without PFC";
  if (s.nic.config.slack.edge.aqm != EdgeConfig::Aqm::kNone)
    return "has queue management at the edge (slack.edge), which drops or marks packets";
  for (const SwitchConfig* config : switch_configs(s))
    if (config->mechanisms.is_on("codel")) return "has CoDel in its switches, which drops packets";
  if (s.nic.config.cc.in_use()) return "has congestion control, which changes when packets leave";
  for (const Flow& flow : plan.flows)
    if (flow.service == FlowService::kRc || !flow.after.empty())
      return "has flows whose packets wait for answers: write service = \"ud\" in workload " + flow.group;
  if (!s.link_events.empty() || std::ranges::any_of(s.topology.links(), [](const Link& link) {
        return link.a_to_b != FaultConfig{} || link.b_to_a != FaultConfig{};
      }))
    return "loses packets on links, and what has not arrived cannot be replayed";
  if (s.topology.paths != PathChoice::kAll) return {};
  const Routing routing(s.topology);
  for (std::uint32_t node = s.topology.hosts(); node < s.topology.nodes().size(); ++node)
    for (std::uint32_t host = 0; host < s.topology.hosts(); ++host)
      if (routing.next_ports(node, host).size() > 1)
        return "has several paths to " + s.topology.nodes()[host].name +
               ": write topology.paths = \"single\"";
  return {};
}

}  // namespace

const Settings* find_original(const Scenario& scenario, const Settings& settings) {
  const std::string own = settings.label.substr(0, settings.label.rfind(','));
  for (const Settings& other : scenario.settings)
    if (other.label == settings.replay_of || other.label == own + "," + settings.replay_of) return &other;
  return nullptr;
}

bool takes_part_in_replay(const Scenario& scenario, const Settings& settings) {
  return settings.nic.config.slack.replays() ||
         std::ranges::any_of(scenario.settings, [&](const Settings& other) {
           return other.nic.config.slack.replays() && find_original(scenario, other) == &settings;
         });
}

const Settings& original_of(const Scenario& scenario, const Settings& settings) {
  const Settings* original = find_original(scenario, settings);
  if (original == nullptr) {
    std::string labels;
    for (const Settings& other : scenario.settings)
      if (&other != &settings) labels += (labels.empty() ? "" : ", ") + other.label;
    refuse_original(settings, "is no label here: " + labels);
  }
  const SlackConfig& slack = original->nic.config.slack;
  const std::string names = "names " + original->label + ", ";
  if (!slack.on())
    refuse_original(settings, names +
                                  "whose frames carry no slack and are shorter: give it slack.law = "
                                  "\"constant\"");
  if (slack.replays()) refuse_original(settings, names + "which is a replay itself: name its original");
  if (settings.nic.config.slack.law == SlackLaw::kOmniscient && !slack.hop_times)
    refuse_original(settings, names +
                                  "whose frames do not collect the times that this one needs: give it "
                                  "slack.hop_times = true");
  return *original;
}

void check_replay(const RunPlan& plan) {
  const RunPlan& original = *plan.original;
  for (const RunPlan* run : {&original, &plan})
    if (const std::string problem = problem_with(*run); !problem.empty())
      refuse_original(plan.settings, "names " + original.label + ", and " + run->label + " " + problem);
  if (plan.settings.nic.config.slack.law == SlackLaw::kOmniscient && preempts(original.settings))
    refuse_original(plan.settings,
                    "names " + original.label +
                        ", in which frames are preempted: what is replayed by the times of all "
                        "switches is not (Mittal, A.1)");
  if (!std::ranges::equal(plan.flows, original.flows, same_flow))
    refuse_original(plan.settings, "names " + original.label + ", which has other flows");
  if (!std::ranges::equal(plan.settings.topology.links(), original.settings.topology.links(), same_link) ||
      plan.wire_mtu != original.wire_mtu)
    refuse_original(plan.settings, "names " + original.label + ", which has other links or frames");
  if (plan.routes != original.routes)
    refuse_original(plan.settings, "names " + original.label + ", in which packets take other paths");
}

}  // namespace rocelab
