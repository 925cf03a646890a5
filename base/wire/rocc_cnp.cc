#include "base/wire/rocc_cnp.h"

#include <algorithm>

#include "base/wire/bytes.h"
#include "base/wire/ethernet.h"
#include "base/wire/ipv4.h"

namespace rocelab {
namespace {

constexpr std::size_t kIpAt = EthernetHeader::kSize;
static_assert(RoccCnp::kIcmpAt == kIpAt + Ipv4Header::kSize);
constexpr std::size_t kChecksumAt = 2, kRateAt = 4, kDestinationAt = 8, kQpnAt = 13;  // behind kIcmpAt
constexpr std::uint8_t kTtl = 64;

Ipv4Address address_of(std::uint32_t a) {
  return {static_cast<std::uint8_t>(a >> 24), static_cast<std::uint8_t>(a >> 16),
          static_cast<std::uint8_t>(a >> 8), static_cast<std::uint8_t>(a)};
}
std::uint32_t number_of(const Ipv4Address& a) {
  return std::uint32_t{a[0]} << 24 | std::uint32_t{a[1]} << 16 | std::uint32_t{a[2]} << 8 | a[3];
}

}  // namespace

std::optional<RoccCnp> RoccCnp::parse(std::span<const std::byte> frame) {
  const auto ethernet = EthernetHeader::parse(frame);
  if (!ethernet || ethernet->ether_type != kEtherTypeIpv4 || frame.size() < kIcmpAt + kIcmpBytes)
    return std::nullopt;
  const auto ip = Ipv4Header::parse(frame.subspan(kIpAt));
  if (!ip || ip->protocol != kIcmp || ip->more_fragments || ip->fragment_offset != 0 ||
      ip->total_length != Ipv4Header::kSize + kIcmpBytes)
    return std::nullopt;
  const auto icmp = frame.subspan(kIcmpAt, kIcmpBytes);
  if (wire::load8(icmp, 0) != kType || wire::load8(icmp, 1) != kCode || internet_checksum(icmp) != 0)
    return std::nullopt;
  RoccCnp cnp;
  cnp.dst_mac = ethernet->dst;
  cnp.src_mac = ethernet->src;
  cnp.dscp = ip->dscp;
  cnp.cp = number_of(ip->src);
  cnp.source = number_of(ip->dst);
  cnp.rate = wire::load32(icmp, kRateAt);
  cnp.destination = wire::load32(icmp, kDestinationAt);
  cnp.dest = Qpn{wire::load24(icmp, kQpnAt)};
  return cnp;
}

void RoccCnp::write(std::span<std::byte, kSize> out) const {
  std::ranges::fill(out, std::byte{0});
  EthernetHeader{dst_mac, src_mac, kEtherTypeIpv4}.write(out.first<EthernetHeader::kSize>());
  Ipv4Header ip;
  ip.dscp = dscp;
  ip.total_length = static_cast<std::uint16_t>(Ipv4Header::kSize + kIcmpBytes);
  ip.dont_fragment = true;
  ip.ttl = kTtl;
  ip.protocol = kIcmp;
  ip.src = address_of(cp);
  ip.dst = address_of(source);
  ip.write(out.subspan<kIpAt, Ipv4Header::kSize>());
  const auto icmp = out.subspan<kIcmpAt, kIcmpBytes>();
  wire::store8(icmp, 0, kType);
  wire::store8(icmp, 1, kCode);
  wire::store32(icmp, kRateAt, rate);
  wire::store32(icmp, kDestinationAt, destination);
  wire::store24(icmp, kQpnAt, dest.value);
  wire::store16(icmp, kChecksumAt, internet_checksum(icmp));
}

std::string to_string(const RoccCnp& cnp) {
  return "RoCC CNP " + to_string(address_of(cnp.cp)) + " -> " + to_string(address_of(cnp.source)) +
         ": flow to " + to_string(address_of(cnp.destination)) + " QPN " + std::to_string(cnp.dest.value) +
         ", rate " + std::to_string(cnp.rate);
}

}  // namespace rocelab
