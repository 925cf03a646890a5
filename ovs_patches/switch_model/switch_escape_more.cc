// Escape: what the chapter has not and theorem 4.4.1 needs (DEVIATIONS.md#escape), off by default.
//
// return_tokens: a switch that can neither use nor pass on a token sends it back to the switch that it came
// from, where it frees its place at once, and so on to its origin. The flow rests there.
//
// announce: while a port is paused, the flows whose frames wait behind it are made known one by one, one
// every Delta^esc and class, new ones first. An announcement is the headers of a frame that waits, so that it
// takes the frame's way; a switch enters its flow as if the frame had traversed it, and sends it on if that
// port is paused as well. Nobody answers: each flow's turn comes again.
#include <utility>

#include "base/wire/etf.h"
#include "ovs_patches/switch_model/switch_path.h"

namespace rocelab {

// Behind escape_joined().
void Switch::Impl::escape_joined_more(PortId out, Port& port, const Packet& packet, Time now) {
  if (packet.kind != PacketKind::kData || packet.dst == kNoNode) return;
  if (config.escape.return_tokens) port.escape->flows.wake_last();
  if (config.escape.announce) wait_to_announce(out, port, bit_of(packet.tc), now);
}

// --- return_tokens

void Switch::Impl::refuse_token(PortId egress, EscapeToken token, EscapeTokenMark why) {
  Port& port = at(egress);
  ++port.counters.escape_tokens_ignored;
  if (!config.escape.return_tokens || token.number == 0 || port.config.peer != PeerKind::kSwitch) return;
  token.mark = why;
  PacketRef back = pool.make();
  put_escape_token(*back, token);
  send_control(egress, port, std::move(back));
}

void Switch::Impl::receive_returned(PortId ingress, const EscapeToken& token, Time now) {
  SwitchPortCounters& counters = at(ingress).counters;
  const SwitchFlow flow{token.source, token.destination, token.dest, ingress, token.ipv6};
  const std::uint32_t egress = (token.number >> 16) - 1;  // whose place it took
  const EscapeIssued::Token* mine = nullptr;
  if (config.escape.return_tokens && egress < port_count)
    mine = ports[egress].escape->issued.take_back(static_cast<std::uint16_t>(token.number), flow, token.tc,
                                                  token.hops, now);
  if (mine == nullptr) {
    ++counters.escape_tokens_ignored;
    return;
  }
  ++counters.escape_tokens_returned;
  Port& port = ports[egress];
  port.escape->pool.give();
  if (mine->hops == 1) {
    port.escape->flows.rest(flow.key(), token.mark, escape_period(at(ingress)), config.escape.reclaim,
                            escape_rng, now);
  } else if (mine->before != 0) {
    PacketRef back = pool.make();
    EscapeToken next = token;
    next.hops = static_cast<std::uint16_t>(mine->hops - 1);
    next.number = mine->before;
    put_escape_token(*back, next);
    send_control(PortId{static_cast<std::uint16_t>(egress)}, port, std::move(back));
  }
}

// --- announce

// `classes` have frames for the port.
void Switch::Impl::wait_to_announce(PortId port_id, Port& port, TcMask classes, Time now) {
  EscapePort& escape = *port.escape;
  if (!escape.announce_next.is_never() || (classes & port.pauses.paused() & escape_classes) == 0 ||
      port.config.peer != PeerKind::kSwitch)
    return;
  const Duration period = escape_period(port);
  escape.announce_next = Time::zero() + period * ((now - Time::zero()) / period + 1);
  set_timer(port_id, port);
}

void Switch::Impl::announce(PortId port_id, Port& port, Time now) {
  const auto waiting = static_cast<TcMask>(port.waiting & port.pauses.paused() & escape_classes);
  for (std::uint8_t n = 0; n < kTrafficClasses; ++n) {
    if ((waiting & bit_of(Tc{n})) == 0) continue;
    const Packet* first = queues.next_in_turn(port_id, Tc{n});
    PacketRef headers = first != nullptr && first->dst != kNoNode ? copy_of(*first) : PacketRef();
    if (!headers) continue;
    headers->kind = PacketKind::kEscapeAnnouncement;
    headers->payload = nullptr;
    headers->payload_length = 0;
    headers->roce.telemetry_hops = headers->roce.pad = 0;
    headers->roce.shim_hops = 1;
    headers->frame_length =
        static_cast<std::uint32_t>(frame_length(headers->roce, 0, !headers->roce.ipv6) + kEscapeShimBytes);
    ++port.counters.escape_announcements_sent;
    send_control(port_id, port, std::move(headers));
  }
  port.escape->announce_next = waiting != 0 ? now + escape_period(port) : Time::never();
}

void Switch::Impl::receive_announcement(PortId in, std::span<const PortId> outs, PacketRef&& packet) {
  Port& ingress = at(in);
  const bool good = config.escape.announce && ingress.config.peer == PeerKind::kSwitch && outs.size() == 1 &&
                    escapes(packet->tc) && packet->dst != kNoNode && packet->roce.shim_hops != 0 &&
                    packet->roce.shim_hops < kMostEscapeHops;
  if (!good) {
    ++ingress.counters.escape_announcements_ignored;
    return release_frame(*packet);
  }
  ++ingress.counters.escape_announcements_received;
  Port& egress = at(outs[0]);
  EscapeFlows& flows = egress.escape->flows;
  flows.note(flow_of(*packet, in));
  if (config.escape.return_tokens) flows.wake_last();
  // As many wait to be sent on as the table has places; others will come again.
  if (egress.config.peer != PeerKind::kSwitch || (egress.pauses.paused() & bit_of(packet->tc)) == 0 ||
      egress.control.size() >= flows.most())
    return release_frame(*packet);
  ++packet->roce.shim_hops;
  ++egress.counters.escape_announcements_sent;
  send_control(outs[0], egress, std::move(packet));
}

}  // namespace rocelab
