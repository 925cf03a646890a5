#include "ovs_patches/switch_model/mechanisms/bfc.h"

#include <bit>
#include <string>
#include <utility>

#include "ovs_patches/switch_model/counters.h"
#include "ovs_patches/switch_model/network_facts.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {
namespace {

constexpr auto kFields = fields(
    field<&BfcSwitchParams::tc>("tc", "class of the data that wait in queues by flow").within(0, 7),
    field<&BfcSwitchParams::queues>("queues", "N: queues of a port").within(1, BfcEgress::kMostQueues),
    field<&BfcSwitchParams::flows>("flows",
                                   "entries of a port's table of flows; flows of one entry are one flow")
        .within(1, 1'000'000),
    field<&BfcSwitchParams::factor>(
        "factor",
        "a queue pauses what comes in beyond this many times the bytes that it may "
        "send in `hop_rtt` when the port's queues that are neither empty nor "
        "paused share the link")
        .within(0.01, 100),
    field<&BfcSwitchParams::hop_rtt>("hop_rtt",
                                     "HRTT: time from a pause until it acts here; computed: twice the link's "
                                     "delay and a full frame's time on the wire")
        .positive()
        .or_word("computed"),
    field<&BfcSwitchParams::hysteresis>("hysteresis",
                                        "a flow without a frame in the switch keeps its queue for so long; "
                                        "computed: three times `hop_rtt`")
        .positive()
        .or_word("computed"),
    field<&BfcSwitchParams::period>("period",
                                    "a port tells its peer at most so often which queues it pauses; that it "
                                    "pauses one no longer, at once")
        .within(1_ns, 1_s));

}  // namespace

Schema<BfcSwitchParams> BfcMechanism::schema() { return kFields; }

void BfcMechanism::follow(Params& params, std::string_view congestion_control, std::string_view /*preset*/) {
  params.enabled = congestion_control == kName;
}

std::optional<SchemaProblem> BfcMechanism::problem_beside(const Params& params, const SwitchConfig& config) {
  const ClassConfig& own = config.classes[params.tc];
  const std::string which = "class " + std::to_string(params.tc);
  if (config.queue_order != QueueOrder::kFifo || own.order != QueueOrder::kFifo)
    return SchemaProblem{"", "has an order of its own for " + which + ": use it with order = \"fifo\""};
  if (own.full != FullRule::kRefuse || config.port_rule != PortRule::kRefuse)
    return SchemaProblem{"", "pushes no frame of " + which + " out of its queue: use it with \"refuse\""};
  for (const std::string_view other : {"escape", "loop_breaker", "watchdog", "codel", "slack"})
    if (config.mechanisms.is_on(other))
      return SchemaProblem{
          "", "and switch." + std::string(other) + " have not been brought together: use one of them"};
  return std::nullopt;
}

std::optional<SchemaProblem> BfcMechanism::problem_of_network(const Params&, const SwitchConfig&,
                                                              const NetworkFacts& network) {
  if (network.wall_clock)
    return SchemaProblem{"",
                         "BFC puts a header of our own into every data frame, which foreign devices of "
                         "engine.clock = \"wall\" do not know: choose another congestion control"};
  if (network.link_events)
    return SchemaProblem{"",
                         "BFC's pauses are sent once, and one that a failed link loses would hold its queues "
                         "for ever: use it without link events"};
  return std::nullopt;
}

BfcLaw BfcMechanism::law(const Params& params, const SwitchConfig& config, const PortConfig& link) {
  const Duration rtt =
      params.hop_rtt > Duration{} ? params.hop_rtt : link.delay * 2 + wire_time(config.max_frame, link.rate);
  const double bytes =
      params.factor * static_cast<double>(link.rate.bps()) / 8e12 * static_cast<double>(rtt.ps());
  return {params.queues, params.flows, params.hysteresis > Duration{} ? params.hysteresis : rtt * 3,
          Bytes::from_count(static_cast<std::int64_t>(bytes))};
}

BfcMechanism::BfcMechanism(const Params& params, SwitchActions actions, Rng rng)
    : params_(params),
      tc_{static_cast<std::uint8_t>(params.tc)},
      actions_(actions),
      rng_(rng),
      ports_(actions.ports()) {
  actions_.serve_in_turn(tc_, params_.queues);
  for (std::uint16_t p = 0; p < actions_.ports(); ++p) actions_.watch(PortId{p}, bit_of(tc_));
}

