#include "ovs_patches/switch_model/actions.h"

#include <utility>

#include "base/check.h"
#include "ovs_patches/switch_model/switch_path.h"

namespace rocelab {

std::uint16_t SwitchActions::ports() const { return static_cast<std::uint16_t>(core_->ports.size()); }
const SwitchConfig& SwitchActions::config() const { return core_->config; }
const PortConfig& SwitchActions::port(PortId port) const { return core_->at(port).config; }
SwitchPortCounters& SwitchActions::counters(PortId port) const { return core_->at(port).counters; }
TcMask SwitchActions::lossless() const { return core_->lossless_classes; }
TcMask SwitchActions::waiting(PortId egress) const { return core_->at(egress).waiting; }
TcMask SwitchActions::paused(PortId egress) const { return core_->at(egress).pauses.paused(); }
bool SwitchActions::has_own_room(PortId egress, Tc tc, Bytes frame) const {
  return core_->egress_takes(egress, tc, frame);
}
bool SwitchActions::has_room(PortId egress, Tc tc, Bytes frame) const {
  return has_own_room(egress, tc, frame) || core_->mechanisms.has_room(egress, tc, frame);
}
bool SwitchActions::asks(PortId ingress, Tc tc) const { return core_->at(ingress).requests.asks(tc); }
Bytes SwitchActions::queued(PortId egress, Tc tc) const { return core_->queues.bytes(egress, tc); }
const EgressQueues& SwitchActions::queues() const { return core_->queues; }
std::size_t SwitchActions::controls(PortId port) const { return core_->at(port).control.size(); }
const Packet* SwitchActions::next_in_turn(PortId egress, Tc tc) {
  return core_->queues.next_in_turn(egress, tc);
}

namespace {

TcMask union_of(std::span<const TcMask> masks) {
  TcMask all = 0;
  for (const TcMask mask : masks) all |= mask;
  return all;
}

}  // namespace

void SwitchActions::watch(PortId egress, TcMask classes) {
  SwitchCore::Port& port = core_->at(egress);
  port.watch[place_] = classes;
  port.watched = union_of(port.watch);
}

void SwitchActions::watch_departures(PortId egress, TcMask classes) {
  SwitchCore::Port& port = core_->at(egress);
  port.watch_out[place_] = classes;
  port.watched_out = union_of(port.watch_out);
}

void SwitchActions::watch_admission(bool on) {
  RL_CHECK(on || core_->arrival_watchers > 0);
  core_->arrival_watchers += on ? 1 : -std::size_t{1};
  core_->no_short_cut += on ? 1 : -std::size_t{1};
}

void SwitchActions::watch_arrivals() { watch_admission(true); }

void SwitchActions::set_timer(PortId port) { core_->set_timer(port, core_->at(port)); }

void SwitchActions::serve_in_turn(Tc tc, std::uint32_t queues) {
  RL_CHECK(queues < LevelOrder::kMostLevels);
  core_->queues.set_rules(tc, {QueueOrder::kTurns, FullRule::kRefuse}, Rng(0));
  core_->ranked_classes |= bit_of(tc);
}

void SwitchActions::set_open(PortId egress, Tc tc, std::uint32_t queue, bool open) {
  core_->queues.at(egress, tc).ranked->set_open(queue, open);
}

void SwitchActions::hold(PortId egress, Tc tc, bool on) {
  SwitchCore::Port& port = core_->at(egress);
  const bool idle = !port.has_more();
  port.pauses.hold(tc, on);
  if (idle && port.has_more()) core_->list_ready(egress, port);
}

void SwitchActions::send_control(PortId port_id, PacketRef packet) {
  SwitchCore::Port& port = core_->at(port_id);
  const bool idle = !port.has_more();
  port.control.push_back(std::move(packet));
  port.urgent = true;
  if (idle) core_->list_ready(port_id, port);
}

void SwitchActions::send_ahead(PortId egress) {
  SwitchCore::Port& port = core_->at(egress);
  const bool idle = !port.has_more();
  port.urgent = true;
  if (idle) core_->list_ready(egress, port);
}

void SwitchActions::send_back(PortId egress, PortId by, PacketRef packet, Time now) {
  core_->trace.record({.time = now,
                       .kind = TraceKind::kFeedback,
                       .mark = packet->tc.value,
                       .port = egress.value,
                       .bytes = packet->frame_length,
                       .peer = by.value});
  core_->store_made(egress, by, std::move(packet), now);
}

void SwitchActions::pause(PortId ingress, Tc tc, bool on, Time now) {
  if (!lossless(tc)) return;
  core_->request_pause(static_cast<unsigned>(PauseOwner::kMechanisms) + static_cast<unsigned>(place_),
                       ingress, tc, on, now);
}

void SwitchActions::mark(PortId egress, PortId ingress, Packet& packet, Bytes queue, Time now) {
  core_->mark(egress, ingress, packet, queue, now);
}

void SwitchActions::tell_flows_by(std::uint64_t bits) { core_->queues.tell_flows_by(bits); }

std::optional<QueuedFrame> SwitchActions::extract(PortId egress, Tc tc, std::uint64_t flow, Time now) {
  std::optional<QueuedFrame> frame = core_->queues.extract(egress, tc, flow);
  if (frame) core_->left(egress, core_->at(egress), core_->queues.at(egress, tc), tc, *frame, now);
  return frame;
}

void SwitchActions::give_back(PortId ingress, Tc tc, Bytes frame, std::uint32_t share, Time now) {
  core_->give_back(ingress, tc, frame, share, now);
}

bool SwitchActions::charge(PortId ingress, Tc tc, Bytes frame) {
  return core_->buffer.admit_lossless(ingress, tc, frame);
}

void SwitchActions::place(PortId ingress, std::span<const PortId> outs, PacketRef packet, Time now) {
  core_->place(ingress, outs, std::move(packet), now);
}

void SwitchActions::store_reserved(PortId ingress, PortId egress, PacketRef packet, Time now) {
  core_->buffer.charge_reserved(ingress, packet->tc, packet->frame());
  core_->enqueue(ingress, egress, std::move(packet), kNoShare, now);
}

void SwitchActions::check_xoff(PortId ingress, Tc tc, Time now) {
  if (core_->buffer.above_xoff(ingress, tc))
    core_->request_pause(static_cast<unsigned>(PauseOwner::kIngressBuffer), ingress, tc, true, now);
}

void SwitchActions::drop_queue(PortId egress, Tc tc, SwitchDropReason reason,
                               std::optional<PortId> until_open, Time now) {
  core_->drop_queue(egress, tc, reason, until_open, now);
}

void SwitchActions::drop(PortId at, PortId peer, const Packet& packet, SwitchDropReason reason, Time now) {
  core_->drop(at, peer, packet, reason, now);
}

void SwitchActions::release_frame(const Packet& packet) { core_->release_frame(packet); }

void SwitchActions::count_received(PortId ingress, const Packet& packet) {
  SwitchPortCounters& counters = core_->at(ingress).counters;
  ++counters.rx_frames;
  counters.rx_bytes += packet.frame_length;
}

PacketRef SwitchActions::make_packet() { return core_->pool.make(); }
PacketRef SwitchActions::copy_of(const Packet& packet) { return core_->copy_of(packet); }
void SwitchActions::trace(const TraceRecord& record) { core_->trace.record(record); }
void SwitchActions::trace_queue(TraceKind kind, PortId port, Tc tc, Time now) {
  core_->trace_class(kind, port, tc, core_->queues.bytes(port, tc), now);
}

}  // namespace rocelab
