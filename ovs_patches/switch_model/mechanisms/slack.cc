#include "ovs_patches/switch_model/mechanisms/slack.h"

#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {
namespace {

constexpr std::string_view kRanks[] = {"least-slack", "initial"};
constexpr auto kFields = fields(
    choice<&SlackParams::rank>("rank", kRanks,
                               "of a class with `order = \"ranked\"`: LSTF's, the last instant at which a "
                               "frame can leave with slack left; or the slack that the sender wrote, as a "
                               "static priority"),
    field<&SlackParams::missing>("missing", "slack by which a frame that carries none is ranked"));

}  // namespace

Schema<SlackParams> SlackMechanism::schema() { return kFields; }

SlackMechanism::SlackMechanism(const Params& params, SwitchActions actions, Rng)
    : params_(params), counters_(actions.ports()) {
  for (std::uint16_t p = 0; p < actions.ports(); ++p) clocks_.emplace_back(actions.port(PortId{p}).rate);
}

// Packet::due is the frame's arrival at this switch. One that the switch made itself arrives now.
std::int64_t SlackMechanism::rank(PortId out, const Packet& packet, Time now) const {
  if (packet.roce.has_hop_times) [[unlikely]]
    if (const HopTimes& times = PacketPool::hop_times(packet); times.ranks()) return times.head();
  const bool has = packet.roce.has_slack;
  const Slack slack = has ? PacketPool::slack(packet) : Slack{params_.missing.ps(), params_.missing.ps(), 0};
  if (params_.rank == SlackRank::kInitial) return slack.initial;
  const Time arrival = has ? packet.due : now;
  return slack.current + arrival.ps() + clocks_[out.value].wire_time(packet.frame()).ps();
}

// Pauses, a busy wire and higher classes are waiting, too. The rest is never clamped (5.1.2).
void SlackMechanism::on_transmit(PortId out, Packet& packet, Time now) {
  if (!packet.roce.has_slack) return;
  Slack& slack = PacketPool::slack(packet);
  counters_[out.value].waited += now > packet.due;
  slack.wait(now - packet.due);
  counters_[out.value].overdue += slack.current < 0;
  if (packet.roce.has_hop_times) [[unlikely]]
    PacketPool::hop_times(packet).leaves(now);
}

}  // namespace rocelab
