#include "base/wire/cnm.h"

#include <algorithm>

#include "base/wire/bth.h"
#include "base/wire/controls.h"
#include "base/wire/frame_view.h"
#include "base/wire/icmp_feedback.h"
#include "base/wire/ipv6.h"
#include "base/wire/udp.h"

namespace rocelab {
namespace {

// Behind kPduAt.
constexpr std::size_t kVersionAt = 0, kCpidAt = 2, kClassAt = 9, kQOffsetAt = 10, kQDeltaAt = 12,
                      kPriorityAt = 14, kMacAt = 16, kLengthAt = 22;
constexpr std::size_t kMsduAt = Cnm::kPduAt + Cnm::kPduSize;
constexpr std::uint8_t kTtl = 64;

std::size_t msdu_bytes(bool ipv6) {
  return 2 + (ipv6 ? Ipv6Header::kSize : Ipv4Header::kSize) + UdpHeader::kSize + Bth::kSize;
}

// The IPv4 address in a host's MAC; 0: it has none.
std::uint32_t ipv4_of(std::span<const std::byte> mac) {
  return wire::load16(mac, 0) == 0x0200 ? wire::load32(mac, 2) : 0;
}

// Reads the fields of the encapsulated frame into `cnm`. False: the frame is not RoCEv2 over plain IP.
bool read_msdu(std::span<const std::byte> msdu, Cnm& cnm) {
  const std::uint16_t type = msdu.size() >= 2 ? wire::load16(msdu, 0) : 0;
  cnm.ipv6 = type == kEtherTypeIpv6;
  if ((type != kEtherTypeIpv4 && !cnm.ipv6) || msdu.size() < msdu_bytes(cnm.ipv6)) return false;
  const auto ip = msdu.subspan(2);
  std::size_t at = Ipv4Header::kSize;
  if (cnm.ipv6) {
    const Ipv6Header header = Ipv6Header::read(ip.first<Ipv6Header::kSize>());
    if (wire::load8(ip, 0) >> 4 != 6 || header.next_header != Ipv4Header::kUdp) return false;
    cnm.dscp = header.dscp, cnm.ecn = header.ecn, cnm.ip_bytes = header.payload_length;
    at = Ipv6Header::kSize;
  } else {
    const Ipv4Header header = Ipv4Header::read(ip.first<Ipv4Header::kSize>());
    if (wire::load8(ip, 0) != Ipv4Header::kVersion4 || header.protocol != Ipv4Header::kUdp) return false;
    cnm.dscp = header.dscp, cnm.ecn = header.ecn, cnm.ip_bytes = header.total_length;
  }
  if (wire::load16(ip, at + UdpHeader::kDstPort) != kRoceUdpPort) return false;
  const Bth bth = Bth::read(ip.subspan(at + UdpHeader::kSize).first<Bth::kSize>());
  cnm.opcode = bth.opcode, cnm.dest = bth.dest, cnm.psn = bth.psn, cnm.ack_req = bth.ack_req;
  return true;
}

void write_msdu(const Cnm& cnm, const Packet& packet, const ControlAddresses& run, std::span<std::byte> out) {
  wire::store16(out, 0, cnm.ipv6 ? kEtherTypeIpv6 : kEtherTypeIpv4);
  const auto ip = out.subspan(2);
  std::size_t at = Ipv4Header::kSize;
  if (cnm.ipv6) {
    Ipv6Header header;
    header.dscp = cnm.dscp, header.ecn = cnm.ecn, header.payload_length = cnm.ip_bytes;
    header.next_header = Ipv4Header::kUdp, header.hop_limit = kTtl;
    header.src = run.gid(packet.dst, true), header.dst = run.gid(packet.src, true);
    header.write(ip.first<Ipv6Header::kSize>());
    at = Ipv6Header::kSize;
  } else {
    Ipv4Header header;
    header.dscp = cnm.dscp, header.ecn = cnm.ecn, header.total_length = cnm.ip_bytes;
    header.dont_fragment = true, header.ttl = kTtl, header.protocol = Ipv4Header::kUdp;
    header.src = ipv4_address_of(run.ipv4(packet.dst)), header.dst = ipv4_address_of(run.ipv4(packet.src));
    header.write(ip.first<Ipv4Header::kSize>());
  }
  const int udp_bytes = cnm.ipv6 ? cnm.ip_bytes : cnm.ip_bytes - static_cast<int>(Ipv4Header::kSize);
  UdpHeader{0, kRoceUdpPort, static_cast<std::uint16_t>(udp_bytes), 0}.write(
      ip.subspan(at).first<UdpHeader::kSize>());
  Bth bth;
  bth.mig_req = true;
  bth.opcode = cnm.opcode, bth.ack_req = cnm.ack_req, bth.dest = cnm.dest, bth.psn = cnm.psn;
  bth.pkey = kDefaultPkey;
  bth.write(ip.subspan(at + UdpHeader::kSize).first<Bth::kSize>());
}

std::optional<Cnm> parse(std::span<const std::byte> frame) {
  const auto ethernet = EthernetHeader::parse(frame);
  if (!ethernet || ethernet->ether_type != kEtherTypeCnm || frame.size() < kMsduAt) return std::nullopt;
  const auto pdu = frame.subspan(Cnm::kPduAt);
  const std::size_t length = wire::load16(pdu, kLengthAt);
  if (wire::load8(pdu, kVersionAt) >> 4 != 0 || length > Cnm::kMostMsdu || length > frame.size() - kMsduAt)
    return std::nullopt;
  Cnm cnm;
  cnm.feedback = static_cast<std::uint8_t>(wire::load8(pdu, kVersionAt + 1) & 0x3f);
  cnm.cp = wire::load32(pdu, kCpidAt);
  cnm.tc = Tc{static_cast<std::uint8_t>(wire::load8(pdu, kClassAt) & 7)};
  cnm.q_offset = static_cast<std::int16_t>(wire::load16(pdu, kQOffsetAt));
  cnm.q_delta = static_cast<std::int16_t>(wire::load16(pdu, kQDeltaAt));
  if (!read_msdu(frame.subspan(kMsduAt, length), cnm)) return std::nullopt;
  return cnm;
}

}  // namespace

void Cnm::sample(const Packet& frame) {
  ipv6 = frame.roce.ipv6;
  dscp = frame.roce.dscp;
  ecn = frame.ecn;
  opcode = frame.roce.opcode;
  dest = frame.roce.dest;
  psn = frame.roce.psn;
  ack_req = frame.roce.ack_req;
  const std::size_t before = EthernetHeader::kSize + (ipv6 ? Ipv6Header::kSize : 0);
  ip_bytes = static_cast<std::uint16_t>(frame.frame_length - before);
}

void Cnm::label(Packet& packet) const {
  packet.flow = dest.value;
  packet.roce.dest = dest;
  packet.roce.dscp = kDscp;
}

std::uint32_t Cnm::frame_bytes() const { return static_cast<std::uint32_t>(kMsduAt + msdu_bytes(ipv6)); }

bool Cnm::read(std::span<const std::byte> frame, Packet& packet, const ControlNodes& nodes) {
  const auto cnm = parse(frame);
  if (!cnm) return false;
  put_control(packet, *cnm);
  packet.src = nodes.node_of(ipv4_of(frame.subspan(kPduAt + kMacAt)));
  return true;
}

void Cnm::write(const Packet& packet, const ControlAddresses& run, std::span<std::byte, kSize> out) {
  const auto cnm = control_of<Cnm>(packet);
  std::ranges::fill(out, std::byte{0});
  EthernetHeader{run.mac(packet.dst), run.point(cnm.cp), kEtherTypeCnm}.write(
      out.first<EthernetHeader::kSize>());
  const auto pdu = out.subspan(kPduAt);
  wire::store8(pdu, kVersionAt + 1, cnm.feedback & 0x3f);
  wire::store32(pdu, kCpidAt, cnm.cp);
  wire::store8(pdu, kClassAt, cnm.tc.value);
  wire::store16(pdu, kQOffsetAt, static_cast<std::uint16_t>(cnm.q_offset));
  wire::store16(pdu, kQDeltaAt, static_cast<std::uint16_t>(cnm.q_delta));
  wire::store8(pdu, kPriorityAt, static_cast<std::uint8_t>(cnm.tc.value << 5));
  wire::store_array(pdu, kMacAt, run.mac(packet.src));
  wire::store16(pdu, kLengthAt, static_cast<std::uint16_t>(msdu_bytes(cnm.ipv6)));
  write_msdu(cnm, packet, run, out.subspan(kMsduAt));
}

bool Cnm::view(std::span<const std::byte> frame, FrameView& view) {
  const auto cnm = parse(frame);
  if (!cnm) return false;
  view.dscp = kDscp;
  view.dest = cnm->dest;
  view.transport = view.end = kTransportAt;
  view.src_ipv4 = cnm->cp;
  view.dst_ipv4 = ipv4_of(frame);
  view.flow_hash = static_cast<std::uint32_t>(mix_bits(std::uint64_t{view.src_ipv4} << 32 | view.dst_ipv4));
  return true;
}

std::string to_string(const Cnm& cnm) {
  return "CNM of " + to_string(ipv4_address_of(cnm.cp)) + " class " + std::to_string(cnm.tc.value) +
         " to QPN " + std::to_string(cnm.dest.value) + ": feedback " + std::to_string(cnm.feedback);
}

}  // namespace rocelab
