// QCN's congestion notification message (CNM, IEEE 802.1Qau, now 802.1Q clause 33): from a congestion point
// to the source of a sampled frame, by its MAC address: it is bridged, not routed. Fields and lengths are as
// HPE's FlexFabric 5930 and 5940 ACL and QoS guides print them ("CNM format"); what they leave open is in
// DEVIATIONS.md#qcn. Behind the Ethernet header, EtherType 22-E7:
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +-------+-----------+-----------+-------------------------------+
// |version| reserved  |  feedback |                               |
// +-------+-----------+-----------+                               +
// |         CPID (8 octets): the congestion point's address,      |
// +                               +-------------------------------+
// |       zeros, its class        |  cnmQOffset, units of 64 B    |
// +-------------------------------+-------------------------------+
// |   cnmQDelta, units of 64 B    |    encapsulated priority      |
// +-------------------------------+-------------------------------+
// |             encapsulated destination MAC (6 octets)           |
// +                               +-------------------------------+
// |                               |   encapsulated MSDU length    |
// +-------------------------------+-------------------------------+
// |  encapsulated MSDU: EtherType, IP, UDP and BTH of the frame   |
// +---------------------------------------------------------------+
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/ids.h"
#include "base/packet.h"
#include "base/psn.h"
#include "base/wire/control.h"

namespace rocelab {

inline constexpr std::uint16_t kEtherTypeCnm = 0x22e7;

// Its body in a Packet, whose src and dst are the flow's destination and source: the way back. A host of a
// run has its IPv4 address in the last four octets of its MAC, so that a MAC names a node.
struct Cnm {
  static constexpr bool kLinkLocal = false;
  // Without IP header its class cannot come from a DSCP: every node takes it for a frame of this one (CS6).
  static constexpr std::uint8_t kDscp = 48;
  static constexpr std::size_t kPduAt = 14, kPduSize = 24, kMostMsdu = 64;
  static constexpr std::size_t kSize = kPduAt + kPduSize + 2 + 40 + 8 + 12;  // of a frame over IPv6
  static constexpr std::size_t kTransportAt = kPduAt;
  static constexpr int kUnit = 64;  // octets of q_offset and q_delta

  std::uint32_t cp = 0;       // the congestion point's address, IPv4 in host order
  Tc tc;                      // its class
  std::uint8_t feedback = 0;  // quantised, 6 bits
  std::int16_t q_offset = 0, q_delta = 0;
  // The sampled frame.
  bool ipv6 = false;
  std::uint8_t dscp = 0, opcode = 0;
  Ecn ecn = Ecn::kNotEct;
  bool ack_req = false;
  std::uint16_t ip_bytes = 0;  // IPv4's total length, IPv6's payload length
  Qpn dest;
  Psn psn;
  friend bool operator==(const Cnm&, const Cnm&) = default;

  // Sets the fields of the sampled frame.
  void sample(const Packet& frame);

  void label(Packet& packet) const;
  std::uint32_t frame_bytes() const;
  // A CNM has no checksum of its own beside the FCS: what a link damages is lost there.
  std::uint32_t transport_bytes() const { return 0; }
  static bool read(std::span<const std::byte> frame, Packet& packet, const ControlNodes& nodes);
  static void write(const Packet& packet, const ControlAddresses& run, std::span<std::byte, kSize> out);
  static bool view(std::span<const std::byte> frame, FrameView& view);
};
std::string to_string(const Cnm& cnm);  // "CNM of 172.16.0.1 class 3 to QPN 17: feedback 20"

}  // namespace rocelab
