#include "ovs_patches/switch_model/mechanisms/codel.h"

#include <algorithm>

#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {
namespace {

constexpr std::string_view kPer[] = {"queue", "flow"};
constexpr auto kFields = fields(
    field<&CodelSwitchParams::enabled>("enabled", "frames of lossy classes that waited too long are dropped"),
    choice<&CodelSwitchParams::per_flow>("per", kPer,
                                         "whose delays are judged together; FQ-CoDel: `flow`, with "
                                         "`order = \"fair\"`"),
    field<&CodelSwitchParams::target>("target", "delay in the queue up to which nothing is dropped")
        .positive(),
    field<&CodelSwitchParams::interval>("interval", "for so long all delays must have been above it")
        .positive());

}  // namespace

Schema<CodelSwitchParams> CodelMechanism::schema() { return kFields; }

std::optional<SchemaProblem> CodelMechanism::problem_beside(const Params&, const SwitchConfig& config) {
  if (config.pfc.enabled && std::ranges::all_of(config.classes, &ClassConfig::lossless))
    return SchemaProblem{"", "drops frames, and all classes are lossless"};
  if (std::ranges::any_of(config.classes, &ClassConfig::preempt))
    return SchemaProblem{"", "judges whole frames at their departure, which preempt cuts"};
  return std::nullopt;
}

CodelMechanism::CodelMechanism(const Params& params, SwitchActions actions, Rng)
    : params_(params),
      actions_(actions),
      states_(std::size_t{actions.ports()} * kTrafficClasses),
      counters_(actions.ports()) {
  for (std::uint16_t p = 0; p < actions.ports(); ++p)
    for (const auto watch : {&SwitchActions::watch, &SwitchActions::watch_departures})
      (actions_.*watch)(PortId{p}, static_cast<TcMask>(~actions.lossless()));
}

std::uint64_t CodelMechanism::flow_key(const Packet& packet) const {
  return params_.per_flow ? flow_of(packet, PortId{0}).key() : 0;
}

CodelMechanism::State& CodelMechanism::state_of(PortId out, const Packet& packet) {
  return states_[out.value * std::size_t{kTrafficClasses} + packet.tc.value][flow_key(packet)];
}

void CodelMechanism::on_enqueue(PortId out, PortId, Packet& packet, Time) { ++state_of(out, packet).frames; }

void CodelMechanism::on_dequeue(PortId out, PortId, const Packet& packet, Time) {
  --state_of(out, packet).frames;
}

// The frame has left its queue; Packet::due is its arrival at this switch. As the chapter's code has it,
// nothing is dropped that leaves no other frame of its flow, or no more than a full frame in the whole queue.
bool CodelMechanism::discards(PortId out, const Packet& packet, Time now) {
  if (actions_.lossless(packet.tc)) return false;
  State& state = state_of(out, packet);
  const bool above = now - packet.due >= params_.target && state.frames > 0 &&
                     actions_.queued(out, packet.tc) > actions_.config().max_frame;
  const bool drops = state.law.drops(above, now, params_.interval);
  counters_[out.value].drops += drops;
  if (state.frames == 0 && state.law.is_idle(now, params_.interval))
    states_[out.value * std::size_t{kTrafficClasses} + packet.tc.value].erase(flow_key(packet));
  return drops;
}

}  // namespace rocelab
