// The way out and the pauses; the way in is in switch_input.cc, what is shown in switch_report.cc.
#include "ovs_patches/switch_model/switch.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/wire/controls.h"
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

TcMask limited_classes_of(const SwitchConfig& config) {
  TcMask mask = 0;
  for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc)
    if (config.classes[tc].egress_max > 0_B) mask |= bit_of(Tc{tc});
  const TcMask lossless = lossless_classes_of(config);
  const TcMask lossy = config.port_buffer > 0_B ? 0xff : 0;
  return static_cast<TcMask>((mask & lossless) | (lossy & ~lossless));
}

TcMask ranked_classes_of(const SwitchConfig& config) {
  TcMask mask = 0;
  for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc)
    if (is_by_rank(config.classes[tc].order)) mask |= bit_of(Tc{tc});
  return mask;
}

TcMask preempting_classes_of(const SwitchConfig& config) {
  TcMask mask = 0;
  for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc)
    if (config.classes[tc].preempt) mask |= bit_of(Tc{tc});
  return mask;
}

// Frames give way by the class's rule, or by the port's, which needs to find the last of a queue.
EgressQueues::Rules rules_of(const SwitchConfig& config, std::uint8_t tc) {
  const ClassConfig& c = config.classes[tc];
  const bool displaced =
      config.port_rule == PortRule::kPushOutLower && (lossless_classes_of(config) & bit_of(Tc{tc})) == 0;
  return {c.order, displaced && c.full == FullRule::kRefuse ? FullRule::kPushOutLast : c.full, c.queues};
}

const SwitchConfig& checked(const SwitchConfig& config, std::span<const PortConfig> ports) {
  const std::string problem = problem_of(config, ports);
  if (!problem.empty()) internal::check_failed(__FILE__, __LINE__, problem.c_str());
  return config;
}

bool marks_by_average(const SwitchConfig& c, std::span<const PortConfig> ports) {
  const auto averages = [](const EcnConfig& ecn) { return ecn.enabled && ecn.average < 1; };
  return std::ranges::any_of(c.classes, [&](const ClassConfig& of) { return averages(of.ecn); }) ||
         std::ranges::any_of(ports, [&](const PortConfig& port) { return averages(port.ecn); });
}

}  // namespace

SwitchCore::Port::Port(const SwitchConfig& switch_config, const PortConfig& port_config)
    : requests(switch_config.pfc.quanta, switch_config.pfc.refresh_percent, port_config.rate),
      pauses(port_config.rate),
      scheduler(switch_config),
      config(port_config) {}

SwitchCore::SwitchCore(const SwitchConfig& c, std::span<const PortConfig> port_configs, Rng rng,
                       PacketPool& p, TraceSink& t, FrameOwner* f)
    : config(checked(c, port_configs)),
      lossless_classes(lossless_classes_of(c)),
      ranked_classes(ranked_classes_of(c)),
      preempting_classes(preempting_classes_of(c)),
      limited_classes(limited_classes_of(c)),
      pool(p),
      trace(t),
      frames(f),
      buffer(c, port_configs),
      queues(port_configs.size(), c.queue_order),
      ecn(rng.fork("red_ecn")),
      port_count(port_configs.size()),
      timers(port_configs.size()) {
  ports.reserve(port_configs.size());
  for (const PortConfig& port_config : port_configs) ports.emplace_back(c, port_config);
  for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc)
    queues.set_rules(Tc{tc}, rules_of(c, tc), rng.fork("queues").fork(std::to_string(tc)));
  mechanisms.make(*this, config, rng);
  sees_transmit = mechanisms.any_transmit();
  no_short_cut += sees_transmit;
  dequeues_apart = mechanisms.any_discard();
  no_short_cut += dequeues_apart;
  no_short_cut += marks_by_average(config, port_configs);  // which every frame is a sample of
  if (preempting_classes == 0) return;
  ++no_short_cut;
  departs_apart = true;
  on_wire.resize(ports.size());
}

void SwitchCore::count_link_local(Port& port, const Packet& packet) {
  port.counters.sent[static_cast<std::size_t>(link_local_kind(packet.kind))].add(packet.frame_length);
}

