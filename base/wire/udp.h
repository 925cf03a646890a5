// UDP header. RFC 768. RoCEv2 uses destination port 4791 (IBTA annex A17.3.1) and, as Linux rxe does,
// checksum 0: the ICRC covers more.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +-------------------------------+-------------------------------+
// |          source port          |       destination port        |
// +-------------------------------+-------------------------------+
// |            length             |           checksum            |
// +-------------------------------+-------------------------------+
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/wire/bytes.h"

namespace rocelab {

inline constexpr std::uint16_t kRoceUdpPort = 4791;

struct UdpHeader {
  static constexpr std::size_t kSize = 8, kSrcPort = 0, kDstPort = 2, kLength = 4, kChecksum = 6;
  std::uint16_t src_port = 0, dst_port = 0;
  std::uint16_t length = 0;    // bytes, this header included
  std::uint16_t checksum = 0;  // 0: none
  friend bool operator==(const UdpHeader&, const UdpHeader&) = default;

  static std::optional<UdpHeader> parse(std::span<const std::byte> b) { return wire::parse<UdpHeader>(b); }
  static UdpHeader read(std::span<const std::byte, kSize> b) {
    return UdpHeader{wire::load16(b, kSrcPort), wire::load16(b, kDstPort), wire::load16(b, kLength),
                     wire::load16(b, kChecksum)};
  }
  void write(std::span<std::byte, kSize> out) const {
    wire::store16(out, kSrcPort, src_port);
    wire::store16(out, kDstPort, dst_port);
    wire::store16(out, kLength, length);
    wire::store16(out, kChecksum, checksum);
  }
};
std::string to_string(const UdpHeader& header);

}  // namespace rocelab
