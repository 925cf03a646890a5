#include "irn_provider/live/live_nic.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "base/check.h"
#include "base/wire/etf.h"
#include "base/wire/frame.h"
#include "base/wire/rocc_cnp.h"
#include "base/wire/telemetry.h"

namespace rocelab {

using lockstep::FrameDescriptor;

namespace {

std::string event_path(const lockstep::Segment& segment, const lockstep::HostEntry& host, std::uint32_t vf) {
  const std::string folder = segment.header().trace_dir;
  if (folder.empty()) return {};
  return folder + "/" + host.name + "." + std::to_string(vf % segment.header().vfs_per_host) + ".events";
}

// The 40 bytes in front of a datagram's payload become its GRH: the IPv6 header, or 20 zeros and the IPv4
// header (IBTA annex A17.4.5.3). All headers of the frame have been read by then.
void put_grh(std::span<std::byte> frame, const FrameLayout& layout) {
  std::array<std::byte, kGrhBytes> grh{};
  const std::size_t bytes = layout.is_ipv4 ? Ipv4Header::kSize : Ipv6Header::kSize;
  std::copy_n(frame.begin() + layout.ip, bytes, grh.end() - static_cast<std::ptrdiff_t>(bytes));
  std::copy(grh.begin(), grh.end(), frame.begin() + (layout.payload - kGrhBytes));
}

// What cannot happen in a run of this build ends the program with a line: the alternative would be a silent
// loss.
[[noreturn]] void give_up(const lockstep::HostEntry& host, const char* why) {
  std::fprintf(stderr, "rocelab: %s: %s\n", host.name, why);
  _exit(1);
}

}  // namespace

LiveNic::LiveNic(const lockstep::Segment& segment, std::uint32_t host, std::uint32_t vf)
    : segment_(segment),
      host_(segment.hosts()[host]),
      slot_(segment.vfs()[vf]),
      tx_(segment.tx(vf)),
      rx_(segment.rx(vf)),
      returns_(segment.returns(vf)),
      frames_(segment, vf),
      trace_(event_path(segment, host_, vf), Duration::from_ps(segment.header().sample_interval_ps)),
      nic_(host_.nic, Qpn{slot_.first_qpn},
           Rng(segment.header().seed).fork(host_.name).fork(std::to_string(slot_.vf)), pool_, memory_,
           trace_),
      port_(nic_, host_.nic.link_rate, host_.nic.link_delay),
      earlier_(slot_.counters) {
  nic_.begin_qps_at(slot_.next_qp);
  if (host_.nic.cc.kind == CcKind::kRocc)
    for (const lockstep::HostEntry& each : segment.hosts())
      nodes_by_ipv4_.emplace(each.ipv4, NodeId{each.node});
}

void LiveNic::advance(Time t) {
  while (port_.next_event() < t && run_until(t)) {
  }
  if (t > now()) port_.advance_to(t);
}

bool LiveNic::run_until(Time limit) {
  take_arrivals(limit, false);
  const StopReason why =
      port_.run_until(limit, [this](PacketRef p, Time, Time due) { send(std::move(p), due); });
  if (why == StopReason::kLimit && limit > now()) port_.advance_to(limit);
  return_consumed();
  return why == StopReason::kCompletion;
}

bool LiveNic::run_to_posts(Time t) {
  take_arrivals(t, true);
  const StopReason why =
      port_.run_to_posts(t, [this](PacketRef p, Time, Time due) { send(std::move(p), due); });
  return_consumed();
  return why == StopReason::kCompletion;
}

Time LiveNic::next_event() {
  const FrameDescriptor* head = rx_.front();
  return std::min(port_.next_event(), head != nullptr ? Time::from_ps(head->due_ps) : Time::never());
}

VfIntent LiveNic::intent() {
  const FrameDescriptor* head = rx_.front();
  return {std::min(port_.next_input(), head != nullptr ? Time::from_ps(head->due_ps) : Time::never()),
          port_.wants_port()};
}

bool LiveNic::run_inputs(Time t) {
  take_arrivals(t, true);
  const StopReason why = port_.run_inputs(t);
  return_consumed();
  return why == StopReason::kCompletion;
}

bool LiveNic::depart(Time t, bool& sent) {
  const StopReason why = port_.depart_at(t, [&](PacketRef p, Time, Time due) {
    send(std::move(p), due);
    sent = true;
  });
  return why == StopReason::kCompletion;
}

void LiveNic::take_arrivals(Time limit, bool inclusive) {
  for (const FrameDescriptor* d = rx_.front(); d != nullptr; d = rx_.front()) {
    if (d->due_ps > limit.ps() || (!inclusive && d->due_ps == limit.ps())) break;
    const FrameDescriptor descriptor = *d;
    rx_.pop();
    const Time due = std::max(Time::from_ps(descriptor.due_ps),
                              now());  // a process that time has gone on without takes it late
    held_.emplace_back(due, descriptor.frame);
    if (PacketRef packet = parse(descriptor)) port_.deliver(std::move(packet), due);
  }
}

PacketRef LiveNic::parse(const FrameDescriptor& descriptor) {
  const std::span<const std::byte> bytes = segment_.frame(descriptor.frame).first(descriptor.length);
  PacketRef packet = pool_.make();
  packet->frame_slot = descriptor.frame;
  packet->retransmission = descriptor.retransmission != 0;
  if (static_cast<PacketKind>(descriptor.kind) == PacketKind::kPfc) {
    const auto pfc = PfcFrame::parse(bytes);
    if (!pfc) return bad_frame(descriptor, FrameError::kTooShort);
    put_pfc(*packet, *pfc);
    return packet;
  }
  if (static_cast<PacketKind>(descriptor.kind) == PacketKind::kEscapeToken) {
    if (!EscapeTokenFrame::parse(bytes)) return bad_frame(descriptor, FrameError::kTooShort);
    packet->kind = PacketKind::kEscapeToken;
    return packet;
  }
  if (static_cast<PacketKind>(descriptor.kind) == PacketKind::kFairRate) {
    const auto cnp = RoccCnp::parse(bytes);
    if (!cnp) return bad_frame(descriptor, FrameError::kNotRoce);
    put_fair_rate(*packet, {cnp->cp, cnp->rate, cnp->destination, cnp->dest});
    const auto destination = nodes_by_ipv4_.find(cnp->destination);
    packet->src = destination != nodes_by_ipv4_.end() ? destination->second : kNoNode;
    packet->tc = Tc{host_.nic.cnp_tc};
    return packet;
  }
  FrameError why{};
  const std::uint32_t shim = take_telemetry(descriptor, *packet);
  const auto frame = parse_frame(bytes.first(descriptor.length - shim), IcrcCheck::kVerify, &why);
  if (!frame) return bad_frame(descriptor, why);
  packet->kind = packet_kind(frame->roce.opcode);
  packet->frame_length = frame->layout.length + shim;
  packet->payload = frame->payload.data();
  packet->payload_length = static_cast<std::uint32_t>(frame->payload.size());
  packet->ecn = frame->address.ecn;
  packet->tc = Tc{frame->address.dscp == host_.nic.cnp_dscp ? host_.nic.cnp_tc : host_.nic.roce_tc};
  const std::uint8_t hops = packet->roce.telemetry_hops;
  packet->roce = frame->roce;
  packet->roce.telemetry_hops = hops;
  if (opcode_info(frame->roce.opcode).has(Header::kDeth))
    put_grh(segment_.frame(descriptor.frame), frame->layout);
  packet->flow = frame->roce.dest.value;
  return packet;
}

// INT leaves the frame before its ICRC is looked at, which does not cover it. Returns the bytes that it took.
std::uint32_t LiveNic::take_telemetry(const FrameDescriptor& descriptor, Packet& packet) {
  if (!host_.nic.cc.needs_telemetry()) return 0;
  const std::span<std::byte> bytes = segment_.frame(descriptor.frame).first(descriptor.length);
  const auto place = find_shim(bytes);
  const auto found = place ? telemetry_of(bytes, *place) : std::nullopt;
  if (!found) return 0;
  PacketPool::telemetry(packet) = *found;
  packet.roce.telemetry_hops = found->hops;
  return static_cast<std::uint32_t>(bytes.size() - remove_shim(bytes).value_or(bytes.size()));
}

PacketRef LiveNic::bad_frame(const FrameDescriptor& descriptor, FrameError why) {
  (why == FrameError::kBadIcrc ? edge_counters_.rx_icrc_encapsulated : edge_counters_.rx_malformed) += 1;
  trace_.record({.time = std::max(Time::from_ps(descriptor.due_ps), now()),
                 .kind = TraceKind::kDrop,
                 .mark = static_cast<std::uint8_t>(0x80 | static_cast<unsigned>(why)),
                 .bytes = descriptor.length});
  return {};
}

// Frames whose packets the state machines have seen go home; they keep no packet beyond the instant of its
// arrival.
void LiveNic::return_consumed() {
  while (!held_.empty() && held_.front().first <= now()) {
    if (!returns_.push(held_.front().second)) give_up(host_, "the ring of returned frames is full");
    held_.pop_front();
  }
}

std::uint32_t LiveNic::allocate_frame() {
  const auto frame = frames_.take();
  if (!frame) give_up(host_, "all its frames are in the network; raise engine.frames_per_vf");
  return *frame;
}

FrameAddress LiveNic::address_of(const Packet& packet) const {
  const PathAddress* path = nic_.path_of(packet);
  RL_CHECK(path != nullptr);
  FrameAddress a;
  a.dst_mac = path->dst_mac;
  a.src_mac = host_.mac;
  a.is_ipv4 = path->is_ipv4();
  a.src_gid = path->src_gid;
  a.dst_gid = path->dst_gid;
  const std::uint8_t class_dscp =
      packet.tc.value == host_.nic.cnp_tc ? host_.nic.cnp_dscp : host_.nic.roce_dscp;
  a.dscp = path->traffic_class != 0 ? static_cast<std::uint8_t>(path->traffic_class >> 2) : class_dscp;
  a.ecn = packet.ecn;
  a.ttl = path->hop_limit != 0 ? path->hop_limit : 64;
  a.udp_src_port = path->udp_src_port;
  return a;
}

void LiveNic::send(PacketRef packet, Time due) {
  const std::uint32_t index = allocate_frame();
  const std::span<std::byte> bytes = segment_.frame(index);
  const FrameLayout layout =
      write_frame_headers(address_of(*packet), packet->roce, packet->payload_length, bytes);
  RL_CHECK(layout.length + Telemetry::shim_bytes(packet->roce.telemetry_hops) == packet->frame_length &&
           packet->frame_length <= bytes.size());
  if (packet->payload_length > 0 &&
      !nic_.gather(*packet, bytes.subspan(layout.payload, packet->payload_length))) {
    frames_.put_back(index);
    return;
  }
  seal_frame(layout, bytes);
  if (const Telemetry* telemetry = PacketPool::telemetry_of(*packet))
    RL_CHECK(insert_telemetry(bytes, layout.length, *telemetry, true) == packet->frame_length);
  const FrameDescriptor descriptor{.due_ps = due.ps(),
                                   .frame = index,
                                   .length = static_cast<std::uint16_t>(packet->frame_length),
                                   .kind = static_cast<std::uint8_t>(packet->kind),
                                   .retransmission = packet->retransmission};
  if (!tx_.push(descriptor)) give_up(host_, "the ring to its switch is full");
}

void LiveNic::publish_counters() {
  slot_.counters = earlier_ + nic_.counters() + edge_counters_;
  slot_.next_qp = nic_.next_qp();
}

void LiveNic::finish() {
  const Digest digest = trace_.digest();
  std::memcpy(slot_.digest.data(), digest.data(), digest.size());
  slot_.records = trace_.records();
  trace_.flush();
}

}  // namespace rocelab
