// P4QCN's feedback packet (FBP): "congestion, reduce" from a congestion point to a flow's source, with ECN 11
// (Geng, Yan and Zhang, Future Internet 11(3), 2019, 3.1.1 and figure 4). The paper's is a clone of the data
// packet whose destination is overwritten, which then names no flow and has an ICRC that no NIC takes; ours
// is ICMP with code 3 and says whose flow it is (icmp_feedback.h, DEVIATIONS.md#p4qcn). Zeros may follow, so
// that it is as long as the data packet:
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------+---------------+-------------------------------+
// |   type = 253  |    code = 3   |           checksum            |
// +---------------+---------------+-------------------------------+
// |   the queue's length that was found: for traces, not the law  |
// +---------------------------------------------------------------+
// |                the flow's destination address                 |
// +---------------+-----------------------------------------------+
// |   reserved    |           the flow's destination QPN          |
// +---------------+-----------------------------------------------+
// |                        zeros, if any ...                      |
// +---------------------------------------------------------------+
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/ids.h"
#include "base/packet.h"
#include "base/wire/control.h"
#include "base/wire/icmp_feedback.h"

namespace rocelab {

// Its body in a Packet, whose src and dst are the flow's destination and source: the way back.
struct P4qcnFbp {
  static constexpr std::uint8_t kCode = 3;
  static constexpr bool kLinkLocal = false;
  static constexpr std::size_t kSize = IcmpFeedback::frame_bytes(IcmpFeedback::kSize),  // without zeros
      kTransportAt = IcmpFeedback::kIcmpAt;
  std::uint32_t cp = 0;     // address of the congestion point, IPv4 in host order
  std::uint32_t depth = 0;  // of the queue that the sampled frame found, in the unit of its thresholds
  Qpn dest;                 // the flow's destination QPN
  std::uint16_t zeros = 0;  // bytes, even
  friend bool operator==(const P4qcnFbp&, const P4qcnFbp&) = default;

  // With as many zeros as make it a frame of `length` bytes, one less if that is odd, or 60 at the least.
  P4qcnFbp as_long_as(Bytes length) const;
  void label(Packet& packet) const;
  std::uint32_t frame_bytes() const;
  std::uint32_t transport_bytes() const { return static_cast<std::uint32_t>(IcmpFeedback::kSize) + zeros; }
  static bool read(std::span<const std::byte> frame, Packet& packet, const ControlNodes& nodes);
  static void write(const Packet& packet, const ControlAddresses& run, std::span<std::byte> out);
  static bool view(std::span<const std::byte> frame, FrameView& view);
};
std::string to_string(const P4qcnFbp& fbp);  // "P4QCN FBP of 172.16.0.1 to QPN 17, queue 12"

}  // namespace rocelab
