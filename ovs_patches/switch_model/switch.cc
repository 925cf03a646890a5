// The way out and the pauses; the way in is in switch_input.cc, what is shown in switch_report.cc.
#include "ovs_patches/switch_model/switch.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "ovs_patches/switch_model/switch_path.h"

namespace rocelab {
namespace {

TcMask lossless_classes_of(const SwitchConfig& config) {
  TcMask mask = 0;
  for (int tc = 0; tc < kTrafficClasses; ++tc) {
    if (config.pfc.enabled && config.classes[tc].lossless) mask |= bit_of(Tc{static_cast<std::uint8_t>(tc)});
  }
  return mask;
}

const SwitchConfig& checked(const SwitchConfig& config, std::span<const PortConfig> ports) {
  const std::string problem = problem_of(config, ports);
  if (!problem.empty()) std::fprintf(stderr, "switch: %s\n", problem.c_str());
  RL_CHECK(problem.empty());
  return config;
}

}  // namespace

Switch::Impl::Port::Port(const SwitchConfig& switch_config, const PortConfig& port_config)
    : requests(switch_config.pfc.quanta, switch_config.pfc.refresh_percent, port_config.rate),
      pauses(port_config.rate),
      scheduler(switch_config),
      config(port_config) {}

Switch::Impl::Impl(const SwitchConfig& c, std::span<const PortConfig> port_configs, Rng rng, PacketPool& p,
                   TraceSink& t, FrameOwner* f)
    : config(checked(c, port_configs)),
      lossless_classes(lossless_classes_of(c)),
      pool(p),
      trace(t),
      frames(f),
      buffer(c, port_configs),
      queues(port_configs.size(), c.queue_order, c.escape.flow_bits()),
      ecn(rng.fork("red_ecn")),
      port_count(port_configs.size()),
      timers(port_configs.size()) {
  ports.reserve(port_configs.size());
  for (const PortConfig& port_config : port_configs) ports.emplace_back(c, port_config);
  if (c.rocc.enabled) add_congestion_points(rng.fork("rocc"));
  if (c.escape.enabled) add_escape(rng.fork("escape"));
  if (c.pfc.watchdog.period > 0_ps) add_watchdogs();
  if (c.loop_breaker.enabled) add_loop_breakers(rng.fork("loop_breaker"));
}

// Link-local frames of mechanisms: never paused, ahead of all data, behind PFC.
void Switch::Impl::send_control(PortId port_id, Port& port, PacketRef packet) {
  const bool idle = !port.has_more();
  port.control.push_back(std::move(packet));
  port.urgent = true;
  if (idle) list_ready(port_id, port);
}

PacketRef Switch::Impl::transmit_urgent(PortId port_id, Port& port, Time now) {
  if (port.control.empty()) return transmit_escaping(port_id, port, now);
  PacketRef packet = port.control.take_front();
  port.urgent = !port.control.empty() || (port.escape && !port.escape->queue.empty());
  return packet;
}

PacketRef Switch::Impl::make_pfc(Port& port, Time now) {
  const PfcFrame frame = port.requests.make_frame(now);
  for (int tc = 0; tc < kTrafficClasses; ++tc) {
    if ((frame.class_enable >> tc & 1) == 0) continue;
    ++(frame.time[tc] != 0 ? port.counters.xoff_sent : port.counters.xon_sent)[tc];
  }
  PacketRef packet = pool.make();
  put_pfc(*packet, frame);
  return packet;
}

void Switch::Impl::request_pause(PauseOwner owner, PortId ingress, Tc tc, bool on, Time now) {
  Port& port = at(ingress);
  const bool idle = !port.has_more();
  if (!port.requests.request(static_cast<unsigned>(owner), tc, on)) return;
  trace_class(on ? TraceKind::kXoff : TraceKind::kXon, ingress, tc, buffer.held(ingress, tc), now);
  if (idle && port.has_more()) list_ready(ingress, port);
  if (on && escapes(tc)) escape_asked(ingress, port, now);
}

// Mechanisms that see frames join; each says in Port::watched whether it still needs to.
void Switch::Impl::joined(PortId out, PortId in, const Packet& packet, Time now) {
  Port& port = at(out);
  if (((port.cp_wants | port.escape_more) & bit_of(packet.tc)) != 0) return joined_more(out, in, packet, now);
  if (escapes(packet.tc)) escape_joined(port, in, packet);
}

// Those that ask for more than a place in a table.
void Switch::Impl::joined_more(PortId out, PortId in, const Packet& packet, Time now) {
  Port& port = at(out);
  if ((port.cp_wants & bit_of(packet.tc)) != 0) cp_enqueued(out, in, packet, now);
  if (!escapes(packet.tc)) return;
  escape_joined(port, in, packet);
  if (port.escape_more != 0) escape_joined_more(out, port, packet, now);
}

void Switch::Impl::trace_changes(PortId port, PauseState::Change change, Time now) {
  if (config.escape.announce && (change.paused & escape_classes) != 0)
    wait_to_announce(port, at(port), at(port).waiting, now);
  if (at(port).watchdog && (change.paused | change.resumed) != 0) watch_pauses(at(port), change, now);
  if (LoopBreaker* breaker = at(port).loop_breaker.get()) {
    if (change.paused != 0) breaker->on_paused(change.paused, at(port).waiting, now);
    if (change.resumed != 0) breaker->on_resumed(change.resumed);
  }
  for (std::uint8_t n = 0; n < kTrafficClasses; ++n) {
    const Tc tc{n};
    if ((change.paused & bit_of(tc)) != 0)
      trace_class(TraceKind::kPaused, port, tc, queues.bytes(port, tc), now);
    if ((change.resumed & bit_of(tc)) != 0)
      trace_class(TraceKind::kResumed, port, tc, queues.bytes(port, tc), now);
  }
}

void Switch::Impl::set_timer(PortId port_id, const Port& port) {
  Time next = std::min({port.requests.next_timeout(), port.pauses.next_timeout(), port.cp_next});
  if (port.watchdog) next = std::min(next, port.watchdog->next_timeout());
  if (port.loop_breaker) next = std::min(next, port.loop_breaker->next_timeout());
  if (const EscapePort* escape = port.escape.get())
    next = std::min({next, escape->next, escape->announce_next, escape->pool.next_reclaim()});
  if (next != timers.time_of(port_id.value)) timers.set(port_id.value, next);
}

void Switch::Impl::trace_class(TraceKind kind, PortId port, Tc tc, Bytes bytes, Time now) {
  trace.record({.time = now,
                .kind = kind,
                .mark = tc.value,
                .port = port.value,
                .bytes = static_cast<std::uint64_t>(bytes.count())});
}

Switch::Switch(const SwitchConfig& config, std::span<const PortConfig> ports, Rng rng, PacketPool& pool,
               TraceSink& trace, FrameOwner* frames)
    : impl_(std::make_unique<Impl>(config, ports, rng, pool, trace, frames)) {}
Switch::~Switch() = default;
Switch::Switch(Switch&&) noexcept = default;

void Switch::on_packet(PortId in, std::span<const PortId> outs, PacketRef packet, Time now) {
  // What is not kept goes back to its pool here.
  impl_->classify(in, *packet);
  if (packet->kind == PacketKind::kFairRate)
    impl_->receive_feedback(in, outs, std::move(packet), now);
  else if (packet->kind == PacketKind::kEscaping)
    impl_->receive_escaping(in, outs, std::move(packet), now);
  else if (packet->kind == PacketKind::kEscapeAnnouncement)
    impl_->receive_announcement(in, outs, std::move(packet));
  else
    impl_->receive(in, outs, std::move(packet), now);
}

void Switch::on_control(PortId port_id, const Packet& pfc, Time now) {
  if (pfc.kind == PacketKind::kEscapeToken) return impl_->receive_token(port_id, pfc, now);
  if (pfc.kind == PacketKind::kClcm) return impl_->receive_clcm(port_id, pfc, now);
  Impl::Port& port = impl_->at(port_id);
  PfcFrame frame = pfc_of(pfc);
  frame.class_enable &= impl_->lossless_classes;
  if (frame.class_enable == 0) {
    ++port.counters.rx_pfc_ignored;
    return;
  }
  for (int tc = 0; tc < kTrafficClasses; ++tc) {
    if ((frame.class_enable >> tc & 1) != 0)
      ++(frame.time[tc] != 0 ? port.counters.xoff_received : port.counters.xon_received)[tc];
  }
  const bool idle = !port.has_more();
  impl_->trace_changes(port_id, port.pauses.on_frame(frame, now), now);
  if (idle && port.has_more()) impl_->list_ready(port_id, port);
  impl_->set_timer(port_id, port);
}

void Switch::on_timeout(Time now) {
  while (impl_->timers.min_time() <= now) {
    const PortId port_id{static_cast<std::uint16_t>(impl_->timers.winner())};
    Impl::Port& port = impl_->at(port_id);
    const bool idle = !port.has_more();
    port.requests.on_timeout(now);
    impl_->trace_changes(port_id, port.pauses.on_timeout(now), now);
    if (idle && port.has_more()) impl_->list_ready(port_id, port);
    if (port.cp_next <= now) impl_->cp_timeout(port_id, port, now);
    if (port.watchdog && port.watchdog->next_timeout() <= now) impl_->watchdog_timeout(port_id, port, now);
    if (port.loop_breaker) impl_->loop_breaker_timeout(port_id, port, now);
    if (port.escape) impl_->escape_timeout(port_id, port, now);
    impl_->set_timer(port_id, port);
  }
}

void Switch::request_pause(PauseOwner owner, PortId ingress, Tc tc, bool on, Time now) {
  if (impl_->lossless(tc)) impl_->request_pause(owner, ingress, tc, on, now);
}

PacketRef Switch::poll_transmit(PortId port_id, Time now) {
  return impl_->transmit(port_id, impl_->at(port_id), now);
}

bool Switch::has_more(PortId port) const { return impl_->at(port).has_more(); }

std::span<const PortId> Switch::take_ready() {
  impl_->taken.swap(impl_->ready);
  impl_->ready.clear();
  for (const PortId port : impl_->taken) impl_->at(port).in_ready = false;
  return impl_->taken;
}

Time Switch::next_timeout() const { return impl_->timers.min_time(); }

}  // namespace rocelab
