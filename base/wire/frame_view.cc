#include "base/wire/frame_view.h"

#include "base/wire/bth.h"
#include "base/wire/controls.h"
#include "base/wire/ethernet.h"
#include "base/wire/frame.h"
#include "base/wire/ipv4.h"
#include "base/wire/ipv6.h"
#include "base/wire/opcode.h"
#include "base/wire/shim.h"
#include "base/wire/udp.h"
#include "base/wire/vlan.h"

namespace rocelab {
namespace {

using wire::load16;
using wire::load24;
using wire::load32;
using wire::load8;

struct Ip {
  std::size_t header = 0;   // its bytes
  std::size_t payload = 0;  // what it says follows
  std::uint64_t addresses = 0;
};

std::optional<Ip> view_ipv4(std::span<const std::byte> b, FrameView& view) {
  if (b.size() < Ipv4Header::kSize || load8(b, Ipv4Header::kVersion) != 0x45) return std::nullopt;
  const std::uint16_t total = load16(b, Ipv4Header::kTotalLength);
  const bool fragment = (load16(b, Ipv4Header::kFragment) & 0x3fff) != 0;
  if (fragment || load8(b, Ipv4Header::kProtocol) != Ipv4Header::kUdp || total < Ipv4Header::kSize ||
      total > b.size())
    return std::nullopt;
  const std::uint8_t tos = load8(b, Ipv4Header::kTos);
  view.dscp = static_cast<std::uint8_t>(tos >> 2);
  view.ecn = static_cast<Ecn>(tos & 3);
  view.src_ipv4 = load32(b, Ipv4Header::kSrc);
  view.dst_ipv4 = load32(b, Ipv4Header::kDst);
  return Ip{Ipv4Header::kSize, total - Ipv4Header::kSize, std::uint64_t{view.src_ipv4} << 32 | view.dst_ipv4};
}

std::optional<Ip> view_ipv6(std::span<const std::byte> b, FrameView& view) {
  using H = Ipv6Header;
  if (b.size() < H::kSize || load8(b, H::kVersion) >> 4 != 6 || load8(b, H::kNextHeader) != Ipv4Header::kUdp)
    return std::nullopt;
  const std::uint16_t length = load16(b, H::kPayloadLength);
  if (H::kSize + length > b.size()) return std::nullopt;
  const auto traffic_class = static_cast<std::uint8_t>(load16(b, 0) >> 4);
  view.dscp = static_cast<std::uint8_t>(traffic_class >> 2);
  view.ecn = static_cast<Ecn>(traffic_class & 3);
  constexpr std::uint64_t kLinkLocal = 0xfe80'0000'0000'0000, kUniqueLocal = 0xfd00'0000'0000'0000;
  const std::uint64_t prefix = wire::load64(b, H::kDst);
  if (prefix == kLinkLocal || prefix == kUniqueLocal) view.dst_interface = wire::load64(b, H::kDst + 8);
  std::uint64_t addresses = 0;
  for (std::size_t at = H::kSrc; at < H::kSize; at += 8)
    addresses = mix_bits(addresses ^ wire::load64(b, at));
  return Ip{H::kSize, length, addresses};
}

void view_bth(std::span<const std::byte> b, std::size_t behind_udp, FrameView& view) {
  view.opcode = load8(b, Bth::kOpcode);
  const OpcodeInfo& info = opcode_info(view.opcode);
  view.dest = Qpn{load24(b, Bth::kDestQpn)};
  view.psn = Psn(load24(b, Bth::kPsn));
  view.ack_req = (load8(b, Bth::kAckReq) & 0x80) != 0;
  view.kind = packet_kind(view.opcode);
  const std::size_t pad = load8(b, Bth::kFlags) >> 4 & 3;
  const std::size_t around = info.header_bytes + pad + kIcrcBytes;
  if (info.known() && behind_udp >= around)
    view.payload_length = static_cast<std::uint32_t>(behind_udp - around);
}

}  // namespace

std::optional<FrameView> view_frame(std::span<const std::byte> frame) {
  if (frame.size() < EthernetHeader::kSize + VlanHeader::kSize) return std::nullopt;
  FrameView view;
  std::size_t at = EthernetHeader::kSize;
  std::uint16_t type = load16(frame, EthernetHeader::kEtherType);
  if (type == kEtherTypeVlan) {
    type = load16(frame, at + VlanHeader::kEtherType);
    at += VlanHeader::kSize;
  }
  std::optional<Ip> ip;
  if (type == kEtherTypeIpv4)
    ip = view_ipv4(frame.subspan(at), view);
  else if (type == kEtherTypeIpv6)
    ip = view_ipv6(frame.subspan(at), view);
  if (!ip) return view_feedback(frame);
  if (ip->payload < UdpHeader::kSize + kBthBytes + kIcrcBytes) return std::nullopt;
  const std::span<const std::byte> udp = frame.subspan(at + ip->header);
  const std::uint16_t udp_length = load16(udp, UdpHeader::kLength);
  if (load16(udp, UdpHeader::kDstPort) != kRoceUdpPort || udp_length != ip->payload) return std::nullopt;
  view.ip = static_cast<std::uint16_t>(at);
  view.transport = static_cast<std::uint16_t>(at + ip->header);
  view.end = static_cast<std::uint16_t>(view.transport + udp_length);
  const auto shim = shim_bytes_at(udp.subspan(UdpHeader::kSize, udp_length - UdpHeader::kSize));
  if (!shim) return std::nullopt;
  const std::size_t before_bth = UdpHeader::kSize + *shim;
  if (ip->payload < before_bth + kBthBytes + kIcrcBytes) return std::nullopt;
  view_bth(udp.subspan(before_bth), udp_length - before_bth, view);
  view.flow_hash =
      static_cast<std::uint32_t>(mix_bits(ip->addresses ^ mix_bits(load32(udp, UdpHeader::kSrcPort))));
  return view;
}

void write_ce(std::span<std::byte> frame) {
  const std::optional<FrameView> view = view_frame(frame);
  if (!view || view->ip == 0 || view->ecn == Ecn::kCe) return;
  const auto ce = static_cast<std::uint8_t>(Ecn::kCe);
  if (load8(frame, view->ip) >> 4 == 6) {
    frame[view->ip + 1] |= std::byte{static_cast<std::uint8_t>(ce << 4)};
  } else {
    frame[view->ip + Ipv4Header::kTos] |= std::byte{ce};
    Ipv4Header::write_checksum(frame.subspan(view->ip).first<Ipv4Header::kSize>());
  }
}

void flip_bit(std::span<std::byte> frame, std::size_t from, std::uint32_t bit) {
  frame[from + bit / 8] ^= std::byte{static_cast<std::uint8_t>(0x80u >> (bit % 8))};
}

}  // namespace rocelab
