#include "base/wire/frame.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/wire/bth.h"

namespace rocelab {
namespace {

constexpr std::size_t kMinFrame = 60;  // IEEE 802.3, 4.4.2, without FCS

std::size_t ip_header_bytes(bool is_ipv4) { return is_ipv4 ? Ipv4Header::kSize : Ipv6Header::kSize; }

Ipv4Address ipv4_of(const Gid& gid) { return Ipv4Address{gid[12], gid[13], gid[14], gid[15]}; }

void write_ip(const FrameAddress& a, const FrameLayout& layout, std::span<std::byte> out) {
  const std::size_t udp_length = layout.icrc + kIcrcBytes - layout.udp;
  RL_CHECK(udp_length + Ipv4Header::kSize <= 0xffff);
  if (a.is_ipv4) {
    Ipv4Header ip{
        .dscp = a.dscp, .ecn = a.ecn, .id = a.ip_id, .dont_fragment = a.dont_fragment, .ttl = a.ttl};
    ip.total_length = static_cast<std::uint16_t>(Ipv4Header::kSize + udp_length);
    ip.protocol = Ipv4Header::kUdp;
    ip.src = ipv4_of(a.src_gid);
    ip.dst = ipv4_of(a.dst_gid);
    ip.write(out.subspan(layout.ip).first<Ipv4Header::kSize>());
  } else {
    const Ipv6Header ip{.dscp = a.dscp,
                        .ecn = a.ecn,
                        .flow_label = a.flow_label,
                        .payload_length = static_cast<std::uint16_t>(udp_length),
                        .next_header = Ipv4Header::kUdp,
                        .hop_limit = a.ttl,
                        .src = a.src_gid,
                        .dst = a.dst_gid};
    ip.write(out.subspan(layout.ip).first<Ipv6Header::kSize>());
  }
  const UdpHeader udp{a.udp_src_port, kRoceUdpPort, static_cast<std::uint16_t>(udp_length), a.udp_checksum};
  udp.write(out.subspan(layout.udp).first<UdpHeader::kSize>());
}

// Parsing goes down the layers; each step fills its part of the result or names the error.

FrameError parse_link(std::span<const std::byte> frame, ParsedFrame& out) {
  if (frame.size() < EthernetHeader::kSize) return FrameError::kTooShort;
  const EthernetHeader ethernet = EthernetHeader::read(frame.first<EthernetHeader::kSize>());
  out.address.dst_mac = ethernet.dst;
  out.address.src_mac = ethernet.src;
  out.layout.ip = EthernetHeader::kSize;
  std::uint16_t ether_type = ethernet.ether_type;
  if (ether_type == kEtherTypeVlan) {
    const auto vlan = VlanHeader::parse(frame.subspan(EthernetHeader::kSize));
    if (!vlan) return FrameError::kTooShort;
    out.address.vlan = vlan->tag;
    out.layout.ip += VlanHeader::kSize;
    ether_type = vlan->ether_type;
  }
  if (ether_type != kEtherTypeIpv4 && ether_type != kEtherTypeIpv6) return FrameError::kNotIp;
  out.layout.is_ipv4 = out.address.is_ipv4 = ether_type == kEtherTypeIpv4;
  return FrameError::kNone;
}

// `end` becomes the offset behind the IP packet.
FrameError parse_ipv4(std::span<const std::byte> frame, ParsedFrame& out, std::size_t& end) {
  const auto bytes = frame.subspan(out.layout.ip);
  if (bytes.size() < Ipv4Header::kSize) return FrameError::kTooShort;
  const auto header = bytes.first<Ipv4Header::kSize>();
  if (wire::load8(header, Ipv4Header::kVersion) != Ipv4Header::kVersion4) return FrameError::kNotIp;
  if (internet_checksum(header) != 0) return FrameError::kBadIpChecksum;
  const Ipv4Header ip = Ipv4Header::read(header);
  if (ip.more_fragments || ip.fragment_offset != 0) return FrameError::kFragment;
  if (ip.protocol != Ipv4Header::kUdp) return FrameError::kNotRoce;
  if (ip.total_length < Ipv4Header::kSize || ip.total_length > bytes.size())
    return FrameError::kLengthMismatch;
  FrameAddress& a = out.address;
  a.src_gid = ipv4_mapped(ip.src);
  a.dst_gid = ipv4_mapped(ip.dst);
  a.dscp = ip.dscp;
  a.ecn = ip.ecn;
  a.ttl = ip.ttl;
  a.ip_id = ip.id;
  a.dont_fragment = ip.dont_fragment;
  end = out.layout.ip + ip.total_length;
  return FrameError::kNone;
}

FrameError parse_ipv6(std::span<const std::byte> frame, ParsedFrame& out, std::size_t& end) {
  const auto bytes = frame.subspan(out.layout.ip);
  if (bytes.size() < Ipv6Header::kSize) return FrameError::kTooShort;
  const auto ip = Ipv6Header::parse(bytes);
  if (!ip) return FrameError::kNotIp;
  if (ip->next_header != Ipv4Header::kUdp) return FrameError::kNotRoce;
  if (Ipv6Header::kSize + ip->payload_length > bytes.size()) return FrameError::kLengthMismatch;
  FrameAddress& a = out.address;
  a.dont_fragment = false;
  a.src_gid = ip->src;
  a.dst_gid = ip->dst;
  a.dscp = ip->dscp;
  a.ecn = ip->ecn;
  a.ttl = ip->hop_limit;
  a.flow_label = ip->flow_label;
  end = out.layout.ip + Ipv6Header::kSize + ip->payload_length;
  return FrameError::kNone;
}

FrameError parse_udp(std::span<const std::byte> packet, ParsedFrame& out) {
  out.layout.udp = static_cast<std::uint32_t>(out.layout.ip + ip_header_bytes(out.layout.is_ipv4));
  out.layout.bth = static_cast<std::uint32_t>(out.layout.udp + UdpHeader::kSize);
  const auto bytes = packet.subspan(out.layout.udp);
  if (bytes.size() < UdpHeader::kSize) return FrameError::kLengthMismatch;
  const UdpHeader udp = UdpHeader::read(bytes.first<UdpHeader::kSize>());
  if (udp.dst_port != kRoceUdpPort) return FrameError::kNotRoce;
  if (udp.length != bytes.size()) return FrameError::kLengthMismatch;
  out.address.udp_src_port = udp.src_port;
  out.address.udp_checksum = udp.checksum;
  return FrameError::kNone;
}

// `packet` ends where IP ends.
FrameError parse_transport(std::span<const std::byte> packet, ParsedFrame& out) {
  FrameLayout& layout = out.layout;
  if (packet.size() < layout.bth + kBthBytes + kIcrcBytes) return FrameError::kTooShort;
  const auto transport = packet.subspan(layout.bth, packet.size() - layout.bth - kIcrcBytes);
  const std::uint8_t opcode = wire::load8(transport, Bth::kOpcode);
  if ((opcode & kTransportClassMask) == kShimClass) return FrameError::kShim;
  const OpcodeInfo& info = opcode_info(opcode);
  if (!info.known()) return FrameError::kUnknownOpcode;
  const RoceHeaders& roce = out.roce;
  if (!read_roce_headers(transport, info, out.roce)) return FrameError::kTooShort;
  if (roce.transport_version != 0) return FrameError::kBadTransportVersion;
  const std::size_t padded = transport.size() - info.header_bytes;
  if (!info.has_payload && padded != 0) return FrameError::kBadPayload;
  if (roce.pad > padded || (roce.pad != 0 && !info.ends_message())) return FrameError::kBadPad;
  if (padded % 4 != 0) return FrameError::kBadPayload;
  layout.payload = layout.bth + info.header_bytes;
  layout.payload_length = static_cast<std::uint32_t>(padded - roce.pad);
  layout.icrc = static_cast<std::uint32_t>(packet.size() - kIcrcBytes);
  layout.length = static_cast<std::uint32_t>(std::max(packet.size(), kMinFrame));
  out.payload = packet.subspan(layout.payload, layout.payload_length);
  return FrameError::kNone;
}

bool icrc_matches(std::span<const std::byte> packet, const FrameLayout& layout) {
  const std::uint32_t want = icrc(packet.subspan(layout.ip, layout.icrc - layout.ip), layout.is_ipv4);
  return wire::load_le32(packet, layout.icrc) == want;
}

FrameError parse_into(std::span<const std::byte> frame, IcrcCheck check, ParsedFrame& out) {
  std::size_t end = 0;
  if (const FrameError e = parse_link(frame, out); e != FrameError::kNone) return e;
  const FrameError ip = out.layout.is_ipv4 ? parse_ipv4(frame, out, end) : parse_ipv6(frame, out, end);
  if (ip != FrameError::kNone) return ip;
  const auto packet = frame.first(end);
  if (const FrameError e = parse_udp(packet, out); e != FrameError::kNone) return e;
  if (const FrameError e = parse_transport(packet, out); e != FrameError::kNone) return e;
  if (check == IcrcCheck::kVerify && !icrc_matches(packet, out.layout)) return FrameError::kBadIcrc;
  return FrameError::kNone;
}

}  // namespace

FrameLayout frame_layout(const RoceHeaders& roce, std::size_t payload_length, bool is_ipv4, bool tagged) {
  FrameLayout layout;
  const auto at = [](std::size_t offset) { return static_cast<std::uint32_t>(offset); };
  layout.is_ipv4 = is_ipv4;
  layout.ip = at(EthernetHeader::kSize + (tagged ? VlanHeader::kSize : 0));
  layout.udp = at(layout.ip + ip_header_bytes(is_ipv4));
  layout.bth = at(layout.udp + UdpHeader::kSize);
  layout.payload = at(layout.bth + roce_header_bytes(roce));
  layout.payload_length = at(payload_length);
  layout.icrc = at(layout.payload + payload_length + pad_bytes(payload_length));
  layout.length = at(std::max(layout.icrc + kIcrcBytes, kMinFrame));
  return layout;
}

std::size_t frame_length(const RoceHeaders& roce, std::size_t payload_length, bool is_ipv4, bool tagged) {
  return frame_layout(roce, payload_length, is_ipv4, tagged).length;
}

FrameLayout write_frame_headers(const FrameAddress& a, const RoceHeaders& roce, std::size_t payload_length,
                                std::span<std::byte> out) {
  const FrameLayout layout = frame_layout(roce, payload_length, a.is_ipv4, a.vlan.has_value());
  RL_CHECK(out.size() >= layout.length);
  const std::uint16_t ip_type = a.is_ipv4 ? kEtherTypeIpv4 : kEtherTypeIpv6;
  EthernetHeader{a.dst_mac, a.src_mac, a.vlan ? kEtherTypeVlan : ip_type}.write(
      out.first<EthernetHeader::kSize>());
  if (a.vlan)
    VlanHeader{*a.vlan, ip_type}.write(out.subspan(EthernetHeader::kSize).first<VlanHeader::kSize>());
  write_ip(a, layout, out);
  RoceHeaders padded = roce;
  padded.pad = pad_bytes(payload_length);
  write_roce_headers(padded, out.subspan(layout.bth));
  return layout;
}

void seal_frame(const FrameLayout& layout, std::span<std::byte> frame) {
  RL_CHECK(frame.size() >= layout.length);
  const std::size_t payload_end = layout.payload + layout.payload_length;
  std::ranges::fill(frame.subspan(payload_end, layout.icrc - payload_end), std::byte{0});
  wire::store_le32(frame, layout.icrc,
                   icrc(frame.subspan(layout.ip, layout.icrc - layout.ip), layout.is_ipv4));
  const std::size_t end = layout.icrc + kIcrcBytes;
  std::ranges::fill(frame.subspan(end, layout.length - end), std::byte{0});
}

std::size_t write_frame(const FrameAddress& address, const RoceHeaders& roce,
                        std::span<const std::byte> payload, std::span<std::byte> out) {
  const FrameLayout layout = write_frame_headers(address, roce, payload.size(), out);
  if (!payload.empty()) std::memmove(&out[layout.payload], payload.data(), payload.size());
  seal_frame(layout, out);
  return layout.length;
}

std::optional<ParsedFrame> parse_frame(std::span<const std::byte> frame, IcrcCheck check, FrameError* why) {
  std::optional<ParsedFrame> parsed(std::in_place);  // the caller's own: it is long
  const FrameError error = parse_into(frame, check, *parsed);
  if (why != nullptr) *why = error;
  if (error != FrameError::kNone) parsed.reset();
  return parsed;
}

PacketKind packet_kind(std::uint8_t opcode) {
  const OpcodeInfo& info = opcode_info(opcode);
  if (!info.known()) return PacketKind::kOther;
  if (info.role == Role::kNotification) return PacketKind::kCnp;
  return info.is_request() || info.has_payload ? PacketKind::kData : PacketKind::kAck;
}

}  // namespace rocelab
