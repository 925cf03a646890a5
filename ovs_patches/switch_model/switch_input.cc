// The way in: admission, copies, marking, drops.
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "base/check.h"
#include "ovs_patches/switch_model/switch_path.h"

namespace rocelab {

void SwitchCore::mark(PortId out, PortId in, Packet& packet, Bytes queue, Time now) {
  packet.ecn = Ecn::kCe;
  ++at(out).counters.ecn_marked;
  trace.record({.time = now,
                .kind = TraceKind::kMark,
                .mark = packet.tc.value,
                .port = out.value,
                .flow = packet.flow,
                .bytes = static_cast<std::uint64_t>(queue.count()),
                .psn = packet.roce.psn.value(),
                .peer = in.value});
}

bool SwitchCore::limited_takes(PortId out, Tc tc, Bytes frame) const {
  if (lossless(tc))
    return queues.bytes(out, tc) + frame <= config.classes[tc.value].egress_max &&
           mechanisms.takes(out, tc, frame);
  return buffer.egress_takes(queues.bytes(out, tc), frame) && beyond_port_buffer(out, frame) == 0_B;
}

// The part of a lossy frame for which the port's classes leave no room.
Bytes SwitchCore::beyond_port_buffer(PortId out, Bytes frame) const {
  if (config.port_buffer == 0_B) return 0_B;
  Bytes held = frame;
  for (auto left = static_cast<TcMask>(ports[out.value].waiting & ~lossless_classes); left != 0;
       left &= static_cast<TcMask>(left - 1))
    held += queues.bytes(out, Tc{static_cast<std::uint8_t>(std::countr_zero(left))});
  return std::max(0_B, held - config.port_buffer);
}

// Of a frame that is dropped.
SwitchDropReason SwitchCore::full_reason(PortId out, Tc tc, Bytes frame) {
  if (lossless(tc)) {
    mechanisms.on_refused(out, tc, frame);
    return SwitchDropReason::kEgressMax;
  }
  return beyond_port_buffer(out, frame) > 0_B ? SwitchDropReason::kPortBuffer
                                              : SwitchDropReason::kEgressLimit;
}

void SwitchCore::push_out(PortId out, Tc tc, SwitchDropReason reason, Time now) {
  EgressQueues::Queue& queue = queues.at(out, tc);
  const QueuedFrame victim = queues.push_out(queue);
  left(out, at(out), queue, tc, victim, now);
  give_back(victim.in, tc, victim.packet->frame(), victim.share, now);
  note_drop(out, victim.in, *victim.packet, reason, now);
  release_frame(*victim.packet);
}

// PortRule::kPushOutLower: frees so many bytes of the lossy classes that are served strictly after `tc`.
// False, and nothing has changed: they hold less. ETS classes come after the strict ones, and are equal.
bool SwitchCore::displace(PortId out, Tc tc, Bytes bytes, Time now) {
  const auto precedence = [&](std::uint8_t n) {
    return config.classes[n].selection == Selection::kStrict ? n + 1 : 0;
  };
  const auto lower = [&](std::uint8_t n) { return precedence(n) < precedence(tc.value) && !lossless(Tc{n}); };
  Bytes held;
  for (std::uint8_t n = 0; n < kTrafficClasses; ++n)
    if (lower(n)) held += queues.bytes(out, Tc{n});
  if (held < bytes) return false;
  for (const bool strict : {false, true})
    for (std::uint8_t n = 0; n < kTrafficClasses; ++n)
      while (lower(n) && (precedence(n) > 0) == strict && bytes > 0_B && !queues.empty(out, Tc{n})) {
        const Bytes before = queues.bytes(out, Tc{n});
        push_out(out, Tc{n}, SwitchDropReason::kDisplaced, now);
        bytes -= before - queues.bytes(out, Tc{n});
      }
  return true;
}

// A lossy frame for a queue or a port at its limit: their rules say which frames are dropped.
void SwitchCore::receive_full(PortId in, PortId out, PacketRef&& packet, Time now) {
  const Tc tc = packet->tc;
  const EgressQueues::Queue& queue = queues.at(out, tc);
  const Bytes frame = packet->frame();
  const bool pushes_out = config.classes[tc.value].full != FullRule::kRefuse;
  const bool displaces = config.port_rule == PortRule::kPushOutLower;
  if (!pushes_out && !buffer.egress_takes(queue.bytes, frame))
    return drop(out, in, *packet, full_reason(out, tc, frame), now);
  if (const Bytes beyond = beyond_port_buffer(out, frame); beyond > 0_B) {
    const bool has_room = displaces && displace(out, tc, beyond, now);
    if (!has_room && !pushes_out) return drop(out, in, *packet, SwitchDropReason::kPortBuffer, now);
  }
  buffer.charge_lossy(in, tc, frame);
  note_delivered(in, out, *packet, now);
  enqueue(in, out, std::move(packet), kNoShare, now);
  while (pushes_out && (!buffer.egress_takes(queue.bytes, 0_B) || beyond_port_buffer(out, 0_B) > 0_B))
    push_out(out, tc, SwitchDropReason::kPushedOut, now);
}

// The frame is charged once, and each output decides for itself. The last that takes it gets the original, so
// that copies are made before it is marked. An output may be named twice: its queue is asked again for each
// copy. `charged`: lossless frames have been charged; else place() has given their place back.
void SwitchCore::receive_copies(PortId in, std::span<const PortId> outs, PacketRef packet, bool charged,
                                Time now) {
  const Tc tc = packet->tc;
  const Bytes frame = packet->frame();
  SwitchPortCounters& counters = at(in).counters;
  counters.replicated_frames += outs.size() - 1;
  counters.replicated_bytes += (outs.size() - 1) * packet->frame_length;
  if (policy) return copies_by_policy(in, outs, std::move(packet), charged ? new_share() : kGivenBack, now);
  std::size_t last = outs.size();
  for (std::size_t i = 0; i < outs.size(); ++i) {
    if (egress_takes(outs[i], tc, frame)) last = i;
  }
  const Packet& original = *packet;  // stays where it is while the queue holds it
  const std::uint32_t share = charged ? new_share() : kGivenBack;
  std::optional<TraceRecord> stored;  // the last one
  for (std::size_t i = 0; i < outs.size(); ++i) {
    if (!egress_takes(outs[i], tc, frame)) {
      note_drop(outs[i], in, original, full_reason(outs[i], tc, frame), now);
    } else if (PacketRef copy = i == last ? std::move(packet) : copy_of(original)) {
      const Packet& one = *copy;  // stays where it is while the queue holds it
      enqueue(in, outs[i], std::move(copy), share, now);
      stored = delivery(in, outs[i], one, now);
    } else {
      note_drop(outs[i], in, original, SwitchDropReason::kNoCopy, now);
    }
  }
  if (stored && !lossless(tc)) buffer.charge_lossy(in, tc, frame);
  if (!stored && charged && lossless(tc)) buffer.release_lossless(in, tc, frame);  // outputs at their limits
  if (stored && trace.wants(TraceKind::kDeliver)) trace.record(*stored);
  if (stored && lossless(tc) && buffer.above_xoff(in, tc)) request_pause(kBufferOwner, in, tc, true, now);
  if (!stored && charged) free_shares.push_back(share);
  if (packet) release_frame(*packet);
}

// store(), not inline: for frames that mechanisms look at first.
void SwitchCore::store_apart(PortId in, std::span<const PortId> outs, PacketRef packet, Time now) {
  if (policy) return store_by_policy(in, outs, std::move(packet), now);
  store(in, outs, std::move(packet), now);
}

// A frame that has its outputs may be taken by a mechanism, which places it later, get another output from
// one, or be refused.
void SwitchCore::intercept(PortId in, std::span<const PortId> outs, PacketRef&& packet, Time now) {
  if (mechanisms.on_arrival(in, outs, packet, now)) return;
  if (outs.size() != 1) return store_apart(in, outs, std::move(packet), now);
  const PortId out = mechanisms.choose(in, outs[0], *packet);
  if (const auto reason = mechanisms.admit(in, out, *packet, now))
    return drop(out, in, *packet, *reason, now);
  store_apart(in, {&out, 1}, std::move(packet), now);
}

// A frame that on_arrival() took. A lossless one was charged to its ingress port then, and is not charged for
// the time in its queues.
void SwitchCore::place(PortId in, std::span<const PortId> outs, PacketRef packet, Time now) {
  const Tc tc = packet->tc;
  const Bytes frame = packet->frame();
  mechanisms.on_placed(in, *packet, now);
  if (lossless(tc)) give_back(in, tc, frame, kNoShare, now);
  if (outs.size() > 1 && !lossless(tc)) return store_apart(in, outs, std::move(packet), now);
  if (outs.size() > 1) return receive_copies(in, outs, std::move(packet), false, now);
  const PortId out = mechanisms.choose(in, outs[0], *packet);
  if (const auto reason = mechanisms.admit(in, out, *packet, now))
    return drop(out, in, *packet, *reason, now);
  if (!lossless(tc)) return store_apart(in, {&out, 1}, std::move(packet), now);
  if (policy) return copies_by_policy(in, {&out, 1}, std::move(packet), kGivenBack, now);
  if (!egress_takes(out, tc, frame)) return drop(out, in, *packet, full_reason(out, tc, frame), now);
  note_delivered(in, out, *packet, now);
  enqueue(in, out, std::move(packet), kGivenBack, now);
}

// Frames that only switches make are believed because hosts cannot send them. One that no mechanism takes has
// no way on.
void SwitchCore::refuse(PortId in, const Packet& packet, Time now) {
  SwitchPortCounters& counters = at(in).counters;
  ++counters.rx_frames;
  counters.rx_bytes += packet.frame_length;
  const bool forged = at(in).config.peer == PeerKind::kHost;
  drop(in, in, packet, forged ? SwitchDropReason::kForged : SwitchDropReason::kNoRoute, now);
}

// Null: the frame's owner has no place for one more.
PacketRef SwitchCore::copy_of(const Packet& packet) {
  std::uint32_t slot = packet.frame_slot;
  if (slot != kNoFrame && frames != nullptr) {
    slot = frames->share(slot);
    if (slot == kNoFrame) return {};
  }
  PacketRef copy = pool.clone(packet);
  copy->frame_slot = slot;
  return copy;
}

void SwitchCore::drop(PortId at_port, PortId peer, const Packet& packet, SwitchDropReason reason, Time now) {
  note_drop(at_port, peer, packet, reason, now);
  release_frame(packet);
}

void SwitchCore::release_frame(const Packet& packet) {
  if (frames != nullptr && packet.frame_slot != kNoFrame) frames->release(packet.frame_slot);
}

void SwitchCore::note_drop(PortId at_port, PortId peer, const Packet& packet, SwitchDropReason reason,
                           Time now) {
  SwitchPortCounters& counters = at(at_port).counters;
  ++counters.drops;
  counters.dropped_bytes += packet.frame_length;
  counters.data_drops += packet.kind == PacketKind::kData && packet.payload_length > 0;
  counters.lossless_drops += lossless(packet.tc) && !is_deliberate(reason);
  ++(counters.*counter_of(reason));
  trace.record({.time = now,
                .kind = TraceKind::kDrop,
                .mark = static_cast<std::uint8_t>(reason),
                .port = at_port.value,
                .flow = packet.flow,
                .bytes = packet.frame_length,
                .psn = packet.roce.psn.value(),
                .peer = peer.value});
}

std::uint32_t SwitchCore::new_share() {
  if (free_shares.empty()) {
    free_shares.push_back(static_cast<std::uint32_t>(shares.size()));
    shares.emplace_back();
  }
  const std::uint32_t share = free_shares.back();
  free_shares.pop_back();
  shares[share].copies = 0;
  return share;
}

}  // namespace rocelab
