// The way in: admission, copies, marking, drops.
#include <algorithm>
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

// A lossy frame for a queue at its limit: the queue's rule says which frame is dropped.
void SwitchCore::receive_full(PortId in, PortId out, PacketRef&& packet, Time now) {
  const Tc tc = packet->tc;
  EgressQueues::Queue& queue = queues.at(out, tc);
  const bool pushes_out = config.classes[tc.value].full != FullRule::kRefuse && queue.ranked != nullptr;
  if (!pushes_out) return drop(out, in, *packet, SwitchDropReason::kEgressLimit, now);
  buffer.charge_lossy(in, tc, packet->frame());
  note_delivered(in, out, *packet, now);
  enqueue(in, out, std::move(packet), kNoShare, now);
  Port& port = at(out);
  while (!buffer.egress_takes(queue.bytes, 0_B)) {
    const QueuedFrame victim = queues.push_out(queue);
    left(out, port, queue, tc, victim, now);
    give_back(victim.in, tc, victim.packet->frame(), victim.share, now);
    note_drop(out, victim.in, *victim.packet, SwitchDropReason::kPushedOut, now);
    release_frame(*victim.packet);
  }
}

// The frame is charged once, and each output decides for itself. The last that takes it gets the original, so
// that copies are made before it is marked. An output may be named twice: its queue is asked again for each
// copy.
void SwitchCore::receive_copies(PortId in, std::span<const PortId> outs, PacketRef packet, Time now) {
  const Tc tc = packet->tc;
  const Bytes frame = packet->frame();
  SwitchPortCounters& counters = at(in).counters;
  counters.replicated_frames += outs.size() - 1;
  counters.replicated_bytes += (outs.size() - 1) * packet->frame_length;
  std::size_t last = outs.size();
  for (std::size_t i = 0; i < outs.size(); ++i) {
    if (egress_takes(outs[i], tc, frame)) last = i;
  }
  const Packet& original = *packet;  // stays where it is while the queue holds it
  const std::uint32_t share = new_share();
  for (std::size_t i = 0; i < outs.size(); ++i) {
    if (!egress_takes(outs[i], tc, frame)) {
      note_drop(outs[i], in, original,
                lossless(tc) ? SwitchDropReason::kEgressMax : SwitchDropReason::kEgressLimit, now);
    } else if (PacketRef copy = i == last ? std::move(packet) : copy_of(original)) {
      enqueue(in, outs[i], std::move(copy), share, now);
    } else {
      note_drop(outs[i], in, original, SwitchDropReason::kNoCopy, now);
    }
  }
  const bool stored = shares[share].copies > 0;
  if (stored && !lossless(tc)) buffer.charge_lossy(in, tc, frame);
  if (!stored && lossless(tc)) buffer.release_lossless(in, tc, frame);  // all outputs were at their limits
  if (stored) note_stored(in, outs[last], original, now);
  if (!stored) free_shares.push_back(share);
  if (packet) release_frame(*packet);
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
  switch (reason) {
    case SwitchDropReason::kEgressLimit:
      ++counters.drops_egress_limit;
      break;
    case SwitchDropReason::kInputBuffer:
      ++counters.drops_input_buffer;
      break;
    case SwitchDropReason::kHeadroom:
      ++counters.drops_headroom;
      break;
    case SwitchDropReason::kOversize:
      ++counters.drops_oversize;
      break;
    case SwitchDropReason::kNoRoute:
      ++counters.drops_no_route;
      break;
    case SwitchDropReason::kNoCopy:
      ++counters.drops_no_copy;
      break;
    case SwitchDropReason::kForged:
      ++counters.drops_forged;
      break;
    case SwitchDropReason::kEscapeQueue:
      ++counters.drops_escape_queue;
      break;
    case SwitchDropReason::kWatchdog:
      ++counters.drops_watchdog;
      break;
    case SwitchDropReason::kLoopBreaker:
      ++counters.drops_loop_breaker;
      break;
    case SwitchDropReason::kEgressMax:
      ++counters.drops_egress_max;
      break;
    case SwitchDropReason::kPushedOut:
      ++counters.drops_pushed_out;
      break;
    case SwitchDropReason::kMechanism:
      ++counters.drops_mechanism;
      break;
  }
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