// Control frames, then frames that mechanisms send ahead of all queues.
PacketRef SwitchCore::transmit_urgent(PortId port_id, Port& port, Time now) {
  const bool control = !port.control.empty();
  PacketRef packet = control ? port.control.take_front() : mechanisms.poll_ahead(port_id, now);
  port.urgent = !port.control.empty() || mechanisms.has_ahead(port_id);
  if (control) count_link_local(port, *packet);
  if (control || !packet) return packet;
  count_sent(port, *packet);
  if (sees_transmit) mechanisms.on_transmit(port_id, *packet, now);
  return packet;
}

// dequeue(), where a policy chooses, or a mechanism may drop frames that are about to leave. Null: it has
// dropped all that could.
PacketRef SwitchCore::dequeue_apart(PortId port_id, Port& port, Time now) {
  if (policy) return dequeue_by_policy(port_id, port, now);
  while (const TcMask sendable = port.sendable()) {
    const Tc tc = port.scheduler.pick(sendable, [&](Tc c) { return queues.head_length(port_id, c); });
    EgressQueues::Queue& queue = queues.at(port_id, tc);
    EgressQueues::Frame frame = queues.pop(queue);
    left(port_id, port, queue, tc, frame, now);
    give_back(frame.in, tc, frame.packet->frame(), frame.share, now);
    if (mechanisms.discards(port_id, *frame.packet, now)) {
      drop(port_id, frame.in, *frame.packet, SwitchDropReason::kMechanism, now);
      continue;
    }
    count_sent(port, *frame.packet);
    return std::move(frame.packet);
  }
  return {};
}

PacketRef SwitchCore::make_pfc(Port& port, Time now) {
  const PfcFrame frame = port.requests.make_frame(now);
  for (int tc = 0; tc < kTrafficClasses; ++tc) {
    if ((frame.class_enable >> tc & 1) == 0) continue;
    ++(frame.time[tc] != 0 ? port.counters.xoff_sent : port.counters.xon_sent)[tc];
  }
  PacketRef packet = pool.make();
  put_control(*packet, frame);
  count_link_local(port, *packet);
  return packet;
}

void SwitchCore::request_pause(unsigned owner, PortId ingress, Tc tc, bool on, Time now) {
  Port& port = at(ingress);
  const bool idle = !port.has_more();
  if (!port.requests.request(owner, tc, on)) return;
  trace_class(on ? TraceKind::kXoff : TraceKind::kXon, ingress, tc, buffer.held(ingress, tc), now);
  if (idle && port.has_more()) list_ready(ingress, port);
  if (on) mechanisms.on_asked(ingress, tc, now);
}

// A frame that this switch has made at `at_port` joins the queues of `out`: charged and limited as a lossy
// one.
void SwitchCore::store_made(PortId at_port, PortId out, PacketRef&& packet, Time now) {
  const Tc tc = packet->tc;
  const Bytes frame = packet->frame();
  if (policy) {
    if (offer(at_port, out, packet, kNoShare, now)) return;
    return note_drop(out, at_port, *packet, SwitchDropReason::kEgressLimit, now);
  }
  if (!egress_takes(out, tc, frame))
    return note_drop(out, at_port, *packet, full_reason(out, tc, frame), now);
  buffer.charge_lossy(at_port, tc, frame);
  enqueue(at_port, out, std::move(packet), kNoShare, now);
}

// Frames of a lossless class leave the switch by its own decision: their ingress ports get their room back.
void SwitchCore::drop_queue(PortId port_id, Tc tc, SwitchDropReason reason, std::optional<PortId> until_open,
                            Time now) {
  Port& port = at(port_id);
  EgressQueues::Queue& queue = queues.at(port_id, tc);
  while (queue.frames != 0 && (!until_open || at(*until_open).requests.asks(tc))) {
    if (policy) policy->remove(queues.first(queue), now);
    const QueuedFrame frame = queues.pop(queue);
    left(port_id, port, queue, tc, frame, now);
    give_back(frame.in, tc, frame.packet->frame(), frame.share, now);
    drop(port_id, frame.in, *frame.packet, reason, now);
  }
  mechanisms.on_dropped(port_id, tc, now);
}

void SwitchCore::note_changes(PortId port, PauseState::Change change, Time now) {
  if ((change.paused | change.resumed) != 0) mechanisms.on_pauses(port, change, now);
  for (std::uint8_t n = 0; n < kTrafficClasses; ++n) {
    const Tc tc{n};
    if ((change.paused & bit_of(tc)) != 0)
      trace_class(TraceKind::kPaused, port, tc, queues.bytes(port, tc), now);
    if ((change.resumed & bit_of(tc)) != 0)
      trace_class(TraceKind::kResumed, port, tc, queues.bytes(port, tc), now);
  }
}

