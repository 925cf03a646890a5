#include "emu/gateway/frame_kind.h"

#include "base/wire/ethernet.h"
#include "base/wire/frame_view.h"
#include "base/wire/ipv4.h"
#include "base/wire/ipv6.h"
#include "base/wire/udp.h"
#include "base/wire/vlan.h"

namespace rocelab {
namespace {

using wire::load16;
using wire::load8;

// By its headers alone, whatever the lengths in them say: UDP to port 4791, not a fragment behind the first.
bool claims_to_be_roce(std::span<const std::byte> b) {
  if (b.size() < EthernetHeader::kSize + VlanHeader::kSize) return false;
  std::size_t at = EthernetHeader::kSize;
  std::uint16_t type = load16(b, EthernetHeader::kEtherType);
  if (type == kEtherTypeVlan) {
    type = load16(b, at + VlanHeader::kEtherType);
    at += VlanHeader::kSize;
  }
  const std::span<const std::byte> ip = b.subspan(at);
  std::size_t header = Ipv6Header::kSize;
  if (type == kEtherTypeIpv4) {
    if (ip.size() < Ipv4Header::kSize || load8(ip, Ipv4Header::kProtocol) != Ipv4Header::kUdp ||
        (load16(ip, Ipv4Header::kFragment) & 0x1fff) != 0)
      return false;
    header = std::size_t{4} * (load8(ip, Ipv4Header::kVersion) & 15u);
  } else if (type != kEtherTypeIpv6 || ip.size() < header ||
             load8(ip, Ipv6Header::kNextHeader) != Ipv4Header::kUdp) {
    return false;
  }
  return ip.size() >= header + UdpHeader::kSize &&
         load16(ip.subspan(header), UdpHeader::kDstPort) == kRoceUdpPort;
}

}  // namespace

ForeignFrameView look_at_foreign(std::span<const std::byte> frame, const NicConfig& nic) {
  if (!claims_to_be_roce(frame)) return {};
  const auto view = view_frame(frame);
  if (!view) return {ForeignFrame::kBroken, 0};
  return {ForeignFrame::kRoce, nic.class_map.of(view->dscp).value};
}

}  // namespace rocelab