BfcEgress& BfcMechanism::egress_of(PortId out) {
  std::unique_ptr<BfcEgress>& egress = ports_[out.value].egress;
  if (egress == nullptr) {
    ports_[out.value].waiting.resize(params_.queues);
    egress = std::make_unique<BfcEgress>(law(params_, actions_.config(), actions_.port(out)),
                                         rng_.fork(std::to_string(out.value)));
  }
  return *egress;
}

// Nothing of the class may leave where all that waits is in paused queues.
void BfcMechanism::hold(PortId out) {
  const Port& port = ports_[out.value];
  actions_.hold(out, tc_, port.ahead == 0 && !port.egress->may_send());
}

std::int64_t BfcMechanism::rank(PortId, const Packet& packet, Time) const {
  return names_queue(packet) ? packet.roce.bfc_joined + 1 : 0;
}

void BfcMechanism::on_enqueue(PortId out, PortId in, Packet& packet, Time now) {
  Port& port = ports_[out.value];
  BfcEgress& egress = egress_of(out);
  if (!names_queue(packet)) {
    ++port.ahead;
    return hold(out);
  }
  const BfcEgress::Joined joined = egress.on_joined(flow_of(packet, in).key(), packet.frame(), now);
  packet.roce.bfc_joined = joined.queue;
  packet.roce.bfc_pauses = joined.pauses;
  port.waiting[joined.queue].push_back({in, packet.frame()});
  port.counters.shared = egress.shared_queues();
  hold(out);
  if (!joined.pauses) return;
  ++port.counters.pausing;
  Port& from = ports_[in.value];
  if (from.ingress == nullptr) from.ingress = std::make_unique<BfcIngress>();
  from.ingress->add(packet.roce.bfc_queue);
  if (!from.ingress->changed() || !from.tell_at.is_never()) return;
  from.tell_at = Time::zero() + params_.period * ((now - Time::zero()).ps() / params_.period.ps() + 1);
  actions_.set_timer(in);
}

void BfcMechanism::on_transmit(PortId out, Packet& packet, Time now) {
  if (packet.tc != tc_) return;
  Port& port = ports_[out.value];
  if (!names_queue(packet)) {
    --port.ahead;
    return hold(out);
  }
  const std::uint8_t upstream = std::exchange(packet.roce.bfc_queue, packet.roce.bfc_joined);
  const auto [in, length] = port.waiting[packet.roce.bfc_joined].take_front();
  port.egress->on_left(flow_of(packet, in).key(), packet.roce.bfc_joined, length, now);
  hold(out);
  if (packet.roce.bfc_pauses && ports_[in.value].ingress->remove(upstream)) tell(in);
}

void BfcMechanism::on_timeout(PortId port, Time) {
  if (ports_[port.value].ingress->changed()) return tell(port);
  ports_[port.value].tell_at = Time::never();
}

// The peer hears which queues are to be paused now.
void BfcMechanism::tell(PortId ingress) {
  Port& port = ports_[ingress.value];
  if (!std::exchange(port.tell_at, Time::never()).is_never()) actions_.set_timer(ingress);
  if (!port.ingress->changed()) return;
  port.ingress->told();
  PacketRef packet = actions_.make_packet();
  put_control(*packet, BfcPause{tc_, port.ingress->wanted()});
  ++port.counters.sent;
  actions_.send_control(ingress, std::move(packet));
}

void BfcMechanism::on_message(PortId in, std::span<const PortId>, PacketRef message, Time) {
  const BfcPause pause = control_of<BfcPause>(*message);
  Port& port = ports_[in.value];
  ++port.counters.received;
  if (pause.tc != tc_) return;
  BfcEgress& egress = egress_of(in);
  for (std::uint64_t left = egress.set_paused(pause.queues); left != 0; left &= left - 1) {
    const auto queue = static_cast<std::uint32_t>(std::countr_zero(left));
    actions_.set_open(in, tc_, queue + 1, !egress.is_paused(queue));
  }
  hold(in);
}

bool BfcMechanism::ignore(SwitchPortCounters&, const Packet&) { return true; }

}  // namespace rocelab
