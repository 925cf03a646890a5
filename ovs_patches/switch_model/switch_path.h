// The way of a frame through a switch, inline: in by receive(), out by transmit(). Every frame of every
// driver comes through here once per hop, and SwitchNode has it all in two functions. What is rare stands in
// switch_input.cc and switch.cc. Private to switch*.cc.
#pragma once

#include <algorithm>
#include <utility>

#include "ovs_patches/switch_model/switch_core.h"

namespace rocelab {

[[gnu::always_inline]] inline void SwitchCore::list_ready(PortId port_id, Port& port) {
  if (std::exchange(port.in_ready, true)) return;
  ready.push_back(port_id);
}

[[gnu::always_inline]] inline bool SwitchCore::egress_takes(PortId out, Tc tc, Bytes frame) const {
  if ((limited_classes & bit_of(tc)) != 0) [[unlikely]]
    return limited_takes(out, tc, frame);
  return lossless(tc) || config.input_buffered || buffer.egress_takes(queues.bytes(out, tc), frame);
}

[[gnu::always_inline]] inline const EcnConfig& SwitchCore::marking(const Port& port, Tc tc) const {
  const EcnConfig& of_class = config.classes[tc.value].ecn;
  return of_class.enabled && port.config.ecn.enabled ? port.config.ecn : of_class;
}

[[gnu::always_inline]] inline void SwitchCore::enqueue(PortId in, PortId out, PacketRef&& packet,
                                                       std::uint32_t share, Time now, std::uint32_t number) {
  const Tc tc = packet->tc;
  Port& port = at(out);
  EgressQueues::Queue& queue = queues.at(out, tc);
  const Bytes length = queue.bytes;
  const Bytes frame = packet->frame();
  if (ecn.marks(marking(port, tc), packet->ecn, length, out.value * std::size_t{kTrafficClasses} + tc.value))
    mark(out, in, *packet, length, now);
  if ((port.watched & bit_of(tc)) != 0) [[unlikely]]
    mechanisms.on_enqueue(port.watch, out, in, *packet, now);
  if (share < kGivenBack) ++shares[share].copies;
  const std::int64_t rank = (ranked_classes & bit_of(tc)) == 0 ? 0 : mechanisms.rank(out, *packet, now);
  queues.push_as(number == EgressQueues::kNil ? queues.reserve() : number, queue, in, share, frame,
                 std::move(packet), rank);
  if ((port.waiting & bit_of(tc)) != 0) {  // the port has had this class to send, or may not send it
    if ((preempting_classes & bit_of(tc)) != 0) [[unlikely]]
      stop_piece(out, port, tc, now);
    return;
  }
  const bool idle = !port.has_more();
  port.waiting |= bit_of(tc);
  if (idle && port.has_more()) list_ready(out, port);
}

[[gnu::always_inline]] inline TraceRecord SwitchCore::delivery(PortId in, PortId out, const Packet& packet,
                                                               Time now) {
  return {.time = now,
          .kind = TraceKind::kDeliver,
          .mark = static_cast<std::uint8_t>(packet.ecn),
          .port = in.value,
          .flow = packet.flow,
          .bytes = packet.frame_length,
          .psn = packet.roce.psn.value(),
          .peer = out.value};
}

[[gnu::always_inline]] inline void SwitchCore::note_delivered(PortId in, PortId out, const Packet& packet,
                                                              Time now) {
  if (trace.wants(TraceKind::kDeliver)) trace.record(delivery(in, out, packet, now));
}

// After a frame was charged and queued.
[[gnu::always_inline]] inline void SwitchCore::note_stored(PortId in, PortId out, const Packet& packet,
                                                           Time now) {
  note_delivered(in, out, packet, now);
  const Tc tc = packet.tc;
  if (lossless(tc) && buffer.above_xoff(in, tc)) request_pause(kBufferOwner, in, tc, true, now);
}

// The class of a frame that arrives. A DSCP that the map leaves out is not trusted: class 0.
[[gnu::always_inline]] inline void SwitchCore::classify(PortId in, Packet& packet) {
  packet.tc.value = config.class_map.classes[packet.roce.dscp % kDscps];
  if (packet.tc.value < kTrafficClasses) [[likely]]
    return;
  packet.tc = Tc{0};
  ++at(in).counters.unknown_dscp;
}

// Charges a frame to its ingress port and queues it.
[[gnu::always_inline]] inline void SwitchCore::store(PortId in, std::span<const PortId> outs,
                                                     PacketRef&& packet, Time now) {
  const Tc tc = packet->tc;
  const Bytes frame = packet->frame();
  const bool is_lossless = lossless(tc);
  if (is_lossless) {
    if (outs.size() == 1 && !egress_takes(outs[0], tc, frame)) [[unlikely]]
      return drop(outs[0], in, *packet, SwitchDropReason::kEgressMax, now);
    if (!buffer.admit_lossless(in, tc, frame))
      return drop(in, outs[0], *packet, SwitchDropReason::kHeadroom, now);
  } else if (config.input_buffered && !buffer.input_takes(in, frame)) {
    return drop(in, outs[0], *packet, SwitchDropReason::kInputBuffer, now);
  }
  if (outs.size() > 1) return receive_copies(in, outs, std::move(packet), true, now);

  const PortId out = outs[0];
  if (!is_lossless) {
    if (!egress_takes(out, tc, frame)) return receive_full(in, out, std::move(packet), now);
    buffer.charge_lossy(in, tc, frame);
  }
  Packet& stored = *packet;  // stays where it is while the queue holds it
  enqueue(in, out, std::move(packet), kNoShare, now);
  note_stored(in, out, stored, now);
}

[[gnu::always_inline]] inline void SwitchCore::receive(PortId in, std::span<const PortId> outs,
                                                       PacketRef&& packet, Time now) {
  const Bytes frame = packet->frame();
  Port& ingress = at(in);
  ++ingress.counters.rx_frames;
  ingress.counters.rx_bytes += packet->frame_length;
  if (frame > config.longest_frame()) return drop(in, in, *packet, SwitchDropReason::kOversize, now);
  if (outs.empty()) return drop(in, in, *packet, SwitchDropReason::kNoRoute, now);
  if (arrival_watchers != 0) [[unlikely]]
    return intercept(in, outs, std::move(packet), now);
  store(in, outs, std::move(packet), now);
}

// A frame leaves by the port.
[[gnu::always_inline]] inline void SwitchCore::count_sent(Port& port, const Packet& packet) {
  port.counters.sent[static_cast<std::size_t>(sent_kind(packet))].add(packet.frame_length);
}

// In and out at one instant: what receive() and transmit() come to where the port has nothing to send, the
// class is open and the frame fits without PFC. About half of all frames find it so. False, and nothing has
// changed: another case. The caller knows that the wire is free and that no other event has this instant.
[[gnu::always_inline]] inline bool SwitchCore::pass(PortId in, PortId out, Packet& packet, Time now) {
  const Tc tc = packet.tc;
  const Bytes frame = packet.frame();
  Port& egress = at(out);
  if (!egress.is_idle_for(tc) || frame > config.longest_frame() || no_short_cut != 0) return false;
  if (lossless(tc)) {
    if (!buffer.pass_lossless(in, tc, frame)) return false;
  } else {
    if (config.input_buffered ? !buffer.input_takes(in, frame) : !buffer.egress_takes(0_B, frame))
      return false;
    buffer.pass_lossy(in, tc, frame);
  }
  if (((egress.watched | egress.watched_out) & bit_of(tc)) != 0) [[unlikely]] {
    if ((egress.watched & bit_of(tc)) != 0) mechanisms.on_enqueue(egress.watch, out, in, packet, now);
    if ((egress.watched_out & bit_of(tc)) != 0) mechanisms.on_dequeue(egress.watch_out, out, in, packet, now);
  }
  queues.pass(queues.at(out, tc), in, frame);
  SwitchPortCounters& received = at(in).counters;
  ++received.rx_frames;
  received.rx_bytes += packet.frame_length;
  note_delivered(in, out, packet, now);
  count_sent(egress, packet);
  return true;
}

// --- the way out

[[gnu::always_inline]] inline void SwitchCore::give_back(PortId in, Tc tc, Bytes frame, std::uint32_t share,
                                                         Time now) {
  if (share != kNoShare) {
    if (share == kGivenBack) return;
    if (--shares[share].copies > 0) return;
    free_shares.push_back(share);
  }
  if (!lossless(tc)) return buffer.release_lossy(in, tc, frame);
  buffer.release_lossless(in, tc, frame);
  const PauseRequests& requests = at(in).requests;
  if (requests.asks(tc) && requests.asked_by(kBufferOwner, tc) && buffer.below_xon(in, tc))
    request_pause(kBufferOwner, in, tc, false, now);
}

// The one way out of a queue, whatever takes the frame: it has been taken out of `queue`, of class `tc`.
[[gnu::always_inline]] inline void SwitchCore::left(PortId port_id, Port& port,
                                                    const EgressQueues::Queue& queue, Tc tc,
                                                    const QueuedFrame& frame, Time now) {
  if (queue.frames == 0) {
    port.waiting = static_cast<TcMask>(port.waiting & ~bit_of(tc));
    port.scheduler.on_empty(tc);
  }
  if ((port.watched_out & bit_of(tc)) != 0) [[unlikely]]
    mechanisms.on_dequeue(port.watch_out, port_id, frame.in, *frame.packet, now);
}

[[gnu::always_inline]] inline PacketRef SwitchCore::dequeue(PortId port_id, Port& port, Time now) {
  const TcMask sendable = port.sendable();
  if (sendable == 0) return {};
  const Tc tc = port.scheduler.pick(sendable, [&](Tc c) { return queues.head_length(port_id, c); });
  return take(port_id, port, tc, queues.pop(queues.at(port_id, tc)), now);
}

// A frame that has been taken out of its queue to leave.
[[gnu::always_inline]] inline PacketRef SwitchCore::take(PortId port_id, Port& port, Tc tc,
                                                         EgressQueues::Frame frame, Time now) {
  left(port_id, port, queues.at(port_id, tc), tc, frame, now);
  count_sent(port, *frame.packet);
  give_back(frame.in, tc, frame.packet->frame(), frame.share, now);
  return std::move(frame.packet);
}

[[gnu::always_inline]] inline PacketRef SwitchCore::transmit(PortId port_id, Port& port, Time now) {
  if (!port.requests.frame_due()) {
    if (port.urgent) [[unlikely]]
      return transmit_urgent(port_id, port, now);
    PacketRef packet = dequeues_apart ? dequeue_apart(port_id, port, now) : dequeue(port_id, port, now);
    if (sees_transmit && packet) [[unlikely]]
      mechanisms.on_transmit(port_id, *packet, now);
    return packet;
  }
  PacketRef packet = make_pfc(port, now);
  set_timer(port_id, port);
  return packet;
}

}  // namespace rocelab
