#include "ovs_patches/switch_model/mechanisms/rcp.h"

#include "base/rcp.h"
#include "ovs_patches/switch_model/network_facts.h"
#include "ovs_patches/switch_model/queue.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {
namespace {

constexpr Duration kNoRtt = 200_ms;  // d of a switch that nobody has told one: the ns-2 code's

constexpr auto kFields = fields(
    field<&RcpParams::alpha>("alpha", "alpha: gain on what is left of the link").within(1e-3, 10),
    field<&RcpParams::beta>("beta", "beta: gain on the queue").within(0, 10),
    field<&RcpParams::gamma>("gamma", "share of the link that is aimed at").within(0.01, 1),
    field<&RcpParams::slot>("slot", "T: time between updates, at most the mean round trip")
        .within(1_us, 10_s),
    field<&RcpParams::initial>("initial", "share of the link that a port allows at first").within(1e-6, 1),
    field<&RcpParams::rtt>("rtt",
                           "d: the mean round trip at first; computed: of a full frame and its ACK on the "
                           "longest path")
        .within(1_us, 100_s)
        .or_word("computed"),
    field<&RcpParams::min_rate>("min_rate", "floor of a port's rate")
        .within(Rate::from_bps(1'000), 1'000_Gbps));

}  // namespace

Schema<RcpParams> RcpMechanism::schema() { return kFields; }

void RcpMechanism::follow(Params& params, std::string_view congestion_control, std::string_view /*preset*/) {
  params.enabled = congestion_control == kName;
}

std::optional<SchemaProblem> RcpMechanism::problem_of_network(const Params&, const SwitchConfig&,
                                                              const NetworkFacts& network) {
  if (!network.wall_clock) return std::nullopt;
  return SchemaProblem{"",
                       "RCP puts a header of our own into every data frame, which foreign devices of "
                       "engine.clock = \"wall\" do not know: choose another congestion control"};
}

RcpMechanism::RcpMechanism(const Params& p, SwitchActions actions, Rng) : actions_(actions) {
  ports_.reserve(actions.ports());
  for (std::uint16_t n = 0; n < actions.ports(); ++n) {
    const Duration rtt = p.rtt > Duration{} ? p.rtt : kNoRtt;
    const RcpLaw law{p.alpha, p.beta, p.gamma, p.slot, p.initial, rtt, p.min_rate};
    const RcpCp cp(law, actions.port(PortId{n}).rate);
    ports_.push_back({cp, Time::zero() + cp.slot(), Time::never(), {}});
    actions_.watch(PortId{n}, static_cast<TcMask>(~0));
  }
}

// Of all classes, as on the wire.
Bytes RcpMechanism::waiting(PortId port) const {
  Bytes sum;
  for (std::uint8_t n = 0; n < kTrafficClasses; ++n)
    sum += actions_.queues().bytes(port, Tc{n}) +
           wire_bytes(0_B) * static_cast<std::int64_t>(actions_.queues().frames(port, Tc{n}));
  return sum;
}

// A frame is about to join a queue of the port.
void RcpMechanism::on_enqueue(PortId out, PortId, const Packet& packet, Time now) {
  Port& port = ports_[out.value];
  if (port.timer.is_never()) {
    port.timer = port.end = port.cp.pass_idle(port.end, now);
    actions_.set_timer(out);
  }
  const auto header = packet.kind == PacketKind::kAck ? std::nullopt : rcp_of(packet);
  port.cp.on_frame(wire_bytes(packet.frame()), header ? header->rtt() : Duration{});
}

void RcpMechanism::on_timeout(PortId out, Time now) {
  Port& port = ports_[out.value];
  const Bytes queue = waiting(out);
  const bool rests = port.cp.idle() && queue == 0_B;
  port.counters.updates += !rests;
  port.end = now + port.cp.end_slot(queue);
  port.timer = rests ? Time::never() : port.end;
}

void RcpMechanism::on_transmit(PortId out, Packet& packet, Time) {
  if (packet.kind == PacketKind::kAck) return;
  auto header = rcp_of(packet);
  Port& port = ports_[out.value];
  const std::uint32_t kbps = RcpHeader::of(port.cp.rate(), {}).kbps;
  if (!header || header->kbps <= kbps) return;
  header->kbps = kbps;
  put_rcp(packet, *header);
  ++port.counters.lowered;
}

}  // namespace rocelab
