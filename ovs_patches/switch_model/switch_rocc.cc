// RoCC in the switch: when the congestion points of a port work, and how their feedback leaves. The laws are
// rocc_cp.h (fair rate) and rocc_flow_table.h (whom to tell); Menikkumbura, 3.3.2 to 3.3.4.
#include <algorithm>
#include <string>
#include <utility>

#include "ovs_patches/switch_model/switch_path.h"

namespace rocelab {

void Switch::Impl::add_congestion_points(const Rng& rng) {
  for (std::size_t p = 0; p < ports.size(); ++p) {
    const RoccParams& params = ports[p].config.rocc;
    const auto most = static_cast<std::uint32_t>(params.f_max.bps() / params.f_min.bps());
    for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc) {
      if ((config.rocc.classes >> tc & 1) == 0) continue;
      const Rng own = rng.fork(std::to_string(p)).fork(std::to_string(tc));
      ports[p].congestion_points.push_back(
          {Tc{tc}, RoccCp(params), make_rocc_flow_table(config.rocc.table, most, own)});
      ports[p].cp_wants |= bit_of(Tc{tc});
      ports[p].watched |= bit_of(Tc{tc});
    }
  }
}

// A frame joins: a congestion point at rest begins to work at the next multiple of T, as if it had never
// rested. A flow table that counts frames sees all of them; the default one costs nothing from then on.
void Switch::Impl::cp_enqueued(PortId out, PortId in, const Packet& packet, Time now) {
  Port& port = at(out);
  for (CongestionPoint& point : port.congestion_points) {
    if (point.tc != packet.tc) continue;
    if (point.flows->wants_frames()) {
      if (rocc_counts(packet)) point.flows->on_frame(flow_of(packet, in), now);
    } else {
      port.cp_wants = static_cast<TcMask>(port.cp_wants & ~bit_of(packet.tc));
      if (!port.escape) port.watched = port.cp_wants;
    }
    if (!point.next.is_never()) return;
    const Duration period = point.cp.params().period;
    point.next = Time::zero() + period * ((now - Time::zero()) / period + 1);
    port.cp_next = std::min(port.cp_next, point.next);
    set_timer(out, port);
    return;
  }
}

void Switch::Impl::cp_timeout(PortId port_id, Port& port, Time now) {
  port.cp_next = Time::never();
  for (CongestionPoint& point : port.congestion_points) {
    if (point.next <= now) {
      const Bytes length = queues.bytes(port_id, point.tc);
      const bool computes = config.rocc.form == RoccForm::kRate;
      const bool tells = !computes || cp_updates(point, length);
      const std::uint64_t before = port.counters.rocc_cnps;
      const std::size_t told = tells ? notify_flows(port_id, point, length, now) : 0;
      trace.record({.time = now,
                    .kind = TraceKind::kFairRate,
                    .mark = point.tc.value,
                    .port = port_id.value,
                    .flow = static_cast<std::uint32_t>(port.counters.rocc_cnps - before),
                    .bytes = computes ? static_cast<std::uint64_t>(point.cp.rate().bps()) : 0,
                    .psn = static_cast<std::uint32_t>(length.count())});
      // A point that does not know F works as long as there is somebody to tell; ElephantTrap never forgets.
      const bool nobody = told == 0 || config.rocc.table.kind == RoccFlowTableKind::kElephantTrap;
      const bool rests = length == 0_B && (computes ? point.cp.unlimited() : nobody);
      point.next = rests ? Time::never() : point.next + point.cp.params().period;
      if (rests) port.cp_wants |= bit_of(point.tc);
      if (rests) port.watched |= bit_of(point.tc);
    }
    port.cp_next = std::min(port.cp_next, point.next);
  }
}

// While F was and is F_max this port holds nobody back, and there is nothing to tell.
bool Switch::Impl::cp_updates(CongestionPoint& point, Bytes length) {
  const bool was_unlimited = point.cp.unlimited();
  point.cp.update(length);
  return !was_unlimited || !point.cp.unlimited();
}

// How many it told.
std::size_t Switch::Impl::notify_flows(PortId port_id, CongestionPoint& point, Bytes length, Time now) {
  if (point.flows->wants_queue()) {
    queues.for_each(port_id, point.tc, [&](const Packet& packet, PortId in) {
      if (rocc_counts(packet)) point.flows->on_queued(flow_of(packet, in));
    });
  }
  FairRateFeedback feedback;
  feedback.cp = at(port_id).config.cp_address;
  feedback.rate = point.cp.units();
  feedback.report.form = config.rocc.form;
  if (config.rocc.form != RoccForm::kRate) {
    const std::int64_t units = std::min<std::int64_t>(point.cp.units_of(length), 0xffffffff);
    feedback.report.q_cur = static_cast<std::uint32_t>(units);
    feedback.report.period = static_cast<std::uint32_t>((now - Time::zero()) / point.cp.params().period);
    feedback.report.values = point.cp.values();
  }
  const std::vector<SwitchFlow>& flows = point.flows->take(now);
  for (const SwitchFlow& flow : flows) send_cnp(port_id, flow, feedback, now);
  return flows.size();
}

// A CNP leaves by the port through which the flow came: the way back begins there. It is charged to the
// congestion point's own port, and limited like any lossy frame; the paper lets CNPs be lost (3.3.5).
void Switch::Impl::send_cnp(PortId port_id, const SwitchFlow& flow, FairRateFeedback feedback, Time now) {
  Port& port = at(port_id);
  PacketRef packet = pool.make();
  feedback.dest = flow.dest;
  put_fair_rate(*packet, feedback);
  packet->src = flow.destination;
  packet->dst = flow.source;
  packet->roce.dscp = config.rocc.dscp;
  packet->tc = config.class_map.of(config.rocc.dscp);
  ++port.counters.rocc_cnps;
  const Tc tc = packet->tc;
  const Bytes frame = packet->frame();
  if (!egress_takes(flow.in, tc, frame))
    return note_drop(flow.in, port_id, *packet, SwitchDropReason::kEgressLimit, now);
  buffer.charge_lossy(port_id, tc, frame);
  enqueue(port_id, flow.in, std::move(packet), EgressQueues::kNoShare, now);
}

}  // namespace rocelab
