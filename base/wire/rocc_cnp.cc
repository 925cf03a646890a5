#include "base/wire/rocc_cnp.h"

#include <algorithm>

#include "base/wire/bytes.h"
#include "base/wire/controls.h"
#include "base/wire/ethernet.h"
#include "base/wire/frame_view.h"
#include "base/wire/ipv4.h"

namespace rocelab {
namespace {

constexpr std::size_t kIpAt = EthernetHeader::kSize;
static_assert(RoccCnp::kIcmpAt == kIpAt + Ipv4Header::kSize);
constexpr std::size_t kChecksumAt = 2, kRateAt = 4, kDestinationAt = 8, kQpnAt = 13;  // behind kIcmpAt
constexpr std::size_t kPeriodAt = 16, kQCurAt = 20, kQRefAt = 24, kQMidAt = 28, kQMaxAt = 32, kFMinAt = 36,
                      kFMaxAt = 40, kAlphaAt = 44, kBetaAt = 50;
constexpr std::uint8_t kTtl = 64;

Ipv4Address address_of(std::uint32_t a) {
  return {static_cast<std::uint8_t>(a >> 24), static_cast<std::uint8_t>(a >> 16),
          static_cast<std::uint8_t>(a >> 8), static_cast<std::uint8_t>(a)};
}
std::uint32_t number_of(const Ipv4Address& a) {
  return std::uint32_t{a[0]} << 24 | std::uint32_t{a[1]} << 16 | std::uint32_t{a[2]} << 8 | a[3];
}

std::int64_t load_gain(std::span<const std::byte> b, std::size_t at) {
  return static_cast<std::int64_t>(std::uint64_t{wire::load16(b, at)} << 32 | wire::load32(b, at + 2));
}
void store_gain(std::span<std::byte> b, std::size_t at, std::int64_t gain) {
  wire::store16(b, at, static_cast<std::uint16_t>(gain >> 32));
  wire::store32(b, at + 2, static_cast<std::uint32_t>(gain & 0xffffffff));
}

RoccReport load_report(std::span<const std::byte> icmp, RoccForm form) {
  RoccReport report{form, 0, 0, {}};
  if (form == RoccForm::kRate) return report;
  report.period = wire::load32(icmp, kPeriodAt);
  report.q_cur = wire::load32(icmp, kQCurAt);
  if (form == RoccForm::kQueue) return report;
  report.values = {wire::load32(icmp, kQRefAt),
                   wire::load32(icmp, kQMidAt),
                   wire::load32(icmp, kQMaxAt),
                   RoccValues::whole(wire::load32(icmp, kFMinAt)),
                   RoccValues::whole(wire::load32(icmp, kFMaxAt)),
                   load_gain(icmp, kAlphaAt),
                   load_gain(icmp, kBetaAt)};
  return report;
}

void store_report(std::span<std::byte> icmp, const RoccReport& report) {
  if (report.form == RoccForm::kRate) return;
  wire::store32(icmp, kPeriodAt, report.period);
  wire::store32(icmp, kQCurAt, report.q_cur);
  if (report.form == RoccForm::kQueue) return;
  const RoccValues& v = report.values;
  wire::store32(icmp, kQRefAt, static_cast<std::uint32_t>(v.q_ref));
  wire::store32(icmp, kQMidAt, static_cast<std::uint32_t>(v.q_mid));
  wire::store32(icmp, kQMaxAt, static_cast<std::uint32_t>(v.q_max));
  wire::store32(icmp, kFMinAt, static_cast<std::uint32_t>(v.f_min >> RoccValues::kFractionBits));
  wire::store32(icmp, kFMaxAt, static_cast<std::uint32_t>(v.f_max >> RoccValues::kFractionBits));
  store_gain(icmp, kAlphaAt, v.alpha);
  store_gain(icmp, kBetaAt, v.beta);
}

}  // namespace

std::optional<RoccCnp> RoccCnp::parse(std::span<const std::byte> frame) {
  const auto ethernet = EthernetHeader::parse(frame);
  if (!ethernet || ethernet->ether_type != kEtherTypeIpv4 ||
      frame.size() < kIcmpAt + icmp_bytes(RoccForm::kRate))
    return std::nullopt;
  const auto ip = Ipv4Header::parse(frame.subspan(kIpAt));
  if (!ip || ip->protocol != kIcmp || ip->more_fragments || ip->fragment_offset != 0 ||
      wire::load8(frame, kIcmpAt) != kType || wire::load8(frame, kIcmpAt + 1) >= kRoccForms)
    return std::nullopt;
  const auto form = static_cast<RoccForm>(wire::load8(frame, kIcmpAt + 1));
  if (ip->total_length != Ipv4Header::kSize + icmp_bytes(form) || frame.size() < kIcmpAt + icmp_bytes(form))
    return std::nullopt;
  const auto icmp = frame.subspan(kIcmpAt, icmp_bytes(form));
  if (internet_checksum(icmp) != 0) return std::nullopt;
  RoccCnp cnp;
  cnp.report = load_report(icmp, form);
  if (form == RoccForm::kValues && !cnp.report.values.fit_cnp()) return std::nullopt;
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

void RoccCnp::write(std::span<std::byte, kMaxSize> out) const {
  std::ranges::fill(out, std::byte{0});
  EthernetHeader{dst_mac, src_mac, kEtherTypeIpv4}.write(out.first<EthernetHeader::kSize>());
  Ipv4Header ip;
  ip.dscp = dscp;
  ip.total_length = static_cast<std::uint16_t>(Ipv4Header::kSize + icmp_bytes(report.form));
  ip.dont_fragment = true;
  ip.ttl = kTtl;
  ip.protocol = kIcmp;
  ip.src = address_of(cp);
  ip.dst = address_of(source);
  ip.write(out.subspan<kIpAt, Ipv4Header::kSize>());
  const auto icmp = out.subspan(kIcmpAt, icmp_bytes(report.form));
  wire::store8(icmp, 0, kType);
  wire::store8(icmp, 1, static_cast<std::uint8_t>(report.form));
  wire::store32(icmp, kRateAt, rate);
  wire::store32(icmp, kDestinationAt, destination);
  wire::store24(icmp, kQpnAt, dest.value);
  store_report(icmp, report);
  wire::store16(icmp, kChecksumAt, internet_checksum(icmp));
}

std::string to_string(const RoccCnp& cnp) {
  return "RoCC CNP " + to_string(address_of(cnp.cp)) + " -> " + to_string(address_of(cnp.source)) +
         ": flow to " + to_string(address_of(cnp.destination)) + " QPN " + std::to_string(cnp.dest.value) +
         ", rate " + std::to_string(cnp.rate) +
         (cnp.report.form == RoccForm::kRate ? ""
                                             : ", period " + std::to_string(cnp.report.period) + ", queue " +
                                                   std::to_string(cnp.report.q_cur)) +
         (cnp.report.form == RoccForm::kValues ? ", with its values" : "");
}

RoccFeedback::RoccFeedback(std::uint32_t point, std::uint32_t units, Qpn flow, const RoccReport& report)
    : cp(point), rate(units), dest(flow), form_(report.form) {
  if (report.form == RoccForm::kRate) return;
  period_ = report.period;
  q_cur_ = report.q_cur;
  if (report.form == RoccForm::kQueue) return;
  const RoccValues& v = report.values;
  q_ref_ = static_cast<std::uint32_t>(v.q_ref);
  q_mid_ = static_cast<std::uint32_t>(v.q_mid);
  q_max_ = static_cast<std::uint32_t>(v.q_max);
  f_min_ = static_cast<std::uint32_t>(v.f_min >> RoccValues::kFractionBits);
  f_max_ = static_cast<std::uint32_t>(v.f_max >> RoccValues::kFractionBits);
  alpha_ = v.alpha;
  beta_ = v.beta;
}

RoccReport RoccFeedback::report() const {
  RoccReport report{form_, period_, q_cur_, {}};
  if (form_ != RoccForm::kValues) return report;
  report.values = {q_ref_, q_mid_, q_max_, RoccValues::whole(f_min_), RoccValues::whole(f_max_),
                   alpha_, beta_};
  return report;
}

void RoccFeedback::label(Packet& packet) const {
  packet.flow = dest.value;
  packet.roce.dest = dest;
}

bool RoccFeedback::read(std::span<const std::byte> frame, Packet& packet, const ControlNodes& nodes) {
  const auto cnp = RoccCnp::parse(frame);
  if (!cnp) return false;
  put_control(packet, RoccFeedback(cnp->cp, cnp->rate, cnp->dest, cnp->report));
  packet.src = nodes.node_of(cnp->destination);
  packet.roce.dscp = cnp->dscp;
  return true;
}

void RoccFeedback::write(const Packet& packet, const ControlAddresses& run, std::span<std::byte, kSize> out) {
  const auto feedback = control_of<RoccFeedback>(packet);
  RoccCnp cnp;
  cnp.dst_mac = run.mac(packet.dst);
  cnp.src_mac = run.point(feedback.cp);
  cnp.dscp = packet.roce.dscp;
  cnp.cp = feedback.cp;
  cnp.source = run.ipv4(packet.dst);
  cnp.destination = run.ipv4(packet.src);
  cnp.dest = feedback.dest;
  cnp.rate = feedback.rate;
  cnp.report = feedback.report();
  cnp.write(out);
}

bool RoccFeedback::view(std::span<const std::byte> frame, FrameView& view) {
  const auto cnp = RoccCnp::parse(frame);
  if (!cnp) return false;
  view.dscp = cnp->dscp;
  view.dest = cnp->dest;
  view.ip = EthernetHeader::kSize;
  view.transport = RoccCnp::kIcmpAt;
  view.end = static_cast<std::uint16_t>(view.transport + RoccCnp::icmp_bytes(cnp->report.form));
  view.src_ipv4 = cnp->cp;
  view.dst_ipv4 = cnp->source;
  view.flow_hash = static_cast<std::uint32_t>(mix_bits(std::uint64_t{cnp->cp} << 32 | cnp->source));
  return true;
}

std::string to_string(const RoccFeedback& feedback) {
  return "RoCC feedback of " + to_string(address_of(feedback.cp)) + " to QPN " +
         std::to_string(feedback.dest.value) + ", rate " + std::to_string(feedback.rate);
}

}  // namespace rocelab
