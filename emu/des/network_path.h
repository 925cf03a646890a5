// The way of a frame over a link, inline: out of one node, into the arrivals of the next. Every frame comes
// through here once per hop. What is rare stands in network.cc. Private to network.cc.
#pragma once

#include <utility>

#include "emu/des/network.h"

namespace rocelab::des {

[[gnu::always_inline]] inline void Network::arrive_at_switch(std::uint32_t port, PacketRef&& packet,
                                                             Time due) {
  const PortEdge& edge = port_edges_[port];
  if (!plain_ && sinks_.tap != nullptr) sinks_.tap->on_frame(port, due, *packet, true);
  if (is_from_switches(packet->kind)) [[unlikely]] {
    arrive_from_switches(edge, std::move(packet), due);
  } else {
    const Forwarding& rules = plain_ ? forwarding_ : forwarding_at(due);
    const Forwarding::Row row = plain_ ? edge.rules : rules.row(edge.switch_index);
    const PortId* out = rules.out(row, packet->dst, udp_src_port_of(*packet));
    edge.node->deliver(edge.id, {out, out != nullptr ? 1u : 0u}, std::move(packet), due);
  }
  note(edge.place, due);
}

[[gnu::always_inline]] inline void Network::send_from_host(std::uint32_t index, PacketRef&& packet,
                                                           const PathAddress& path, Time due) {
  const HostEdge& edge = host_edges_[index];
  packet->src = edge.node;
  packet->frame_slot = path.udp_src_port;
  packet->flow = packet->roce.dest.value;  // what switches can see of a frame
  if (!plain_) [[unlikely]] {
    if (port_edges_[edge.port].faults_in) {
      LinkDirection& in = link(edge.port).faults.in;
      const PortConfig& config = plan_.world.ports[edge.port].config;
      const Time begin = due - config.delay - wire_time(packet->frame(), config.rate);
      if (in.fails(packet->payload_length > 0, begin, due)) return lose(edge.port, *packet, due, kLinkDown);
      if (!cross(in, *packet)) return lose(edge.port, *packet, due, kLinkLoss);
    }
  }
  arrive_at_switch(edge.port, std::move(packet), due);
}

[[gnu::always_inline]] inline void Network::send_from_switch(std::uint32_t port, PacketRef&& packet,
                                                             Time departure, Time due) {
  const PortEdge& edge = port_edges_[port];
  if (is_feedback(packet->kind) && packet->frame_slot == kNoFrame) [[unlikely]]
    packet->frame_slot = 0;  // it leaves the switch that made it
  if (!plain_) [[unlikely]] {
    if (sinks_.tap != nullptr) sinks_.tap->on_frame(port, departure, *packet, false);
    if (edge.faults_out) {
      LinkDirection& out = link(port).faults.out;
      if (out.fails(packet->payload_length > 0, departure, due))
        return lose(port, *packet, departure, kLinkDown);
      if (!is_link_local(packet->kind) && !cross(out, *packet))
        return lose(port, *packet, departure, kLinkLoss);
    }
  }
  if (edge.peer_port != kNoPeer) {
    arrive_at_switch(edge.peer_port, std::move(packet), due);
  } else if (edge.peer_host != nullptr) {
    edge.peer_host->deliver(std::move(packet), due);
    note(edge.peer_place, due);
  } else if (edge.away_port != kNoPeer) {
    send_away(edge, std::move(packet), due);
  } else if (!is_link_local(packet->kind)) {
    ++link(port).out.undeliverable_frames;
  }
}

}  // namespace rocelab::des
