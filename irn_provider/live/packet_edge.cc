#include "irn_provider/live/packet_edge.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/wire/controls.h"
#include "base/wire/multicast.h"
#include "base/wire/shim_parts.h"

namespace rocelab {
namespace {

// No data and no acknowledgement that has RCP's header: its place in RoceHeaders is taken.
bool uses_its_place(const OpcodeInfo& info) {
  return info.has(Header::kAtomicEth) || info.has(Header::kIrnBlocks);
}

// The 40 bytes in front of a datagram's payload become its GRH: the IPv6 header, or 20 zeros and the IPv4
// header (IBTA annex A17.4.5.3). All headers of the frame have been read by then.
void put_grh(std::span<std::byte> frame, const FrameLayout& layout) {
  std::array<std::byte, kGrhBytes> grh{};
  const std::size_t bytes = layout.is_ipv4 ? Ipv4Header::kSize : Ipv6Header::kSize;
  std::copy_n(frame.begin() + layout.ip, bytes, grh.end() - static_cast<std::ptrdiff_t>(bytes));
  std::copy(grh.begin(), grh.end(), frame.begin() + (layout.payload - kGrhBytes));
}

}  // namespace

PacketRef PacketEdge::parse(std::span<std::byte> bytes, PacketKind kind, Time when) {
  if (is_control(kind)) return parse_control(bytes, kind, when);
  if (is_from_switches(kind)) {  // counted and no more, whatever it has
    PacketRef packet = pool_.make();
    packet->kind = kind;
    return packet;
  }
  FrameLayout layout;
  PacketRef packet = parse_roce(bytes, IcrcCheck::kVerify, when, layout);
  if (packet && opcode_info(packet->roce.opcode).has(Header::kDeth)) put_grh(bytes, layout);
  return packet;
}

PacketRef PacketEdge::parse_control(std::span<const std::byte> bytes, PacketKind kind, Time when) {
  PacketRef packet = pool_.make();
  if (!read_control(bytes, kind, *packet, *this)) return bad_frame(bytes.size(), FrameError::kControl, when);
  return packet;
}

NodeId PacketEdge::node_of(std::uint32_t ipv4) const {
  const auto found = nodes_by_ipv4_.find(ipv4);
  return found != nodes_by_ipv4_.end() ? found->second : kNoNode;
}

PacketRef PacketEdge::parse_shared(std::span<std::byte> copy, std::span<const std::byte> shared, Time when) {
  FrameLayout layout;
  PacketRef packet = parse_roce(copy, IcrcCheck::kSkip, when, layout);
  if (!packet) return packet;
  const auto payload = shared.subspan(layout.payload, layout.payload_length);
  if (opcode_info(packet->roce.opcode).has(Header::kDeth)) {
    put_grh(copy, layout);
    std::copy(payload.begin(), payload.end(), copy.begin() + layout.payload);
  } else {
    packet->payload = payload.data();
  }
  return packet;
}

PacketRef PacketEdge::parse_roce(std::span<std::byte> bytes, IcrcCheck check, Time when,
                                 FrameLayout& layout) {
  PacketRef packet = pool_.make();
  FrameError why{};
  const std::uint32_t shim = take_shim(bytes, *packet);
  const auto frame = parse_frame(bytes.first(bytes.size() - shim), check, &why);
  if (!frame) return bad_frame(bytes.size(), why, when);
  const bool to_group = frame->roce.dest == kMulticastQpn;
  if (is_multicast(frame->address.dst_gid) != to_group)
    return bad_frame(bytes.size(), FrameError::kGroup, when);
  packet->kind = packet_kind(frame->roce.opcode);
  packet->dst = NodeId{host_.node};
  packet->frame_length = frame->layout.length + shim;
  packet->payload = frame->payload.data();
  packet->payload_length = static_cast<std::uint32_t>(frame->payload.size());
  packet->ecn = frame->address.ecn;
  const std::uint8_t hops = packet->roce.telemetry_hops;
  const bool has_slack = packet->roce.has_slack, has_hop_times = packet->roce.has_hop_times;
  const auto rcp = rcp_of(*packet);
  packet->roce = frame->roce;
  packet->roce.telemetry_hops = hops;
  packet->roce.has_slack = has_slack;
  packet->roce.has_hop_times = has_hop_times;
  if (rcp && !uses_its_place(opcode_info(frame->roce.opcode))) put_rcp(*packet, *rcp);
  packet->roce.dscp = frame->address.dscp;
  packet->tc = host_.nic.class_map.of(frame->address.dscp);
  PacketPool::put_gids(*packet, {frame->address.src_gid, frame->address.dst_gid});
  if (to_group) put_group(*packet, frame->address.dst_gid);
  packet->flow = frame->roce.dest.value;
  layout = frame->layout;
  return packet;
}

// The shim leaves the frame before its ICRC is looked at, which does not cover it. Returns the bytes that it
// took.
std::uint32_t PacketEdge::take_shim(std::span<std::byte> bytes, Packet& packet) const {
  if (!host_.nic.cc.needs().telemetry && !host_.nic.writes_shim()) return 0;
  const auto place = find_shim(bytes);
  if (!place) return 0;
  const auto shim = Shim::read(bytes.subspan(place->offset, place->bytes));
  if (!shim || !shim->for_hosts()) return 0;  // parse_frame() refuses what is left in
  if (const auto& hops = shim->part<HopTimesPart>(); hops && hops->times.count != host_.nic.slack.switches)
    return 0;
  shim->put(packet);
  return static_cast<std::uint32_t>(bytes.size() - remove_shim(bytes).value_or(bytes.size()));
}

PacketRef PacketEdge::bad_frame(std::size_t length, FrameError why, Time when) {
  (why == FrameError::kBadIcrc ? counters_.rx_icrc_encapsulated : counters_.rx_malformed) += 1;
  trace_.record({.time = when,
                 .kind = TraceKind::kDrop,
                 .mark = static_cast<std::uint8_t>(0x80 | static_cast<unsigned>(why)),
                 .bytes = length});
  return {};
}

FrameAddress PacketEdge::address_of(const Nic& nic, const Packet& packet, std::uint16_t ip_id) const {
  const PathAddress* path = nic.path_of(packet);
  RL_CHECK(path != nullptr);
  FrameAddress a;
  a.dst_mac = path->dst_mac;
  a.src_mac = host_.mac;
  a.is_ipv4 = path->is_ipv4();
  a.src_gid = path->src_gid;
  a.dst_gid = path->dst_gid;
  a.dscp = packet.roce.dscp;
  a.ecn = packet.ecn;
  a.ip_id = ip_id;
  a.ttl = path->hop_limit != 0 ? path->hop_limit : 64;
  a.udp_src_port = path->udp_src_port;
  return a;
}

bool PacketEdge::write(const Nic& nic, const Packet& packet, std::span<std::byte> out, std::uint16_t ip_id,
                       Icrc icrc) const {
  const FrameLayout layout =
      write_frame_headers(address_of(nic, packet, ip_id), packet.roce, packet.payload_length, out);
  RL_CHECK(layout.length + shim_bytes_of(packet) == packet.frame_length && packet.frame_length <= out.size());
  if (packet.payload_length > 0 && !nic.gather(packet, out.subspan(layout.payload, packet.payload_length)))
    return false;
  seal_frame(layout, out, icrc);
  RL_CHECK(insert_parts(out, layout.length, Shim::of(packet)) == packet.frame_length);
  return true;
}

}  // namespace rocelab
