// Escape token frame (ETF): asks the switch upstream to let one frame of a flow go past a paused queue. MAC
// control, EtherType 0x8808, opcode 0x0102 (seed 000, 4.5.1: flow identifier and hops; the layout is ours). A
// flow is what a queue pair sends, known by both addresses and the destination QPN, as in RoCC's feedback.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +-------------------------------+-------------------------------+
// | destination 01-80-C2-00-00-01 ...            | source ...     |
// +-------------------------------+-------------------------------+
// |        EtherType 0x8808       |         opcode 0x0102         |  at offset 12
// +---------------+---------------+-------------------------------+
// |     class     |   reserved    |             hops              |
// +---------------+---------------+-------------------------------+
// |                     the flow's source address                 |
// +---------------------------------------------------------------+
// |                  the flow's destination address               |
// +---------------+-----------------------------------------------+
// |   reserved    |           the flow's destination QPN          |
// +---------------+-----------------------------------------------+
// |   zero padding to 60 bytes                                    |
// +---------------------------------------------------------------+
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/ids.h"

namespace rocelab {

struct EscapeTokenFrame {
  static constexpr std::size_t kSize = 60;
  static constexpr std::uint16_t kEtherType = 0x8808, kOpcode = 0x0102;
  Tc tc;                                      // class whose queue is searched, 0 to 7
  std::uint16_t hops = 0;                     // switches from the token's origin to the receiver, at least 1
  std::uint32_t source = 0, destination = 0;  // IPv4, host order
  Qpn dest;                                   // 24 bits
  friend bool operator==(const EscapeTokenFrame&, const EscapeTokenFrame&) = default;

  // `bytes` is a whole frame from the destination address on. Null: not an ETF, too short, no such class, or
  // no hops.
  static std::optional<EscapeTokenFrame> parse(std::span<const std::byte> bytes);
  void write(std::span<std::byte, kSize> out, const std::array<std::uint8_t, 6>& source_mac) const;
};
std::string to_string(const EscapeTokenFrame& token);

// The shim that an escaping frame carries between switches (base/wire/shim.h): no value, its info is `hops`.
inline constexpr std::uint8_t kEscapeShim = 1;
inline constexpr std::size_t kEscapeShimBytes = 4;

}  // namespace rocelab
