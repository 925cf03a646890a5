#include "base/wire/rocc_cnp.h"

#include <algorithm>

#include "base/wire/bytes.h"
#include "base/wire/controls.h"
#include "base/wire/frame_view.h"

namespace rocelab {
namespace {

// Behind kIcmpAt.
constexpr std::size_t kPeriodAt = 16, kQCurAt = 20, kQRefAt = 24, kQMidAt = 28, kQMaxAt = 32, kFMinAt = 36,
                      kFMaxAt = 40, kAlphaAt = 44, kBetaAt = 50;

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
  const auto feedback = IcmpFeedback::parse(frame);
  if (!feedback || feedback->code >= kRoccForms) return std::nullopt;
  const auto form = static_cast<RoccForm>(feedback->code);
  if (feedback->icmp_bytes != icmp_bytes(form)) return std::nullopt;
  RoccCnp cnp;
  cnp.report = load_report(frame.subspan(kIcmpAt, icmp_bytes(form)), form);
  if (form == RoccForm::kValues && !cnp.report.values.fit_cnp()) return std::nullopt;
  cnp.dst_mac = feedback->dst_mac;
  cnp.src_mac = feedback->src_mac;
  cnp.dscp = feedback->dscp;
  cnp.cp = feedback->cp;
  cnp.source = feedback->source;
  cnp.rate = feedback->number;
  cnp.destination = feedback->destination;
  cnp.dest = feedback->dest;
  return cnp;
}

namespace {

IcmpFeedback common_part(const RoccCnp& cnp) {
  return {cnp.dst_mac,
          cnp.src_mac,
          cnp.dscp,
          Ecn::kNotEct,
          cnp.cp,
          cnp.source,
          static_cast<std::uint8_t>(cnp.report.form),
          cnp.rate,
          cnp.destination,
          cnp.dest,
          RoccCnp::icmp_bytes(cnp.report.form)};
}

}  // namespace

void RoccCnp::write(std::span<std::byte, kMaxSize> out) const {
  std::ranges::fill(out, std::byte{0});
  store_report(out.subspan(kIcmpAt, icmp_bytes(report.form)), report);
  common_part(*this).write(out);
}

std::string to_string(const RoccCnp& cnp) {
  return "RoCC CNP " + to_string(ipv4_address_of(cnp.cp)) + " -> " + to_string(ipv4_address_of(cnp.source)) +
         ": flow to " + to_string(ipv4_address_of(cnp.destination)) + " QPN " +
         std::to_string(cnp.dest.value) + ", rate " + std::to_string(cnp.rate) +
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
  common_part(*cnp).show(view);
  return true;
}

std::string to_string(const RoccFeedback& feedback) {
  return "RoCC feedback of " + to_string(ipv4_address_of(feedback.cp)) + " to QPN " +
         std::to_string(feedback.dest.value) + ", rate " + std::to_string(feedback.rate);
}

}  // namespace rocelab
