// Fabric: the way of a frame through one pass: from a link into the pipeline, from the pipeline into the
// model, from the model onto the next link.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/wire/controls.h"
#include "base/wire/frame.h"
#include "base/wire/multicast.h"
#include "base/wire/shim.h"
#include "base/wire/shim_parts.h"
#include "emu/world/host_identity.h"
#include "ovs_patches/netdev/fabric.h"

namespace rocelab {

namespace {

constexpr std::size_t kMostHeaders = 256;  // of a frame without payload

void read_headers(Packet& packet, const FrameView& view) {
  packet.kind = view.kind;
  packet.ecn = view.ecn;
  packet.payload_length = view.payload_length;
  packet.roce.opcode = view.opcode;
  packet.roce.dest = view.dest;
  packet.roce.psn = view.psn;
  packet.roce.ack_req = view.ack_req;
  packet.roce.ipv6 = view.dst_interface != 0;
  packet.roce.dscp = view.dscp;
  packet.flow = view.dest.value;
}

}  // namespace

void Fabric::begin_pass(Time end) {
  RL_CHECK(pass_.empty() && end >= end_);
  end_ = end;
  while (arrivals_.min_time() < end) {
    const auto index = static_cast<std::uint32_t>(arrivals_.winner());
    Port& port = ports_[index];
    if (port.host) {
      while (auto arrival = port.host->take(end)) arrive_from_host(index, *arrival);
    } else {
      while (!port.inbox.empty() && port.inbox.front()->due < end) {
        PacketRef packet = std::move(port.inbox.front());
        port.inbox.pop_front();
        arrive_from_switch(index, std::move(packet));
      }
    }
    refresh(index);
  }
}

void Fabric::arrive_from_host(std::uint32_t index, HostLink::Arrival& a) {
  Port& port = ports_[index];
  PacketRef packet = pool_.make();
  packet->due = a.due;
  packet->frame_slot = a.frame;
  packet->frame_length = a.length;
  packet->retransmission = a.retransmission;
  if (a.view) read_headers(*packet, *a.view);
  const PortConfig& link = port.entry.config;
  const Time begin = a.due - link.delay - wire_time(packet->frame(), link.rate);
  if (port.link.in.fails(packet->payload_length > 0, begin, a.due))
    return lose(port, *packet, a.due, kLinkDown);
  if (a.pfc) {
    put_control(*packet, *a.pfc);
    capture(port, a.due, *packet, PcapngDirection::kInbound);
    port.node.node.deliver(port.id, {}, std::move(packet), a.due);  // the model gives the frame back
    return;
  }
  packet->src = NodeId{segment_.hosts()[port.entry.peer_host].node};
  const NicConfig& nic = segment_.hosts()[port.entry.peer_host].nic;
  if (!a.view || (nic.writes_shim() && !take_shim(*packet, nic))) {
    ++port.result.link_in.malformed_frames;
    port.node.trace.record_at({.time = a.due,
                               .kind = TraceKind::kDrop,
                               .mark = kMalformed,
                               .port = port.id.value,
                               .bytes = a.length});
    bank_.release(a.frame);
    return;
  }
  packet->dst = destination_of(*a.view);
  if (!cross(port.link.in, *packet)) return lose(port, *packet, a.due, kLinkLoss);
  hand_over(index, std::move(packet), a.view);
}

// Reads the slack and the header of RCP that the sending NIC has written, so that switches can rewrite them.
// A shim that is none stays where it is: the receiving NIC refuses the frame. False: it has times at switches
// that its NIC does not write, and would be ranked by them.
bool Fabric::take_shim(Packet& packet, const NicConfig& nic) {
  const std::span<const std::byte> frame = bytes_of(packet);
  const auto place = find_shim(frame);
  const auto shim = place ? Shim::read(frame.subspan(place->offset, place->bytes)) : Shim();
  if (!shim || !shim->for_hosts()) return true;
  if (const auto& hops = shim->part<HopTimesPart>())
    if (hops->times.count != nic.slack.switches || hops->times.next != 0 ||
        (hops->times.schedule && nic.slack.law != SlackLaw::kOmniscient))
      return false;
  if (!shim->part<SlackPart>() && !shim->part<RcpRequest>() && !shim->part<BfcPart>()) return true;
  shim->put(packet);
  bank_.set_shim(packet.frame_slot, static_cast<std::uint32_t>(place->bytes));
  return true;
}

void Fabric::arrive_from_switch(std::uint32_t index, PacketRef packet) {
  Port& port = ports_[index];
  if (is_link_local(packet->kind)) {
    capture(port, packet->due, *packet, PcapngDirection::kInbound);
    const Time due = packet->due;
    port.node.node.deliver(port.id, {}, std::move(packet), due);
    return;
  }
  const auto view = view_frame(bytes_of(*packet));  // before the packet moves: arguments have no order
  hand_over(index, std::move(packet), view);
}

// `view`: null when a flipped bit made the frame unreadable; what was read before still tells how to treat
// it.
void Fabric::hand_over(std::uint32_t index, PacketRef packet, const std::optional<FrameView>& view) {
  Port& port = ports_[index];
  capture(port, packet->due, *packet, PcapngDirection::kInbound);
  if (view) packet->roce.dscp = view->dscp;
  wait(port, static_cast<std::uint32_t>(pass_.size()));
  Passing& passing = pass_.emplace_back();
  passing.packet = std::move(packet);
  passing.port = index;
  passing.hash = (view ? view->flow_hash : 0) + index * 0x9e3779b1u;
}

void Fabric::wait(Port& port, std::uint32_t slot) {
  port.waiting.push_back(slot);
  if (port.ready != nullptr) *port.ready |= kReadyBit;
  ++pending_;
}

bool Fabric::receive(std::uint32_t index, Handed& out) {
  Port& port = ports_[index];
  if (port.waiting.empty()) return false;
  out.slot = port.waiting.front();
  port.waiting.pop_front();
  if (port.waiting.empty() && port.ready != nullptr) *port.ready &= static_cast<std::uint8_t>(~kReadyBit);
  --pending_;
  const Passing& passing = pass_[out.slot];
  out.hash = passing.hash;
  out.length = static_cast<std::uint16_t>(passing.packet->frame_length);
  out.bytes = segment_.frame(passing.packet->frame_slot);
  return true;
}

void Fabric::on_forwarded(std::uint32_t slot, std::uint32_t index, std::span<const std::byte> bytes) {
  if (slot >= pass_.size() || index >= ports_.size())
    throw RunError("the forwarding pipeline sent a frame that it was not given");
  Passing& passing = pass_[slot];
  if (ports_[index].entry.switch_index != ports_[passing.port].entry.switch_index)
    throw RunError(std::string("the forwarding pipeline sent a frame to ") + ports_[index].entry.interface +
                   ", which is not a port of its switch");
  if (bytes.size() != passing.packet->frame_length) replace(passing, bytes);
  if (passing.forwarded)
    passing.more.push_back(ports_[index].id);
  else
    passing.first = ports_[index].id;
  passing.forwarded = true;
}

// Headers were added or removed.
void Fabric::replace(Passing& passing, std::span<const std::byte> bytes) {
  Packet& packet = *passing.packet;
  const std::span<std::byte> room = segment_.frame(packet.frame_slot);
  if (passing.forwarded) throw RunError("a rule that changes a frame's length must have one output");
  if (bytes.size() > room.size())
    throw RunError("the forwarding pipeline made a frame longer than engine.max_frame");
  std::memmove(room.data(), bytes.data(), bytes.size());
  packet.frame_length =
      std::max(static_cast<std::uint32_t>(bytes.size()), static_cast<std::uint32_t>(kMinFrameBytes.count()));
}

// A frame to a host of the run, or to a group: the pipeline must have a rule for it. A damaged one may have
// looked like anything.
bool Fabric::belongs_to_run(const Packet& packet) const {
  const auto view = view_frame(bytes_of(packet));
  return view && (packet.roce.dest == kMulticastQpn || destination_of(*view) != kNoNode);
}

// Hosts have an IPv4 address and two IPv6 ones, whose lower halves differ.
NodeId Fabric::destination_of(const FrameView& view) const {
  if (view.dst_interface != 0) {
    const auto found = nodes_by_interface_.find(view.dst_interface);
    return found != nodes_by_interface_.end() ? found->second : kNoNode;
  }
  const auto found = nodes_by_ipv4_.find(view.dst_ipv4);
  return found != nodes_by_ipv4_.end() ? found->second : kNoNode;
}

bool Fabric::wait_again(bool last_try) {
  for (std::uint32_t slot = 0; slot < pass_.size(); ++slot) {
    const Passing& passing = pass_[slot];
    if (passing.forwarded || !belongs_to_run(*passing.packet)) continue;
    Port& port = ports_[passing.port];
    if (last_try)
      throw RunError(
          std::string("a frame from ") + port.entry.interface +
          " does not come out of the forwarding pipeline: a rule is missing, or the datapath drops it");
    wait(port, slot);
  }
  return pending_ > 0;
}

void Fabric::deliver(Passing& passing) {
  Port& port = ports_[passing.port];
  const Time due = passing.packet->due;
  if (!passing.forwarded)
    return port.node.node.deliver(port.id, {}, std::move(passing.packet), due);  // to nobody
  if (passing.more.empty())
    return port.node.node.deliver(port.id, {&passing.first, 1}, std::move(passing.packet), due);
  // The order of outputs must not be the pipeline's: it follows from the order of its tables.
  passing.more.push_back(passing.first);
  std::ranges::sort(passing.more);
  port.node.node.deliver(port.id, passing.more, std::move(passing.packet), due);
}

// PFC and pauses of queues concern all VFs of a host; a token, which ends there, is one frame for whoever is
// first.
void Fabric::tell_host(Port& port, const Packet& packet, Time due) {
  std::array<std::byte, kMaxControlFrame> room;
  const auto bytes = write_frame_of(world(), index_of(port), false, packet, room);
  port.host->deliver_control(packet, bytes, due,
                             packet.kind == kind_of<PfcFrame> || packet.kind == kind_of<BfcPause>);
}

void Fabric::depart(Port& port, PacketRef packet, Time departure, Time due) {
  if (due < (port.host ? coordinator_.now() : end_))  // it would come too late
    throw RunError(std::string("the lookahead is larger than the link at ") + port.entry.interface);
  if (is_feedback(packet->kind) && packet->frame_slot == kNoFrame) give_bytes(port, *packet);
  if (packet->kind == PacketKind::kEscapeAnnouncement && packet->roce.shim_hops == 1) leave_headers(*packet);
  if (packet->roce.shim_hops != 0 || packet->roce.telemetry_hops != 0 || packet->roce.has_slack ||
      packet->roce.has_rcp || packet->roce.has_bfc)
    write_shim(*packet);
  if (!is_link_local(packet->kind) && packet->ecn == Ecn::kCe) write_ce(bytes_of(*packet));
  capture(port, departure, *packet, PcapngDirection::kOutbound);
  if (port.link.out.fails(packet->payload_length > 0, departure, due))
    return lose(port, *packet, departure, kLinkDown);
  if (is_link_local(packet->kind)) {
    if (port.host) return tell_host(port, *packet, due);
  } else {
    if (!cross(port.link.out, *packet)) return lose(port, *packet, departure, kLinkLoss);
    if (port.host && is_feedback(packet->kind)) return port.host->deliver_to_all(*packet, due);
    if (port.host) return port.host->deliver(*packet, due);
  }
  if (port.peer == kNoPeer) {
    ++port.result.link_out.undeliverable_frames;
    if (packet->frame_slot != kNoFrame) bank_.release(packet->frame_slot);
    return;
  }
  ports_[port.peer].inbox.push_back(std::move(packet));
  refresh(port.peer);
}

// The shim in the bytes as in the packet: INT, which a departure adds a record to, and Escape's hops. A
// damaged frame that has no place for it keeps its bytes: it ends in zeros, or earlier, so that its length is
// right.
void Fabric::write_shim(Packet& packet) {
  const std::span<std::byte> room = segment_.frame(packet.frame_slot);
  if (packet.roce.shim_hops == kShimToRemove) packet.roce.shim_hops = 0;
  const std::uint32_t bytes = shim_bytes_of(packet);
  const std::uint32_t before = bank_.set_shim(packet.frame_slot, bytes);
  const std::uint32_t arrived = packet.frame_length - bytes + before;
  RL_CHECK(std::max(arrived, packet.frame_length) <= room.size());
  std::optional<std::size_t> bare;
  if (before == 0) {
    bare = arrived;
  } else if (const auto place = find_shim(room.first(arrived)); place && place->bytes == before) {
    bare = remove_shim(room.first(arrived));
  }
  if (bare && insert_parts(room, *bare, Shim::of(packet)) == packet.frame_length) return;
  for (std::uint32_t at = arrived; at < packet.frame_length; ++at) room[at] = std::byte{0};
}

// Feedback leaves the switch that made it: it gets its bytes.
void Fabric::give_bytes(Port& port, Packet& feedback) {
  feedback.frame_slot = bank_.make();
  if (feedback.frame_slot == kNoFrame) throw RunError("no frame left for a CNP: raise engine.frames_per_vf");
  write_frame_of(world(), index_of(port), false, feedback, segment_.frame(feedback.frame_slot));
}

// An announcement leaves the switch that made it: its bytes are a copy of a frame that waits there. What is
// left of them is what its sender would write without payload, whatever switches have added; a damaged frame
// has nothing to say.
void Fabric::leave_headers(Packet& announcement) {
  const std::span<std::byte> room = segment_.frame(announcement.frame_slot);
  const auto view = view_frame(room);
  const std::uint32_t length = announcement.frame_length - shim_bytes_of(announcement);
  std::size_t bare = view ? view->end : 0;
  if (bank_.set_shim(announcement.frame_slot, 0) != 0) bare = remove_shim(room.first(bare)).value_or(0);
  auto frame = parse_frame(room.first(bare), IcrcCheck::kSkip);
  std::array<std::byte, kMostHeaders> headers{};
  if (frame) {
    frame->address.vlan.reset();  // room for it is not counted
    if (frame_length(frame->roce, 0, frame->address.is_ipv4) == length)
      write_frame(frame->address, frame->roce, {}, headers);
  }
  std::ranges::copy(std::span(headers).first(length), room.begin());
}

WorldView Fabric::world() const {
  return {segment_.hosts(), segment_.switches(), segment_.ports(), segment_.link_changes(),
          segment_.header().seed};
}

// False: the frame is lost.
bool Fabric::cross(LinkDirection& link, const Packet& packet) {
  const std::span<std::byte> frame = bytes_of(packet);
  std::optional<FrameView> view;
  const FaultVerdict verdict = link.cross(packet.payload_length > 0, [&]() -> std::uint32_t {
    view = view_frame(frame);
    return view ? view->end - view->transport : 0;
  });
  if (verdict.kind == FaultVerdict::Kind::kCorrupt) flip_bit(frame, view->transport, verdict.bit);
  return verdict.kind != FaultVerdict::Kind::kDrop;
}

void Fabric::lose(Port& port, const Packet& packet, Time when, std::uint8_t why) {
  port.node.trace.lost_at(when, port.id, packet, why);
  if (packet.frame_slot != kNoFrame) bank_.release(packet.frame_slot);
}

void Fabric::capture(Port& port, Time time, const Packet& packet, PcapngDirection direction) {
  const std::uint32_t index = index_of(port);
  if (!captures_.wants(index)) return;
  if (is_link_local(packet.kind)) {
    std::array<std::byte, kMaxControlFrame> room;
    const bool inbound = direction == PcapngDirection::kInbound;
    captures_.add(index, time, write_frame_of(world(), index, inbound, packet, room), direction);
  } else {
    captures_.add(index, time, bytes_of(packet), direction);
  }
}

}  // namespace rocelab
