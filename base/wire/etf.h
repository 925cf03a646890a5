// Escape token frame (ETF): asks the switch upstream to let one frame of a flow go past a paused queue. MAC
// control, EtherType 0x8808, opcode 0x0102 (Menikkumbura, 4.5.1: flow identifier and hops; the layout is
// ours). A flow is what a queue pair sends, known by both addresses and the destination QPN, as in RoCC's
// feedback. The form says how long the addresses are: 0, IPv4; 1, IPv6. Both fit into the shortest frame.
//
// Mark and number are ours and 0 unless the switches return tokens that they can neither use nor pass on: a
// token then has its sender's number, and one that comes back has the mark that says why
// (DEVIATIONS.md#escape).
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +-------------------------------+-------------------------------+
// | destination 01-80-C2-00-00-01 ...            | source ...     |
// +-------------------------------+-------------------------------+
// |        EtherType 0x8808       |         opcode 0x0102         |  at offset 12
// +---------------+---------------+-------------------------------+
// |     class     |     form      |             hops              |
// +---------------+---------------+-------------------------------+
// |               the flow's source address, 4 or 16 bytes        |
// +---------------------------------------------------------------+
// |            the flow's destination address, 4 or 16 bytes      |
// +---------------+-----------------------------------------------+
// |     mark      |           the flow's destination QPN          |
// +---------------+-----------------------------------------------+
// |               number                                          |
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

#include "base/ids.h"
#include "base/wire/control.h"
#include "base/wire/frame.h"

namespace rocelab {

// It asks for a frame of its flow, or comes back: none waits for it, or a pool had no place left.
enum class EscapeTokenMark : std::uint8_t { kAsks = 0, kNothingWaits = 1, kNoPlace = 2 };

struct EscapeTokenFrame {
  static constexpr std::size_t kSize = 60;
  static constexpr std::uint16_t kEtherType = 0x8808, kOpcode = 0x0102;
  Tc tc;                        // class whose queue is searched, 0 to 7
  std::uint16_t hops = 0;       // switches from the token's origin to the receiver, at least 1
  Gid source{}, destination{};  // of the flow: both IPv4-mapped (form 0), or neither (form 1)
  Qpn dest;                     // 24 bits
  EscapeTokenMark mark = EscapeTokenMark::kAsks;
  std::uint32_t number = 0;  // of the switch behind the receiver, which gets it back with the token; 0: none
  friend bool operator==(const EscapeTokenFrame&, const EscapeTokenFrame&) = default;

  // `bytes` is a whole frame from the destination address on. Null: not an ETF, too short, no such class or
  // form, no hops, an IPv4 address in the long form, no such mark, or one that comes back without a number.
  static std::optional<EscapeTokenFrame> parse(std::span<const std::byte> bytes);
  void write(std::span<std::byte, kSize> out, const std::array<std::uint8_t, 6>& source_mac) const;
};
std::string to_string(const EscapeTokenFrame& token);

// The same as the body of a Packet: between switches a flow's ends are nodes of the run.
struct EscapeToken {
  static constexpr bool kLinkLocal = true;
  static constexpr std::size_t kSize = EscapeTokenFrame::kSize;
  Tc tc;
  std::uint16_t hops = 0;
  NodeId source, destination;  // of the flow
  Qpn dest;
  bool ipv6 = false;
  EscapeTokenMark mark = EscapeTokenMark::kAsks;
  std::uint32_t number = 0;  // 0: none
  friend bool operator==(const EscapeToken&, const EscapeToken&) = default;

  void label(Packet& packet) const;
  // At a host, where a token ends: of which flow it is stays open.
  static bool read(std::span<const std::byte> frame, Packet& packet, const ControlNodes& nodes);
  static void write(const Packet& packet, const ControlAddresses& run, std::span<std::byte, kSize> out);
};
std::string to_string(const EscapeToken& token);

}  // namespace rocelab
