#include "base/wire/icmp_feedback.h"

#include "base/wire/bytes.h"
#include "base/wire/frame_view.h"

namespace rocelab {
namespace {

constexpr std::size_t kIpAt = EthernetHeader::kSize;
static_assert(IcmpFeedback::kIcmpAt == kIpAt + Ipv4Header::kSize);
constexpr std::size_t kCodeAt = 1, kChecksumAt = 2, kNumberAt = 4, kDestinationAt = 8, kQpnAt = 13;
constexpr std::uint8_t kTtl = 64;

std::uint32_t number_of(const Ipv4Address& a) {
  return std::uint32_t{a[0]} << 24 | std::uint32_t{a[1]} << 16 | std::uint32_t{a[2]} << 8 | a[3];
}

}  // namespace

Ipv4Address ipv4_address_of(std::uint32_t a) {
  return {static_cast<std::uint8_t>(a >> 24), static_cast<std::uint8_t>(a >> 16),
          static_cast<std::uint8_t>(a >> 8), static_cast<std::uint8_t>(a)};
}

std::optional<IcmpFeedback> IcmpFeedback::parse(std::span<const std::byte> frame) {
  const auto ethernet = EthernetHeader::parse(frame);
  if (!ethernet || ethernet->ether_type != kEtherTypeIpv4 || frame.size() < kIcmpAt + kSize)
    return std::nullopt;
  const auto ip = Ipv4Header::parse(frame.subspan(kIpAt));
  if (!ip || ip->protocol != kIcmp || ip->more_fragments || ip->fragment_offset != 0 ||
      ip->total_length < Ipv4Header::kSize + kSize || ip->total_length > frame.size() - kIpAt ||
      ip->total_length % 2 != 0 || wire::load8(frame, kIcmpAt) != kType)
    return std::nullopt;
  const auto icmp = frame.subspan(kIcmpAt, ip->total_length - Ipv4Header::kSize);
  if (internet_checksum(icmp) != 0) return std::nullopt;
  return IcmpFeedback{ethernet->dst,
                      ethernet->src,
                      ip->dscp,
                      ip->ecn,
                      number_of(ip->src),
                      number_of(ip->dst),
                      wire::load8(icmp, kCodeAt),
                      wire::load32(icmp, kNumberAt),
                      wire::load32(icmp, kDestinationAt),
                      Qpn{wire::load24(icmp, kQpnAt)},
                      icmp.size()};
}

void IcmpFeedback::write(std::span<std::byte> out) const {
  EthernetHeader{dst_mac, src_mac, kEtherTypeIpv4}.write(out.first<EthernetHeader::kSize>());
  Ipv4Header ip;
  ip.dscp = dscp;
  ip.ecn = ecn;
  ip.total_length = static_cast<std::uint16_t>(Ipv4Header::kSize + icmp_bytes);
  ip.dont_fragment = true;
  ip.ttl = kTtl;
  ip.protocol = kIcmp;
  ip.src = ipv4_address_of(cp);
  ip.dst = ipv4_address_of(source);
  ip.write(out.subspan<kIpAt, Ipv4Header::kSize>());
  const auto icmp = out.subspan(kIcmpAt, icmp_bytes);
  wire::store8(icmp, 0, kType);
  wire::store8(icmp, kCodeAt, code);
  wire::store16(icmp, kChecksumAt, 0);
  wire::store32(icmp, kNumberAt, number);
  wire::store32(icmp, kDestinationAt, destination);
  wire::store32(icmp, kQpnAt - 1, dest.value);
  wire::store16(icmp, kChecksumAt, internet_checksum(icmp));
}

void IcmpFeedback::show(FrameView& view) const {
  view.dscp = dscp;
  view.ecn = ecn;
  view.dest = dest;
  view.ip = kIpAt;
  view.transport = kIcmpAt;
  view.end = static_cast<std::uint16_t>(kIcmpAt + icmp_bytes);
  view.src_ipv4 = cp;
  view.dst_ipv4 = source;
  view.flow_hash = static_cast<std::uint32_t>(mix_bits(std::uint64_t{cp} << 32 | source));
}

}  // namespace rocelab
