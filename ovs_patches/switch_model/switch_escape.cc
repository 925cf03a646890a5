// Escape in the switch: tokens for flows that wait upstream behind a paused queue although their way on is
// open (algorithm 3 of Menikkumbura, chapter 4: its three events), and the dedicated queue of escaping
// frames, which leaves ahead of data and is never paused: a token has reserved the place where it arrives.
#include <algorithm>
#include <utility>

#include "base/wire/etf.h"
#include "ovs_patches/switch_model/switch_path.h"

namespace rocelab {
namespace {

// The frame is data again.
void end_escape(Packet& packet) {
  packet.kind = PacketKind::kData;
  packet.roce.shim_hops = kShimToRemove;
  packet.frame_length -= static_cast<std::uint32_t>(kEscapeShimBytes);
}

}  // namespace

void Switch::Impl::add_escape(const Rng& rng) {
  escape_rng = rng;
  escape_classes = static_cast<TcMask>(config.escape.classes & lossless_classes);
  for (Port& port : ports) {
    port.escape = std::make_unique<EscapePort>(config.escape);
    port.watched |= escape_classes;
    if (config.escape.announce || config.escape.return_tokens) port.escape_more = escape_classes;
  }
}

// A frame joins a queue that Escape looks after: its flow traverses the port.
void Switch::Impl::escape_joined(Port& port, PortId in, const Packet& packet) {
  if (packet.kind == PacketKind::kData && packet.dst != kNoNode) port.escape->flows.note(flow_of(packet, in));
}

Duration Switch::Impl::escape_period(const Port& port) const {
  return config.escape.period > 0_ps ? config.escape.period : port.config.delay * 2;  // 4.3.2
}

// --- event e1: while a port asks its peer switch to pause, every Delta^esc

void Switch::Impl::escape_asked(PortId ingress, Port& port, Time now) {
  if (!takes_tokens(port) || !port.escape->next.is_never()) return;
  const Duration period = escape_period(port);
  port.escape->next = Time::zero() + period * ((now - Time::zero()) / period + 1);
  port.escape->period = period;
  set_timer(ingress, port);
}

void Switch::Impl::escape_timeout(PortId port_id, Port& port, Time now) {
  EscapePort& escape = *port.escape;
  if (escape.next <= now) {
    bool asks = false;
    for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc) {
      if (!escapes(Tc{tc}) || !port.requests.asks(Tc{tc})) continue;
      asks = true;
      clear_hol_block(port_id, Tc{tc}, now);
    }
    escape.next = asks ? escape.next + escape.period : Time::never();
  }
  if (escape.pool.next_reclaim() <= now) escape.pool.reclaim(now);
  if (escape.announce_next <= now) announce(port_id, port, now);
}

// Line 13: "to upstream switch". Without the fix hosts get them, too, where they end (4.4.5, 3).
bool Switch::Impl::takes_tokens(const Port& port) const {
  return port.config.peer == PeerKind::kSwitch || !config.escape.has(EscapeFix::kHosts);
}

// Lines 5 to 14.
void Switch::Impl::clear_hol_block(PortId ingress, Tc tc, Time now) {
  for (std::uint16_t p = 0; p < ports.size(); ++p) {
    Port& egress = ports[p];
    if ((egress.pauses.paused() & bit_of(tc)) != 0) continue;
    EscapePort& escape = *egress.escape;
    std::size_t left = escape.flows.all().size();
    while (escape.pool.size() > 0) {
      const SwitchFlow* flow = escape.flows.next_from(ingress, left, now);
      if (flow == nullptr) break;
      const std::uint32_t number = take_token(PortId{p}, egress, {*flow, tc, 1, 0, now});
      send_token(ingress, *flow, tc, 1, number);
    }
  }
}

// The number that the token carries, if it is to come back unused: whose place it took, and which token of
// that port it is.
std::uint32_t Switch::Impl::take_token(PortId port_id, Port& port, const EscapeIssued::Token& token) {
  const bool set = port.escape->pool.next_reclaim().is_never();
  port.escape->pool.take(token.sent);
  if (set) set_timer(port_id, port);
  return config.escape.return_tokens ? (port_id.value + 1u) << 16 | port.escape->issued.add(token) : 0;
}

void Switch::Impl::send_token(PortId ingress, const SwitchFlow& flow, Tc tc, std::uint16_t hops,
                              std::uint32_t number) {
  Port& port = at(ingress);
  PacketRef token = pool.make();
  put_escape_token(*token, {.tc = tc,
                            .hops = hops,
                            .source = flow.source,
                            .destination = flow.destination,
                            .dest = flow.dest,
                            .ipv6 = flow.ipv6,
                            .number = number});
  ++port.counters.escape_tokens_sent;
  send_control(ingress, port, std::move(token));
}

// --- event e2, lines 15 to 28: a token from the switch behind this egress port

