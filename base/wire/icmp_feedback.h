// IcmpFeedback: what RoCC's CNP and P4QCN's FBP have in common: an IPv4 frame from a congestion point to a
// flow's source with ICMP type 253 (RFC 4727, for experiments), whose code says which feedback it is. A queue
// pair is known at the source by the address and QPN that it sends to. Behind the IPv4 header, whose source
// address is the congestion point's own:
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------+---------------+-------------------------------+
// |   type = 253  |     code      |           checksum            |  RFC 792
// +---------------+---------------+-------------------------------+
// |                 a number, of the feedback's own               |
// +---------------------------------------------------------------+
// |                the flow's destination address                 |
// +---------------+-----------------------------------------------+
// |   reserved    |           the flow's destination QPN          |
// +---------------+-----------------------------------------------+
// |                       more of some codes ...                  |
// +---------------------------------------------------------------+
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/ids.h"
#include "base/packet.h"
#include "base/wire/ethernet.h"
#include "base/wire/frame.h"
#include "base/wire/ipv4.h"

namespace rocelab {

struct FrameView;

struct IcmpFeedback {
  static constexpr std::size_t kIcmpAt = 34, kSize = 16;  // of the part that all have
  static constexpr std::uint8_t kIcmp = 1, kType = 253;
  // A whole frame, without FCS, padding included.
  static constexpr std::size_t frame_bytes(std::size_t icmp_bytes) {
    return std::max(static_cast<std::size_t>(kMinFrameBytes.count()), kIcmpAt + icmp_bytes);
  }

  MacAddress dst_mac{}, src_mac{};
  std::uint8_t dscp = 0;
  Ecn ecn = Ecn::kNotEct;
  std::uint32_t cp = 0;      // the congestion point; addresses are IPv4 in host order
  std::uint32_t source = 0;  // the flow's: where this goes
  std::uint8_t code = 0;
  std::uint32_t number = 0;
  std::uint32_t destination = 0;  // the flow's
  Qpn dest;                       // the flow's destination QPN, 24 bits
  std::size_t icmp_bytes = 0;     // from kIcmpAt on, checked
  friend bool operator==(const IcmpFeedback&, const IcmpFeedback&) = default;

  // `frame` begins at the destination MAC. Null: anything else, or one with a wrong checksum or length.
  static std::optional<IcmpFeedback> parse(std::span<const std::byte> frame);
  // The caller has written the fields behind the common part into `out`: the checksum covers them.
  void write(std::span<std::byte> out) const;
  void show(FrameView& view) const;
};

// Congestion points have addresses of a network of their own: nothing else in a run has one of it.
inline constexpr std::uint32_t kCpNetwork = 0xac100000;  // 172.16.0.0/12
inline constexpr std::uint32_t kCpNetworkMask = 0xfff00000;
constexpr bool is_cp_address(std::uint32_t ipv4) { return (ipv4 & kCpNetworkMask) == kCpNetwork; }

Ipv4Address ipv4_address_of(std::uint32_t ipv4);  // of a number in host order

}  // namespace rocelab
