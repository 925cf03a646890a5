#include "base/wire/shim.h"

#include <algorithm>

#include "base/wire/ethernet.h"
#include "base/wire/frame.h"
#include "base/wire/ipv4.h"
#include "base/wire/ipv6.h"
#include "base/wire/udp.h"
#include "base/wire/vlan.h"

namespace rocelab {
namespace {

struct UdpPlace {
  bool is_ipv4 = true;
  std::size_t ip = 0;  // offsets in the frame
  std::size_t udp = 0;
  std::size_t payload = 0;  // behind the UDP header
  std::size_t end = 0;      // behind the IP packet
};

std::optional<UdpPlace> find_udp(std::span<const std::byte> frame) {
  const auto ethernet = EthernetHeader::parse(frame);
  if (!ethernet) return std::nullopt;
  UdpPlace place{.ip = EthernetHeader::kSize};
  std::uint16_t ether_type = ethernet->ether_type;
  if (ether_type == kEtherTypeVlan) {
    const auto vlan = VlanHeader::parse(frame.subspan(place.ip));
    if (!vlan) return std::nullopt;
    ether_type = vlan->ether_type;
    place.ip += VlanHeader::kSize;
  }
  const auto bytes = frame.subspan(place.ip);
  if (ether_type == kEtherTypeIpv4) {
    const auto ip = Ipv4Header::parse(bytes);
    if (!ip || ip->protocol != Ipv4Header::kUdp || ip->more_fragments || ip->fragment_offset != 0)
      return std::nullopt;
    place.udp = place.ip + Ipv4Header::kSize;
    place.end = place.ip + ip->total_length;
  } else if (ether_type == kEtherTypeIpv6) {
    const auto ip = Ipv6Header::parse(bytes);
    if (!ip || ip->next_header != Ipv4Header::kUdp) return std::nullopt;
    place.is_ipv4 = false;
    place.udp = place.ip + Ipv6Header::kSize;
    place.end = place.udp + ip->payload_length;
  } else {
    return std::nullopt;
  }
  place.payload = place.udp + UdpHeader::kSize;
  if (place.end > frame.size() || place.payload + kBthBytes + kIcrcBytes > place.end) return std::nullopt;
  const auto udp = UdpHeader::parse(frame.subspan(place.udp));
  if (udp->dst_port != kRoceUdpPort || udp->length != place.end - place.udp) return std::nullopt;
  return place;
}

// Sets the length fields to an IP packet that ends at `end`.
void write_lengths(std::span<std::byte> frame, const UdpPlace& place, std::size_t end) {
  wire::store16(frame, place.udp + UdpHeader::kLength, static_cast<std::uint16_t>(end - place.udp));
  const auto ip = frame.subspan(place.ip);
  if (place.is_ipv4) {
    wire::store16(ip, Ipv4Header::kTotalLength, static_cast<std::uint16_t>(end - place.ip));
    Ipv4Header::write_checksum(ip.first<Ipv4Header::kSize>());
  } else {
    wire::store16(ip, Ipv6Header::kPayloadLength, static_cast<std::uint16_t>(end - place.udp));
  }
}

std::optional<ShimPlace> shim_at(std::span<const std::byte> frame, const UdpPlace& udp) {
  const auto bytes = shim_bytes_at(frame.subspan(udp.payload, udp.end - udp.payload));
  if (!bytes || *bytes == 0 || udp.payload + *bytes + kBthBytes + kIcrcBytes > udp.end) return std::nullopt;
  return ShimPlace{udp.payload, *bytes};
}

}  // namespace

std::optional<ShimPlace> find_shim(std::span<const std::byte> frame) {
  const auto udp = find_udp(frame);
  return udp ? shim_at(frame, *udp) : std::nullopt;
}

std::optional<std::size_t> insert_shim(std::span<std::byte> buffer, std::size_t frame_length,
                                       std::span<const std::byte> parts) {
  if (frame_length > buffer.size() || parts.empty() || shim_bytes_at(parts) != parts.size())
    return std::nullopt;
  const auto udp = find_udp(buffer.first(frame_length));
  if (!udp) return std::nullopt;
  const std::size_t grown = frame_length + parts.size();
  const bool has_shim = (wire::load8(buffer, udp->payload) & kTransportClassMask) == kShimClass;
  if (has_shim || grown > buffer.size() || udp->end - udp->ip + parts.size() > 0xffff) return std::nullopt;
  const auto tail = buffer.subspan(udp->payload, frame_length - udp->payload);
  std::ranges::copy_backward(tail, buffer.begin() + static_cast<std::ptrdiff_t>(grown));
  std::ranges::copy(parts, buffer.begin() + static_cast<std::ptrdiff_t>(udp->payload));
  write_lengths(buffer, *udp, udp->end + parts.size());
  return grown;
}

std::optional<std::size_t> remove_shim(std::span<std::byte> frame) {
  const auto udp = find_udp(frame);
  if (!udp) return std::nullopt;
  const auto shim = shim_at(frame, *udp);
  if (!shim) return std::nullopt;
  std::ranges::copy(frame.subspan(udp->payload + shim->bytes),
                    frame.begin() + static_cast<std::ptrdiff_t>(udp->payload));
  write_lengths(frame, *udp, udp->end - shim->bytes);
  return frame.size() - shim->bytes;
}

}  // namespace rocelab
