// Ethernet header. IEEE 802.3, 3.1.1.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------------------------------------------------------+
// |                  destination address (47-16)                  |
// +-------------------------------+-------------------------------+
// |   destination address (15-0)  |     source address (47-32)    |
// +-------------------------------+-------------------------------+
// |                     source address (31-0)                     |
// +-------------------------------+-------------------------------+
// |           EtherType           |
// +-------------------------------+
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/wire/bytes.h"

namespace rocelab {

using MacAddress = std::array<std::uint8_t, 6>;

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800, kEtherTypeIpv6 = 0x86dd, kEtherTypeVlan = 0x8100;
inline constexpr MacAddress kMacControlMulticast{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};  // 802.3, 31A

struct EthernetHeader {
  static constexpr std::size_t kSize = 14, kDst = 0, kSrc = 6, kEtherType = 12;
  MacAddress dst{}, src{};
  std::uint16_t ether_type = 0;
  friend bool operator==(const EthernetHeader&, const EthernetHeader&) = default;

  static std::optional<EthernetHeader> parse(std::span<const std::byte> b) {
    return wire::parse<EthernetHeader>(b);
  }
  static EthernetHeader read(std::span<const std::byte, kSize> b) {
    return EthernetHeader{wire::load_array<6>(b, kDst), wire::load_array<6>(b, kSrc),
                          wire::load16(b, kEtherType)};
  }
  void write(std::span<std::byte, kSize> out) const {
    wire::store_array(out, kDst, dst);
    wire::store_array(out, kSrc, src);
    wire::store16(out, kEtherType, ether_type);
  }
};
std::string to_string(const MacAddress& mac);
std::string to_string(const EthernetHeader& header);

}  // namespace rocelab
