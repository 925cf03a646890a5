// A whole RoCEv2 frame: Ethernet [802.1Q] IPv4|IPv6 UDP BTH.. payload pad ICRC, to and from bytes. IBTA annex
// A17.3. Written as Linux rxe writes it: DF, TTL 64, IP ID 0, UDP checksum 0. Lengths come from IP, so bytes
// behind the ICRC (Ethernet padding, a trailer) are allowed and left alone. A sender needs no copy:
// write_frame_headers() says where the payload goes, seal_frame() adds pad and ICRC behind it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/packet.h"
#include "base/wire/ethernet.h"
#include "base/wire/icrc.h"
#include "base/wire/ipv4.h"
#include "base/wire/ipv6.h"
#include "base/wire/roce_packet.h"
#include "base/wire/udp.h"
#include "base/wire/vlan.h"

namespace rocelab {

using Gid = std::array<std::uint8_t, 16>;  // an IPv6 address, or an IPv4 one as ::ffff:a.b.c.d

constexpr bool is_ipv4_mapped(const Gid& gid) {
  for (std::size_t i = 0; i < 10; ++i)
    if (gid[i] != 0) return false;
  return gid[10] == 0xff && gid[11] == 0xff;
}
constexpr Gid ipv4_mapped(const Ipv4Address& a) {
  return Gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a[0], a[1], a[2], a[3]};
}

// Everything below the transport headers. With IPv4 both GIDs are IPv4-mapped.
struct FrameAddress {
  MacAddress dst_mac{}, src_mac{};
  std::optional<VlanTag> vlan;
  bool is_ipv4 = true;
  Gid src_gid{}, dst_gid{};
  std::uint8_t dscp = 0;
  Ecn ecn = Ecn::kNotEct;
  std::uint8_t ttl = 64;         // or hop limit
  std::uint16_t ip_id = 0;       // IPv4
  bool dont_fragment = true;     // IPv4
  std::uint32_t flow_label = 0;  // IPv6, 20 bits
  std::uint16_t udp_src_port = 0xc000;
  std::uint16_t udp_checksum = 0;  // kept as it came, not verified; 0: none
  friend bool operator==(const FrameAddress&, const FrameAddress&) = default;
};

// Where things lie in a frame, as offsets from its first byte.
struct FrameLayout {
  std::uint32_t ip = 0, udp = 0, bth = 0, payload = 0;
  std::uint32_t payload_length = 0;
  std::uint32_t icrc = 0;
  std::uint32_t length = 0;  // frame without trailer: from the Ethernet header to the ICRC, at least 60
  bool is_ipv4 = true;
  friend bool operator==(const FrameLayout&, const FrameLayout&) = default;
};

// The layout follows from the opcode's headers and the payload's length; roce.pad is not looked at.
FrameLayout frame_layout(const RoceHeaders& roce, std::size_t payload_length, bool is_ipv4,
                         bool tagged = false);

// Ethernet header to ICRC, at least 60: what buffers and links count. The same in virtual time as on a wire.
std::size_t frame_length(const RoceHeaders& roce, std::size_t payload_length, bool is_ipv4,
                         bool tagged = false);

// Writes all headers (BTH pad from the payload's length) and returns the layout; the payload belongs at
// layout.payload. `out` holds at least layout.length bytes; the opcode is known; lengths fit 16 bits
// (RL_CHECK).
FrameLayout write_frame_headers(const FrameAddress& address, const RoceHeaders& roce,
                                std::size_t payload_length, std::span<std::byte> out);
// Behind a payload that is in place: pad, ICRC, zeros up to 60 bytes.
void seal_frame(const FrameLayout& layout, std::span<std::byte> frame);
// Both, with a copy of `payload` between them (it may already be in place). Returns the frame's length.
std::size_t write_frame(const FrameAddress& address, const RoceHeaders& roce,
                        std::span<const std::byte> payload, std::span<std::byte> out);

enum class FrameError : std::uint8_t {
  kNone,
  kTooShort,  // ends before its headers do
  kNotIp,     // another EtherType, IPv4 options, or a version that contradicts the EtherType
  kBadIpChecksum,
  kFragment,
  kNotRoce,         // not UDP to port 4791
  kLengthMismatch,  // IP, UDP and the frame's own length contradict one another
  kShim,            // a shim stands before the BTH: take it out first (base/wire/shim.h)
  kUnknownOpcode,
  kBadTransportVersion,  // IBTA 9.6.1.1: not 0
  kBadPad,               // pad without its bytes, in a packet without payload, or in a first or middle packet
  kBadPayload,           // payload behind an opcode that has none, or not a multiple of 4 with its pad
  kBadIcrc,
  kGroup,    // to a multicast address without its QPN, or the other way round (said by a NIC's edge)
  kControl,  // another control frame than its link says, or a bad one (said by a NIC's edge)
};
std::string to_string(FrameError error);

struct ParsedFrame {
  ParsedFrame() {}  // not "= default": value-initialisation would clear all of it first, each packet's time
  FrameAddress address;
  RoceHeaders roce;
  std::span<const std::byte> payload;  // into the parsed bytes, without pad
  FrameLayout layout;                  // layout.length does not count what lies behind the ICRC
};

enum class IcrcCheck : std::uint8_t { kVerify, kSkip };

// Null: not a good RoCEv2 frame; `why`, if given, says why (kNone after success).
std::optional<ParsedFrame> parse_frame(std::span<const std::byte> frame, IcrcCheck check = IcrcCheck::kVerify,
                                       FrameError* why = nullptr);

// kAck for acknowledgements and NAKs without payload, kCnp, kData for the rest; kOther for an unknown opcode.
PacketKind packet_kind(std::uint8_t opcode);

}  // namespace rocelab
