// Credit loop control message (CLCM) of Loop Breaker: asks whether the queue that its sender cannot empty
// waits, over the switches behind it, for itself. A. Shpiner et al., "Unlocking Credit Loop Deadlocks",
// HotNets 2016; US patent 10,630,590, claim 1, gives it the identifier (SPUID) and no layout: MAC control as
// Escape's tokens, EtherType 0x8808, opcode 0x0103, is ours. DEVIATIONS.md#loop-breaker.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +-------------------------------+-------------------------------+
// | destination 01-80-C2-00-00-01 ...            | source ...     |
// +-------------------------------+-------------------------------+
// |        EtherType 0x8808       |         opcode 0x0103         |  at offset 12
// +---------------+---------------+-------------------------------+
// |     class     |   reserved    |             hops              |
// +---------------+---------------+-------------------------------+
// |                             round                             |
// +---------------------------------------------------------------+
// |                      identifier, 64 bits                      |
// |                                                               |
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

#include "base/packet.h"

namespace rocelab {

struct Clcm {
  static constexpr bool kLinkLocal = true;
  static constexpr std::size_t kSize = 60;
  static constexpr std::uint16_t kEtherType = 0x8808, kOpcode = 0x0103;
  Tc tc;                    // class whose queues wait for one another, 0 to 7
  std::uint16_t hops = 0;   // links from the message's origin to the receiver, at least 1
  std::uint32_t round = 0;  // counts what this origin has sent
  std::uint64_t id = 0;     // SPUID: drawn at random by the port that sent it first
  friend bool operator==(const Clcm&, const Clcm&) = default;

  void label(Packet& packet) const { packet.tc = tc; }

  // `bytes` is a whole frame from the destination address on. Null: no CLCM, too short, no such class, or no
  // hops.
  static std::optional<Clcm> parse(std::span<const std::byte> bytes);
  void write(std::span<std::byte, kSize> out, const std::array<std::uint8_t, 6>& source_mac) const;
};
std::string to_string(const Clcm& message);

}  // namespace rocelab
