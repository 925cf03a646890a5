#include "ovs_patches/switch_model/switch_node.h"

#include "ovs_patches/switch_model/switch_path.h"

namespace rocelab {

SwitchNode::SwitchNode(const SwitchConfig& config, std::span<const PortConfig> ports, Rng rng,
                       PacketPool& pool, TraceSink& trace, FrameOwner* frames)
    : switch_(config, ports, rng, pool, trace, frames),
      timers_(switch_.core_->timers),
      frames_(frames),
      arrivals_(ports.size()),
      departures_(ports.size()),
      rng_(rng.fork("policy")) {
  wires_.reserve(ports.size());
  for (const PortConfig& port : ports) wires_.emplace_back(port.rate, port.delay);
}

// Only ports that had nothing to send are in the list, so none of these has a departure ahead that could be
// undone; and ports whose frame on the wire was stopped.
[[gnu::always_inline]] inline void SwitchNode::schedule(Time now) {
  std::vector<PortId>& ready = switch_.core_->ready;
  if (ready.empty()) return;
  for (const PortId port : ready) {
    switch_.core_->at(port).in_ready = false;
    if (departures_.time_of(port.value).is_never())
      departures_.set(port.value, std::max(now, wires_[port.value].free_at));
    else if (!switch_.core_->on_wire.empty() && switch_.core_->on_wire[port.value].stopped) [[unlikely]]
      departures_.set(port.value, wires_[port.value].free_at = now);
  }
  ready.clear();
}

void SwitchNode::schedule_ready(Time now) { schedule(now); }

void SwitchNode::request_pause(PauseOwner owner, PortId ingress, Tc tc, bool on, Time now) {
  switch_.request_pause(owner, ingress, tc, on, now);
  schedule(now);
}

// Whether a frame that `port` can send now leaves before any other event: its wire is free, and nothing else
// happens at this instant. (A port's departure is never later than its wire is free or than now, so that it
// has none.) Then it need not go through the tree, which half of all frames would do for nothing.
[[gnu::always_inline]] inline bool SwitchNode::leaves_at_once(PortId port, Time now) const {
  return departures_.min_time() > now && arrivals_.next_due() > now && timers_.min_time() > now &&
         wires_[port.value].free_at <= now;
}

PacketRef SwitchNode::arrive(PortId& port, Time& due_at_peer) {
  ArrivalQueue::Arrival arrival = arrivals_.pop();
  const Time now = arrival.due;
  SwitchCore& core = *switch_.core_;
  if (is_from_switches(arrival.packet->kind)) [[unlikely]] {
    arrive_from_switches({std::move(arrival.packet), now, arrival.in, arrival.outs});
  } else {
    core.classify(arrival.in, *arrival.packet);
    if (arrival.outs.size() == 1 && leaves_at_once(arrival.outs[0], now) &&
        core.pass(arrival.in, arrival.outs[0], *arrival.packet, now)) {
      port = arrival.outs[0];
      due_at_peer = put_on_wire(port, *arrival.packet, now);
      return std::move(arrival.packet);
    }
    core.receive(arrival.in, arrival.outs, std::move(arrival.packet), now);
  }
  if (!core.ready.empty()) schedule(now);
  return {};
}

void SwitchNode::arrive_from_switches(ArrivalQueue::Arrival arrival) {
  const Time now = arrival.due;
  if (is_link_local(arrival.packet->kind)) {
    const std::uint32_t slot = arrival.packet->frame_slot;
    switch_.on_control(arrival.in, std::move(arrival.packet), now);
    if (frames_ != nullptr && slot != kNoFrame) frames_->release(slot);
  } else {
    switch_.on_packet(arrival.in, arrival.outs, std::move(arrival.packet), now);
  }
}

// When its last bit arrives at the peer.
[[gnu::always_inline]] inline Time SwitchNode::put_on_wire(PortId port, Packet& packet, Time now) {
  Wire& wire = wires_[port.value];
  wire.free_at = now + wire.clock.wire_time(packet.frame());
  return packet.due = wire.free_at + wire.delay;
}

[[gnu::always_inline]] inline PacketRef SwitchNode::send(PortId port_id, Time now, Time& due_at_peer) {
  SwitchCore& core = *switch_.core_;
  PacketRef packet = core.transmit(port_id, core.at(port_id), now);
  if (!packet) [[unlikely]]
    return packet;
  due_at_peer = put_on_wire(port_id, *packet, now);
  return packet;
}

// A frame's last bit, or a wire that is free. Each is an event of its own, so that what arrives at that
// instant is there before the next frame is chosen.
PacketRef SwitchNode::depart_by_pieces(PortId port_id, Time now, Time& due_at_peer) {
  SwitchCore& core = *switch_.core_;
  SwitchCore::Port& port = core.at(port_id);
  Wire& wire = wires_[port_id.value];
  const SwitchCore::OnWire& sent = core.on_wire[port_id.value];
  PacketRef packet;
  if (sent.node != EgressQueues::kNil) {
    packet = core.end_piece(port_id, port, wire.clock, now);
    due_at_peer = packet->due = now + wire.delay;
  } else if (core.begin_piece(port_id, port, wire.clock, now, packet)) {
    wire.free_at = sent.ends;
  } else if (packet) {
    due_at_peer = put_on_wire(port_id, *packet, now);
  }
  const bool busy = sent.node != EgressQueues::kNil || (packet && port.has_more());
  departures_.replace_winner(busy ? std::max(now, wire.free_at) : Time::never());
  schedule(now);
  return packet;
}

// By a policy that gives its port less than the link, or takes time for a frame before it leaves.
PacketRef SwitchNode::depart_by_policy(PortId port, Time now, Time& due_at_peer) {
  SwitchCore& core = *switch_.core_;
  PacketRef packet = core.transmit(port, core.at(port), now);
  Wire& wire = wires_[port.value];
  if (packet) {
    const PolicyPort& policy = core.policy->port(port);
    const Duration on_wire = wire.clock.wire_time(packet->frame());
    const bool is_data = !is_link_local(packet->kind);
    const Time begin = now + (is_data ? Duration::from_ps(policy.cycle) * core.policy->processing() : 0_ps);
    const std::int64_t part = policy.share.part;
    wire.free_at =
        begin + (is_data ? (on_wire * policy.share.whole + Duration::from_ps(part - 1)) / part : on_wire);
    due_at_peer = packet->due = begin + on_wire + wire.delay;
  }
  const bool more = packet && core.at(port).has_more();
  departures_.replace_winner(more ? wire.free_at : Time::never());
  schedule(now);
  return packet;
}

void SwitchNode::set_policies(std::vector<PolicyChange> changes) {
  RL_CHECK(!changes.empty() && changes.front().at == Time::zero());
  switch_.core_->set_policy(std::move(changes.front().program), rng_);
  policies_.assign(std::make_move_iterator(changes.rbegin()), std::make_move_iterator(changes.rend() - 1));
  next_policy_ = policies_.empty() ? Time::never() : policies_.back().at;
}

void SwitchNode::add_policy(PolicyChange change) {
  RL_CHECK(switch_.core_->policy && change.at >= committed_);
  const auto place = std::upper_bound(policies_.begin(), policies_.end(), change.at,
                                      [](Time at, const PolicyChange& other) { return at >= other.at; });
  policies_.insert(place, std::move(change));
  next_policy_ = policies_.back().at;
  while (next_policy_ <= committed_) change_policy();  // what is due by now, in its order
}

void SwitchNode::change_policy() {
  const PolicyChange change = std::move(policies_.back());
  policies_.pop_back();
  next_policy_ = policies_.empty() ? Time::never() : policies_.back().at;
  switch_.core_->change_policy(change, change.at);
  schedule(change.at);
}

PacketRef SwitchNode::depart(PortId port, Time now, Time& due_at_peer) {
  if (switch_.core_->departs_apart) [[unlikely]]
    return switch_.core_->policy ? depart_by_policy(port, now, due_at_peer)
                                 : depart_by_pieces(port, now, due_at_peer);
  PacketRef packet = send(port, now, due_at_peer);
  const bool more = packet && switch_.core_->at(port).has_more();
  departures_.replace_winner(more ? wires_[port.value].free_at : Time::never());
  schedule(now);
  return packet;
}

}  // namespace rocelab
