#include "ovs_patches/switch_model/mechanisms/rocc.h"

#include <algorithm>
#include <string>

#include "base/wire/controls.h"
#include "ovs_patches/switch_model/counters.h"
#include "ovs_patches/switch_model/mechanisms/feedback.h"
#include "ovs_patches/switch_model/queue.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

bool RoccMechanism::is_on(const SwitchConfig& config) { return config.rocc.enabled; }

RoccMechanism::RoccMechanism(SwitchActions actions, Rng rng) : actions_(actions), ports_(actions.ports()) {
  const RoccConfig& rocc = actions_.config().rocc;
  for (std::uint16_t p = 0; p < ports_.size(); ++p) {
    const RoccParams& params = actions_.port(PortId{p}).rocc;
    const auto most = static_cast<std::uint32_t>(params.f_max.bps() / params.f_min.bps());
    for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc) {
      if ((rocc.classes >> tc & 1) == 0) continue;
      const Rng own = rng.fork(std::to_string(p)).fork(std::to_string(tc));
      ports_[p].points.push_back({Tc{tc}, RoccCp(params), make_rocc_flow_table(rocc.table, most, own)});
      ports_[p].wants |= bit_of(Tc{tc});
    }
    actions_.watch(PortId{p}, ports_[p].wants);
  }
}

// A frame joins: a congestion point at rest begins to work at the next multiple of T, as if it had never
// rested. A flow table that counts frames sees all of them; the default one costs nothing from then on.
void RoccMechanism::on_enqueue(PortId out, PortId in, const Packet& packet, Time now) {
  Port& port = ports_[out.value];
  for (CongestionPoint& point : port.points) {
    if (point.tc != packet.tc) continue;
    if (point.flows->wants_frames()) {
      if (draws_feedback(packet)) point.flows->on_frame(flow_of(packet, in), now);
    } else {
      port.wants = static_cast<TcMask>(port.wants & ~bit_of(packet.tc));
      actions_.watch(out, port.wants);
    }
    if (!point.next.is_never()) return;
    const Duration period = point.cp.params().period;
    point.next = Time::zero() + period * ((now - Time::zero()) / period + 1);
    port.next = std::min(port.next, point.next);
    actions_.set_timer(out);
    return;
  }
}

void RoccMechanism::on_timeout(PortId port_id, Time now) {
  Port& port = ports_[port_id.value];
  port.next = Time::never();
  for (CongestionPoint& point : port.points) {
    if (point.next <= now) run_period(port_id, point, now);
    port.next = std::min(port.next, point.next);
  }
}

void RoccMechanism::run_period(PortId port_id, CongestionPoint& point, Time now) {
  const RoccConfig& rocc = actions_.config().rocc;
  SwitchPortCounters& counters = actions_.counters(port_id);
  const Bytes length = actions_.queued(port_id, point.tc);
  const bool computes = rocc.form == RoccForm::kRate;
  const bool tells = !computes || updates(point, length);
  const std::uint64_t before = counters.rocc_cnps;
  const std::size_t told = tells ? notify_flows(port_id, point, length, now) : 0;
  actions_.trace({.time = now,
                  .kind = TraceKind::kFairRate,
                  .mark = point.tc.value,
                  .port = port_id.value,
                  .flow = static_cast<std::uint32_t>(counters.rocc_cnps - before),
                  .bytes = computes ? static_cast<std::uint64_t>(point.cp.rate().bps()) : 0,
                  .psn = static_cast<std::uint32_t>(length.count())});
  // A point that does not know F works as long as there is somebody to tell; ElephantTrap never forgets.
  const bool nobody = told == 0 || rocc.table.kind == RoccFlowTableKind::kElephantTrap;
  const bool rests = length == 0_B && (computes ? point.cp.unlimited() : nobody);
  point.next = rests ? Time::never() : point.next + point.cp.params().period;
  if (!rests) return;
  Port& port = ports_[port_id.value];
  port.wants |= bit_of(point.tc);
  actions_.watch(port_id, port.wants);
}

// While F was and is F_max this port holds nobody back, and there is nothing to tell.
bool RoccMechanism::updates(CongestionPoint& point, Bytes length) {
  const bool was_unlimited = point.cp.unlimited();
  point.cp.update(length);
  return !was_unlimited || !point.cp.unlimited();
}

// How many it told.
std::size_t RoccMechanism::notify_flows(PortId port, CongestionPoint& point, Bytes length, Time now) {
  if (point.flows->wants_queue()) {
    actions_.queues().for_each(port, point.tc, [&](const Packet& packet, PortId in) {
      if (draws_feedback(packet)) point.flows->on_queued(flow_of(packet, in));
    });
  }
  const RoccForm form = actions_.config().rocc.form;
  RoccReport report{form, 0, 0, {}};
  if (form != RoccForm::kRate) {
    const std::int64_t units = std::min<std::int64_t>(point.cp.units_of(length), 0xffffffff);
    report.q_cur = static_cast<std::uint32_t>(units);
    report.period = static_cast<std::uint32_t>((now - Time::zero()) / point.cp.params().period);
    report.values = point.cp.values();
  }
  const RoccFeedback feedback(actions_.port(port).cp_address, point.cp.units(), Qpn{}, report);
  const std::vector<SwitchFlow>& flows = point.flows->take(now);
  for (const SwitchFlow& flow : flows) send_cnp(port, flow, feedback, now);
  return flows.size();
}

// The paper lets CNPs be lost (3.3.5).
void RoccMechanism::send_cnp(PortId port, const SwitchFlow& flow, RoccFeedback feedback, Time now) {
  feedback.dest = flow.dest;
  ++actions_.counters(port).rocc_cnps;
  send_feedback(actions_, port, flow, feedback, actions_.config().rocc.dscp, now);
}

}  // namespace rocelab
