// 802.1Q tag as it follows the source address behind EtherType 0x8100. IEEE 802.1Q, 9.6.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +-----+-+-----------------------+-------------------------------+
// | PCP |D|          VID          |    EtherType of what follows  |
// +-----+-+-----------------------+-------------------------------+
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/wire/bytes.h"

namespace rocelab {

struct VlanTag {
  std::uint8_t pcp = 0;   // 3 bits: priority code point
  bool dei = false;       // drop eligible
  std::uint16_t vid = 0;  // 12 bits; 0: priority tag without a VLAN
  friend bool operator==(const VlanTag&, const VlanTag&) = default;
};

struct VlanHeader {
  static constexpr std::size_t kSize = 4, kTci = 0, kEtherType = 2;
  VlanTag tag;
  std::uint16_t ether_type = 0;
  friend bool operator==(const VlanHeader&, const VlanHeader&) = default;

  static std::optional<VlanHeader> parse(std::span<const std::byte> b) { return wire::parse<VlanHeader>(b); }
  static VlanHeader read(std::span<const std::byte, kSize> b) {
    const std::uint16_t tci = wire::load16(b, kTci);
    return VlanHeader{
        {static_cast<std::uint8_t>(tci >> 13), (tci & 0x1000) != 0, static_cast<std::uint16_t>(tci & 0xfff)},
        wire::load16(b, kEtherType)};
  }
  void write(std::span<std::byte, kSize> out) const {
    wire::store16(
        out, kTci,
        static_cast<std::uint16_t>((tag.pcp & 7) << 13 | (tag.dei ? 0x1000 : 0) | (tag.vid & 0xfff)));
    wire::store16(out, kEtherType, ether_type);
  }
};
std::string to_string(const VlanTag& tag);
std::string to_string(const VlanHeader& header);

}  // namespace rocelab