void SwitchCore::set_timer(PortId port_id, const Port& port) {
  Time next =
      std::min({port.requests.next_timeout(), port.pauses.next_timeout(), mechanisms.next_timeout(port_id)});
  if (policy && port_id.value == 0) next = std::min(next, policy->next_move());
  if (next != timers.time_of(port_id.value)) timers.set(port_id.value, next);
}

void SwitchCore::trace_class(TraceKind kind, PortId port, Tc tc, Bytes bytes, Time now) {
  trace.record({.time = now,
                .kind = kind,
                .mark = tc.value,
                .port = port.value,
                .bytes = static_cast<std::uint64_t>(bytes.count())});
}

Switch::Switch(const SwitchConfig& config, std::span<const PortConfig> ports, Rng rng, PacketPool& pool,
               TraceSink& trace, FrameOwner* frames)
    : core_(std::make_unique<SwitchCore>(config, ports, rng, pool, trace, frames)) {}
Switch::~Switch() = default;
Switch::Switch(Switch&&) noexcept = default;

void Switch::on_packet(PortId in, std::span<const PortId> outs, PacketRef packet, Time now) {
  // A packet that is not kept goes back to its pool here. Feedback is forwarded by every switch.
  core_->classify(in, *packet);
  if (!is_from_switches(packet->kind) ||
      (is_feedback(packet->kind) && core_->at(in).config.peer != PeerKind::kHost))
    return core_->receive(in, outs, std::move(packet), now);
  if (!core_->mechanisms.on_message(core_->at(in).counters, in, outs, packet, now))
    return core_->refuse(in, *packet, now);
  if (packet) core_->release_frame(*packet);
}

void Switch::on_control(PortId port_id, PacketRef packet, Time now) {
  if (packet->kind != kind_of<PfcFrame>) {
    core_->mechanisms.on_message(core_->at(port_id).counters, port_id, {}, packet, now);
    return;
  }
  SwitchCore::Port& port = core_->at(port_id);
  PfcFrame frame = control_of<PfcFrame>(*packet);
  frame.class_enable &= core_->lossless_classes;
  if (frame.class_enable == 0) {
    ++port.counters.rx_pfc_ignored;
    return;
  }
  for (int tc = 0; tc < kTrafficClasses; ++tc) {
    if ((frame.class_enable >> tc & 1) != 0)
      ++(frame.time[tc] != 0 ? port.counters.xoff_received : port.counters.xon_received)[tc];
  }
  const bool idle = !port.has_more();
  core_->note_changes(port_id, port.pauses.on_frame(frame, now), now);
  if (idle && port.has_more()) core_->list_ready(port_id, port);
  core_->set_timer(port_id, port);
}

void Switch::on_timeout(Time now) {
  while (core_->timers.min_time() <= now) {
    const PortId port_id{static_cast<std::uint16_t>(core_->timers.winner())};
    SwitchCore::Port& port = core_->at(port_id);
    const bool idle = !port.has_more();
    port.requests.on_timeout(now);
    core_->note_changes(port_id, port.pauses.on_timeout(now), now);
    if (idle && port.has_more()) core_->list_ready(port_id, port);
    core_->mechanisms.on_timeout(port_id, now);
    if (core_->policy && port_id.value == 0 && core_->policy->moves()) core_->run_moves(now);
    core_->set_timer(port_id, port);
  }
}

void Switch::request_pause(PauseOwner owner, PortId ingress, Tc tc, bool on, Time now) {
  if (core_->lossless(tc)) core_->request_pause(static_cast<unsigned>(owner), ingress, tc, on, now);
}

PacketRef Switch::poll_transmit(PortId port_id, Time now) {
  return core_->transmit(port_id, core_->at(port_id), now);
}

bool Switch::has_more(PortId port) const { return core_->at(port).has_more(); }

std::span<const PortId> Switch::take_ready() {
  core_->taken.swap(core_->ready);
  core_->ready.clear();
  for (const PortId port : core_->taken) core_->at(port).in_ready = false;
  return core_->taken;
}

const SwitchPolicy* Switch::policy() const { return core_->policy.get(); }

Time Switch::next_timeout() const { return core_->timers.min_time(); }

}  // namespace rocelab
