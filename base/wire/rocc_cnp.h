// RoCC's congestion notification packet: ICMP type 253 (RFC 4727, for experiments; Menikkumbura, 3.5.2) from
// a congestion point to a flow's source. Menikkumbura, 3.3.3: the fair rate in multiples of Delta^F, and what
// the source needs to find the flow. A queue pair is known there by the address and QPN that it sends to.
// Where the host computes the rate (3.3.6) the code says so, and more follows: 1, the queue (the host's
// registry has the rest); 2, all values. Layout behind the IPv4 header, whose source address is the
// congestion point's own:
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------+---------------+-------------------------------+
// |   type = 253  | code = 0,1,2  |           checksum            |  RFC 792
// +---------------+---------------+-------------------------------+
// |              fair rate F, multiples of Delta^F                |
// +---------------------------------------------------------------+
// |                the flow's destination address                 |
// +---------------+-----------------------------------------------+
// |   reserved    |           the flow's destination QPN          |
// +---------------+-----------------------------------------------+  code 0 ends here
// |              number of the period T, modulo 2^32              |
// +---------------------------------------------------------------+
// |                 Q_cur, multiples of Delta^Q                   |
// +---------------------------------------------------------------+  code 1 ends here
// |             Q_ref, Q_mid, Q_max (32 bits each) ...            |  multiples of Delta^Q
// +---------------------------------------------------------------+
// |                F_min, F_max (32 bits each) ...                |  multiples of Delta^F
// +---------------------------------------------------------------+
// |   alpha~, beta~ (48 bits each, 32 of them fraction) ...       |  Delta^F per Delta^Q
// +---------------------------------------------------------------+
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/ids.h"
#include "base/packet.h"
#include "base/rocc_law.h"
#include "base/wire/control.h"
#include "base/wire/icmp_feedback.h"

namespace rocelab {

struct RoccCnp {
  static constexpr std::size_t kIcmpAt = IcmpFeedback::kIcmpAt;
  static constexpr std::size_t icmp_bytes(RoccForm form) {
    return form == RoccForm::kRate ? IcmpFeedback::kSize : form == RoccForm::kQueue ? 24 : 56;
  }
  // A whole frame, without FCS, padding included.
  static constexpr std::size_t size_of(RoccForm form) { return IcmpFeedback::frame_bytes(icmp_bytes(form)); }
  static constexpr std::size_t kMaxSize = 90;  // size_of() the longest form
  std::array<std::uint8_t, 6> dst_mac{}, src_mac{};
  std::uint8_t dscp = 0;
  std::uint32_t cp = 0;           // the congestion point; addresses are IPv4 in host order
  std::uint32_t source = 0;       // the flow's: where this goes
  std::uint32_t destination = 0;  // the flow's
  Qpn dest;                       // the flow's destination QPN, 24 bits
  std::uint32_t rate = 0;         // multiples of Delta^F
  RoccReport report{};            // its form is the ICMP code; values are those that fit_cnp()
  friend bool operator==(const RoccCnp&, const RoccCnp&) = default;

  // `frame` begins at the destination MAC. Null: anything else, or one with a wrong checksum or length, or
  // with values that no law can work with.
  static std::optional<RoccCnp> parse(std::span<const std::byte> frame);
  std::size_t size() const { return size_of(report.form); }
  void write(std::span<std::byte, kMaxSize> out) const;  // its first size() bytes; the others become 0
};
static_assert(RoccCnp::kMaxSize == RoccCnp::size_of(RoccForm::kValues));
std::string to_string(
    const RoccCnp& cnp);  // "RoCC CNP 172.16.0.1 -> 10.0.0.1: flow to 10.0.0.2 QPN 17, rate 400"

// The same as the body of a Packet, whose src and dst are the flow's destination and source: the way back.
// Its DSCP is the packet's.
class RoccFeedback {
 public:
  static constexpr bool kLinkLocal = false;
  static constexpr std::size_t kSize = RoccCnp::kMaxSize, kTransportAt = RoccCnp::kIcmpAt;
  RoccFeedback() = default;
  // `report`: values of kValues are those that fit_cnp().
  RoccFeedback(std::uint32_t cp, std::uint32_t rate, Qpn dest, const RoccReport& report = {});

  std::uint32_t cp = 0;    // address of the congestion point, IPv4 in host order
  std::uint32_t rate = 0;  // in multiples of Delta^F
  Qpn dest;                // the flow's destination QPN
  RoccReport report() const;
  friend bool operator==(const RoccFeedback&, const RoccFeedback&) = default;

  void label(Packet& packet) const;
  std::uint32_t frame_bytes() const { return static_cast<std::uint32_t>(RoccCnp::size_of(form_)); }
  std::uint32_t transport_bytes() const { return static_cast<std::uint32_t>(RoccCnp::icmp_bytes(form_)); }
  static bool read(std::span<const std::byte> frame, Packet& packet, const ControlNodes& nodes);
  static void write(const Packet& packet, const ControlAddresses& run, std::span<std::byte, kSize> out);
  static bool view(std::span<const std::byte> frame, FrameView& view);

 private:
  // RoccReport, as short as the CNP has it.
  std::uint32_t period_ = 0, q_cur_ = 0, q_ref_ = 0, q_mid_ = 0, q_max_ = 0, f_min_ = 0, f_max_ = 0;
  RoccForm form_ = RoccForm::kRate;
  std::int64_t alpha_ = 0, beta_ = 0;
};
std::string to_string(const RoccFeedback& feedback);

}  // namespace rocelab