void Switch::Impl::receive_token(PortId egress, const Packet& packet, Time now) {
  Port& port = at(egress);
  const EscapeToken token = escape_token_of(packet);  // a host's is not believed: nothing is blocked there
  if (token.mark != EscapeTokenMark::kAsks) return receive_returned(egress, token, now);
  const std::uint64_t key = SwitchFlow{token.source, token.destination, token.dest, PortId{0}}.key();
  if (port.config.peer != PeerKind::kSwitch || !escapes(token.tc) || token.hops >= kMostEscapeHops)
    return refuse_token(egress, token, EscapeTokenMark::kNothingWaits);
  if (port.escape->pool.size() == 0) return refuse_token(egress, token, EscapeTokenMark::kNoPlace);
  auto frame = queues.extract(egress, token.tc, key);
  if (frame) {
    if (queues.empty(egress, token.tc)) {
      port.waiting = static_cast<TcMask>(port.waiting & ~bit_of(token.tc));
      port.scheduler.on_empty(token.tc);
    }
    return let_escape(egress, port, std::move(*frame), static_cast<std::uint8_t>(token.hops), false);
  }
  const SwitchFlow* flow = port.escape->flows.find(key);
  if (flow == nullptr || !takes_tokens(at(flow->in)) || !at(flow->in).requests.asks(token.tc))
    return refuse_token(egress, token, EscapeTokenMark::kNothingWaits);
  const SwitchFlow next = *flow;
  const auto hops = static_cast<std::uint16_t>(token.hops + 1);
  const std::uint32_t number = take_token(egress, port, {next, token.tc, hops, token.number, now});
  send_token(next.in, next, token.tc, hops, number);
}

// Without a reserved place the frame keeps its own in the ingress accounting until it has left.
void Switch::Impl::let_escape(PortId egress, Port& port, EgressQueues::Frame frame, std::uint8_t hops,
                              bool reserved) {
  const Bytes charged = reserved ? 0_B : frame.packet->frame();
  frame.packet->kind = PacketKind::kEscaping;
  frame.packet->roce.shim_hops = hops;
  frame.packet->frame_length += static_cast<std::uint32_t>(kEscapeShimBytes);
  ++port.counters.escaped_frames;
  queue_escaping(egress, port, {std::move(frame.packet), frame.in, frame.share, charged, reserved});
}

// EscapeFix::kOrder. Earlier frames of the flow wait here, on their way when the token passed: the first of
// them and the newcomer change places, in the queues and in the buffer. So in each port the dedicated queue
// has the flow's earlier frames and the own queue its later ones, and order holds.
void Switch::Impl::exchange(PortId in, PortId out, EgressQueues::Frame older, PacketRef&& packet, Time now) {
  const Tc tc = packet->tc;
  const PortId older_in = older.in;
  const Bytes freed = older.packet->frame();
  const std::uint32_t share = std::exchange(older.share, EgressQueues::kNoShare);
  const std::uint8_t hops = packet->roce.shim_hops;
  end_escape(*packet);
  buffer.charge_reserved(in, tc, packet->frame());
  enqueue(in, out, std::move(packet), EgressQueues::kNoShare, now);
  let_escape(out, at(out), std::move(older), hops, true);
  give_back(older_in, tc, freed, share, now);
  if (buffer.above_xoff(in, tc)) request_pause(PauseOwner::kIngressBuffer, in, tc, true, now);
}

void Switch::Impl::queue_escaping(PortId egress, Port& port, EscapingFrame frame) {
  const bool idle = !port.has_more();
  port.escape->reserved += frame.reserved;
  port.escape->queue.push_back(std::move(frame));
  ++escaping_frames;
  port.urgent = true;
  if (idle) list_ready(egress, port);
}

// An escaping frame from the switch upstream: into the dedicated queue, whose place its token has reserved.
void Switch::Impl::receive_escaping(PortId in, std::span<const PortId> outs, PacketRef&& packet, Time now) {
  Port& ingress = at(in);
  ++ingress.counters.rx_frames;
  ingress.counters.rx_bytes += packet->frame_length;
  if (ingress.config.peer != PeerKind::kSwitch)  // only switches let frames escape
    return drop(in, in, *packet, SwitchDropReason::kForged, now);
  if (outs.empty() || !escapes(packet->tc) || packet->roce.shim_hops == 0)
    return drop(in, in, *packet, SwitchDropReason::kNoRoute, now);
  const std::uint32_t places = config.escape.tokens;
  if (at(outs[0]).escape->reserved == places)
    return drop(outs[0], in, *packet, SwitchDropReason::kEscapeQueue, now);
  if (config.escape.return_tokens) at(outs[0]).escape->flows.served(flow_of(*packet, in).key());
  trace.record({.time = now,
                .kind = TraceKind::kDeliver,
                .mark = static_cast<std::uint8_t>(packet->ecn),
                .port = in.value,
                .flow = packet->flow,
                .bytes = packet->frame_length,
                .psn = packet->roce.psn.value(),
                .peer = outs[0].value});
  if (config.escape.has(EscapeFix::kOrder)) {
    if (auto older = queues.extract(outs[0], packet->tc, flow_of(*packet, in).key()))
      return exchange(in, outs[0], std::move(*older), std::move(packet), now);
  }
  queue_escaping(outs[0], at(outs[0]), {std::move(packet), in, EgressQueues::kNoShare, 0_B, true});
}

// --- event e3, lines 29 to 32

PacketRef Switch::Impl::transmit_escaping(PortId port_id, Port& port, Time now) {
  EscapePort& escape = *port.escape;
  EscapingFrame frame = escape.queue.take_front();
  --escaping_frames;
  port.urgent = !escape.queue.empty();
  Packet& packet = *frame.packet;
  escape.reserved -= frame.reserved;
  if (frame.reserved || !config.escape.has(EscapeFix::kPool)) {
    escape.pool.give();
    --packet.roce.shim_hops;
  }
  if (packet.roce.shim_hops == 0 || port.config.peer == PeerKind::kHost) end_escape(packet);
  ++port.counters.tx_frames;
  port.counters.tx_bytes += packet.frame_length;
  if (frame.charged > 0_B) give_back(frame.in, packet.tc, frame.charged, frame.share, now);
  if (config.telemetry.enabled) stamp(port_id, port, packet, now);
  return std::move(frame.packet);
}

}  // namespace rocelab
