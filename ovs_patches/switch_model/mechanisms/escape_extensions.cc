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

#include "base/wire/controls.h"
#include "base/wire/roce_packet.h"
#include "base/wire/shim_escape.h"
#include "ovs_patches/switch_model/counters.h"
#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/queue.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

// The flow of the frame has been noted.
void EscapeMechanism::on_enqueued_more(PortId out, const Packet& packet, Time now) {
  if (params_.return_tokens) at(out).flows.wake_last();
  if (params_.announce) wait_to_announce(out, bit_of(packet.tc), now);
}

// --- return_tokens

void EscapeMechanism::refuse_token(PortId egress, EscapeToken token, EscapeTokenMark why) {
  ++actions_.counters(egress).escape_tokens_ignored;
  if (!params_.return_tokens || token.number == 0 || !between_switches(egress)) return;
  token.mark = why;
  PacketRef back = actions_.make_packet();
  put_control(*back, token);
  actions_.send_control(egress, std::move(back));
}

void EscapeMechanism::receive_returned(PortId ingress, const EscapeToken& token, Time now) {
  SwitchPortCounters& counters = actions_.counters(ingress);
  const SwitchFlow flow{token.source, token.destination, token.dest, ingress, token.ipv6};
  const std::uint32_t egress = (token.number >> 16) - 1;  // whose place it took
  const EscapeIssued::Token* mine = nullptr;
  if (params_.return_tokens && egress < ports_.size())
    mine = ports_[egress].issued.take_back(static_cast<std::uint16_t>(token.number), flow, token.tc,
                                           token.hops, now);
  if (mine == nullptr) {
    ++counters.escape_tokens_ignored;
    return;
  }
  ++counters.escape_tokens_returned;
  Port& port = ports_[egress];
  port.pool.give();
  if (mine->hops == 1) {
    port.flows.rest(flow.key(), token.mark, period_of(ingress), params_.reclaim, rng_, now);
  } else if (mine->before != 0) {
    PacketRef back = actions_.make_packet();
    EscapeToken next = token;
    next.hops = static_cast<std::uint16_t>(mine->hops - 1);
    next.number = mine->before;
    put_control(*back, next);
    actions_.send_control(PortId{static_cast<std::uint16_t>(egress)}, std::move(back));
  }
}

// --- announce

// `classes` have frames for the port.
void EscapeMechanism::wait_to_announce(PortId port, TcMask classes, Time now) {
  Port& escape = at(port);
  if (!escape.announce_next.is_never() || (classes & actions_.paused(port) & classes_) == 0 ||
      !between_switches(port))
    return;
  const Duration period = period_of(port);
  escape.announce_next = Time::zero() + period * ((now - Time::zero()) / period + 1);
  actions_.set_timer(port);
}

void EscapeMechanism::announce(PortId port, Time now) {
  const auto waiting = static_cast<TcMask>(actions_.waiting(port) & actions_.paused(port) & classes_);
  for (std::uint8_t n = 0; n < kTrafficClasses; ++n) {
    if ((waiting & bit_of(Tc{n})) == 0) continue;
    const Packet* first = actions_.next_in_turn(port, Tc{n});
    PacketRef headers = first != nullptr && first->dst != kNoNode ? actions_.copy_of(*first) : PacketRef();
    if (!headers) continue;
    headers->kind = PacketKind::kEscapeAnnouncement;
    headers->payload = nullptr;
    headers->payload_length = 0;
    headers->roce.telemetry_hops = headers->roce.pad = 0;
    headers->roce.has_slack = headers->roce.has_rcp = false;
    headers->roce.shim_hops = 1;
    headers->frame_length =
        static_cast<std::uint32_t>(frame_length(headers->roce, 0, !headers->roce.ipv6) + kEscapeShimBytes);
    ++actions_.counters(port).escape_announcements_sent;
    actions_.send_control(port, std::move(headers));
  }
  at(port).announce_next = waiting != 0 ? now + period_of(port) : Time::never();
}

void EscapeMechanism::receive_announcement(PortId in, std::span<const PortId> outs, PacketRef packet) {
  const bool good = params_.announce && between_switches(in) && outs.size() == 1 && serves(packet->tc) &&
                    packet->dst != kNoNode && packet->roce.shim_hops != 0 &&
                    packet->roce.shim_hops < kMostEscapeHops;
  if (!good) {
    ++actions_.counters(in).escape_announcements_ignored;
    return actions_.release_frame(*packet);
  }
  ++actions_.counters(in).escape_announcements_received;
  const PortId egress = outs[0];
  note(egress, flow_of(*packet, in));
  EscapeFlows& flows = at(egress).flows;
  if (params_.return_tokens) flows.wake_last();
  // As many wait to be sent on as the table has places; others will come again.
  if (!between_switches(egress) || (actions_.paused(egress) & bit_of(packet->tc)) == 0 ||
      actions_.controls(egress) >= flows.most())
    return actions_.release_frame(*packet);
  ++packet->roce.shim_hops;
  ++actions_.counters(egress).escape_announcements_sent;
  actions_.send_control(egress, std::move(packet));
}

}  // namespace rocelab
