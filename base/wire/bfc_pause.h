// BfcPause: BFC's pause of queues (base/bfc.h), from a switch to the upstream end of a link: exactly the
// queues whose bits are set may not send. Source: Goyal et al., NSDI 2022, which sends a bitmap of the paused
// queues and gives it no layout: MAC control as PFC, EtherType 0x8808, opcode 0x0104, is ours.
// DEVIATIONS.md#bfc.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +-------------------------------+-------------------------------+
// | destination 01-80-C2-00-00-01 ...            | source ...     |
// +-------------------------------+-------------------------------+
// |        EtherType 0x8808       |         opcode 0x0104         |  at offset 12
// +---------------+---------------+-------------------------------+
// |     class     |   reserved    |   queues 0 to 255: a bit each,
// +---------------+---------------+   four words of 64 bits, in
//     each the lowest queue in the lowest bit                     |
// +---------------------------------------------------------------+
// |   zero padding to 60 bytes                                    |
// +---------------------------------------------------------------+
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/bfc.h"
#include "base/packet.h"

namespace rocelab {

struct BfcPause {
  static constexpr bool kLinkLocal = true;
  static constexpr std::size_t kSize = 60;
  static constexpr std::uint16_t kEtherType = 0x8808, kOpcode = 0x0104;
  Tc tc;  // class of the frames that wait, 0 to 7
  BfcQueues queues;
  friend bool operator==(const BfcPause&, const BfcPause&) = default;

  void label(Packet& packet) const { packet.tc = tc; }

  // `bytes` is a whole frame from the destination address on. Null: no pause of BFC, too short, or no such
  // class.
  static std::optional<BfcPause> parse(std::span<const std::byte> bytes);
  void write(std::span<std::byte, kSize> out, const std::array<std::uint8_t, 6>& source_mac) const;
};
std::string to_string(const BfcPause& pause);

}  // namespace rocelab
