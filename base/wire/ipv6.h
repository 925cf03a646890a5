// IPv6 header. RFC 8200, 3; extension headers are not understood: whoever finds a next header other than UDP
// gives up.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +-------+-----------+---+---------------------------------------+
// |   6   |   DSCP    |ECN|              flow label               |
// +-------+-----------+---+-------+---------------+---------------+
// |        payload length         |  next header  |   hop limit   |
// +-------------------------------+---------------+---------------+
// |                  source address (128 bits)                    |
// +---------------------------------------------------------------+
// |                destination address (128 bits)                 |
// +---------------------------------------------------------------+
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/packet.h"
#include "base/wire/bytes.h"

namespace rocelab {

using Ipv6Address = std::array<std::uint8_t, 16>;

struct Ipv6Header {
  static constexpr std::size_t kSize = 40;
  static constexpr std::size_t kVersion = 0, kPayloadLength = 4, kNextHeader = 6, kHopLimit = 7, kSrc = 8,
                               kDst = 24;
  std::uint8_t dscp = 0;  // 6 bits
  Ecn ecn = Ecn::kNotEct;
  std::uint32_t flow_label = 0;      // 20 bits
  std::uint16_t payload_length = 0;  // bytes behind this header
  std::uint8_t next_header = 0, hop_limit = 0;
  Ipv6Address src{}, dst{};
  friend bool operator==(const Ipv6Header&, const Ipv6Header&) = default;

  static std::optional<Ipv6Header> parse(std::span<const std::byte> b) {
    if (b.size() < kSize || wire::load8(b, kVersion) >> 4 != 6) return std::nullopt;
    return read(b.first<kSize>());
  }
  // Without a look at the version.
  static Ipv6Header read(std::span<const std::byte, kSize> b) {
    const std::uint32_t word = wire::load32(b, kVersion);
    Ipv6Header ip;
    ip.dscp = static_cast<std::uint8_t>(word >> 22 & 0x3f);
    ip.ecn = static_cast<Ecn>(word >> 20 & 3);
    ip.flow_label = word & 0xfffff;
    ip.payload_length = wire::load16(b, kPayloadLength);
    ip.next_header = wire::load8(b, kNextHeader);
    ip.hop_limit = wire::load8(b, kHopLimit);
    ip.src = wire::load_array<16>(b, kSrc);
    ip.dst = wire::load_array<16>(b, kDst);
    return ip;
  }
  void write(std::span<std::byte, kSize> out) const {
    wire::store32(out, kVersion,
                  6u << 28 | std::uint32_t{dscp} << 22 | static_cast<std::uint32_t>(ecn) << 20 |
                      (flow_label & 0xfffff));
    wire::store16(out, kPayloadLength, payload_length);
    wire::store8(out, kNextHeader, next_header);
    wire::store8(out, kHopLimit, hop_limit);
    wire::store_array(out, kSrc, src);
    wire::store_array(out, kDst, dst);
  }
};
std::string to_string(const Ipv6Address& address);  // RFC 5952 text; IPv4-mapped as ::ffff:a.b.c.d
std::string to_string(const Ipv6Header& header);

}  // namespace rocelab
