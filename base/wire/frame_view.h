// FrameView: what a switch needs to know of a RoCEv2 frame, read from its first bytes without touching the
// payload or the ICRC: a switch forwards frames that only the receiving NIC can judge. The bytes come from
// another process: every length is checked. Also the two changes that a link or switch makes to a frame's
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/packet.h"
#include "base/wire/opcode.h"

namespace rocelab {

// A few multiplications that spread every input bit (splitmix64's finaliser), for flow_hash.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

struct FrameView {
  PacketKind kind = PacketKind::kOther;
  std::uint8_t dscp = 0;
  Ecn ecn = Ecn::kNotEct;
  std::uint8_t opcode = kNoOpcode;
  Qpn dest;
  Psn psn;
  bool ack_req = false;
  std::uint32_t payload_length = 0;          // without pad; 0 when the opcode is unknown
  std::uint16_t ip = 0;                      // offset of the IP header
  std::uint16_t transport = 0;               // offset of the UDP header
  std::uint16_t end = 0;                     // offset behind the ICRC; Ethernet padding may follow
  std::uint32_t src_ipv4 = 0, dst_ipv4 = 0;  // host order; zero for IPv6
  std::uint64_t dst_interface =
      0;  // of an IPv6 destination in fe80::/64 or fd00::/64, a host's: the lower half; else zero
  std::uint32_t flow_hash = 0;  // over addresses and UDP ports
};

// Null: not Ethernet [802.1Q] IPv4|IPv6 UDP 4791 BTH, or lengths that contradict one another. Feedback
// (base/wire/controls.h) has a view too: transport and end are those of the part behind its IP header.
std::optional<FrameView> view_frame(std::span<const std::byte> frame);

// Sets CE in the IP header and puts IPv4's checksum right. The ICRC does not cover the field (IBTA A17.3.3).
// A frame that has it already, or no IP header, stays.
void write_ce(std::span<std::byte> frame);

// Flips one bit, counted from the highest bit of frame[from].
void flip_bit(std::span<std::byte> frame, std::size_t from, std::uint32_t bit);

}  // namespace rocelab
