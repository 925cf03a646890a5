#include "ovs_patches/switch_model/switch_node.h"

#include <algorithm>
#include <utility>

namespace rocelab {

SwitchNode::SwitchNode(const SwitchConfig& config, std::span<const PortConfig> ports, Rng rng,
                       PacketPool& pool, TraceSink& trace, FrameOwner* frames)
    : switch_(config, ports, rng, pool, trace, frames),
      frames_(frames),
      departures_(ports.size()),
      free_at_(ports.size(), Time::zero()) {
  for (const PortConfig& port : ports) {
    wires_.emplace_back(port.rate);
    delays_.push_back(port.delay);
  }
}

void SwitchNode::deliver(PortId in, std::span<const PortId> outs, PacketRef packet, Time due) {
  if (due < committed_) {
    ++late_arrivals_;
    due = committed_;
  }
  packet->due = due;
  arrivals_.push(in, outs, std::move(packet), due);
}

void SwitchNode::request_pause(PauseOwner owner, PortId ingress, Tc tc, bool on, Time now) {
  switch_.request_pause(owner, ingress, tc, on, now);
  schedule_ready(now);
}

Time SwitchNode::next_event() const {
  return std::min({arrivals_.next_due(), switch_.next_timeout(), departures_.min_time()});
}

void SwitchNode::arrive() {
  ArrivalQueue::Arrival& arrival = arrivals_.pop();
  const Time now = arrival.packet->due;
  if (arrival.packet->kind == PacketKind::kPfc) {
    switch_.on_control(arrival.in, *arrival.packet, now);
    if (frames_ != nullptr && arrival.packet->frame_slot != kNoFrame)
      frames_->release(arrival.packet->frame_slot);
    arrival.packet.reset();
  } else {
    switch_.on_packet(arrival.in, arrival.outs(), std::move(arrival.packet), now);
  }
  schedule_ready(now);
}

// Only ports that had nothing to send are in the list, so none of these has a departure ahead that could be
// undone.
void SwitchNode::schedule_ready(Time now) {
  for (const PortId port : switch_.take_ready()) {
    if (departures_.time_of(port.value).is_never())
      departures_.set(port.value, std::max(now, free_at_[port.value]));
  }
}

PacketRef SwitchNode::depart(PortId port, Time now, Time& due_at_peer) {
  PacketRef packet = switch_.poll_transmit(port, now);
  if (!packet) {  // what was to leave has been paused meanwhile
    departures_.set(port.value, Time::never());
    return packet;
  }
  free_at_[port.value] = now + wires_[port.value].wire_time(packet->frame());
  departures_.set(port.value, switch_.has_more(port) ? free_at_[port.value] : Time::never());
  schedule_ready(now);
  due_at_peer = free_at_[port.value] + delays_[port.value];
  packet->due = due_at_peer;
  return packet;
}

}  // namespace rocelab
