// 802.1Qbb priority-based flow control frame: MAC control, EtherType 0x8808, opcode 0x0101 (IEEE 802.3 annex
// 31D).
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +-------------------------------+-------------------------------+
// | destination 01-80-C2-00-00-01 ...            | source ...     |
// +-------------------------------+-------------------------------+
// |        EtherType 0x8808       |         opcode 0x0101         |  at offset 12
// +-------------------------------+-------------------------------+
// | 0 0 0 0 0 0 0 0| class enable |           time[0]             |
// +-------------------------------+-------------------------------+
// |   time[1] ... time[7], zero padding to 60 bytes               |
// +---------------------------------------------------------------+
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/ids.h"
#include "base/units.h"

namespace rocelab {

struct PfcFrame {
  static constexpr bool kLinkLocal = true;
  static constexpr std::size_t kSize = 60;
  static constexpr std::uint16_t kEtherType = 0x8808, kOpcode = 0x0101;
  std::uint8_t class_enable = 0;                      // bit n: time[n] is meant
  std::array<std::uint16_t, kTrafficClasses> time{};  // quanta of 512 bit times; 0 = XON
  friend bool operator==(const PfcFrame&, const PfcFrame&) = default;

  // `bytes` is a whole frame from the destination address on. Null: not a PFC frame or too short.
  static std::optional<PfcFrame> parse(std::span<const std::byte> bytes);
  void write(std::span<std::byte, kSize> out, const std::array<std::uint8_t, 6>& source) const;
};
std::string to_string(const PfcFrame& pfc);  // "PFC TC3=65535"

// One quantum is the time of 512 bits at the link's rate.
constexpr Duration pause_duration(std::uint16_t quanta, Rate rate) {
  return transfer_time(Bytes::from_count(std::int64_t{quanta} * 64), rate);
}

}  // namespace rocelab
