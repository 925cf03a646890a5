// IPv4 header without options. RFC 791, 3.1; DSCP and ECN: RFC 2474, RFC 3168.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +-------+-------+-----------+---+-------------------------------+
// |   4   | IHL=5 |   DSCP    |ECN|         total length          |
// +-------+-------+-----------+---+-+-+-+-------------------------+
// |        identification         |0|D|M|     fragment offset     |
// +---------------+---------------+-+-+-+-------------------------+
// |      TTL      |   protocol    |        header checksum        |
// +---------------+---------------+-------------------------------+
// |                        source address                         |
// +---------------------------------------------------------------+
// |                      destination address                      |
// +---------------------------------------------------------------+
// parse() refuses other versions, options and a wrong checksum; write() computes the checksum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/packet.h"
#include "base/wire/bytes.h"

namespace rocelab {

using Ipv4Address = std::array<std::uint8_t, 4>;

// RFC 1071: ones' complement of the ones' complement sum; 0 over a header that holds its right checksum. Even
// lengths only.
constexpr std::uint16_t internet_checksum(std::span<const std::byte> b) {
  std::uint64_t sum = 0;  // of words of two 16 bits each, which comes to the same (RFC 1071, 2 (C))
  std::size_t i = 0;
  for (; i + 3 < b.size(); i += 4) sum += wire::load32(b, i);
  if (i + 1 < b.size()) sum += wire::load16(b, i);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

struct Ipv4Header {
  static constexpr std::size_t kSize = 20;
  static constexpr std::size_t kVersion = 0, kTos = 1, kTotalLength = 2, kId = 4, kFragment = 6, kTtl = 8,
                               kProtocol = 9, kChecksum = 10, kSrc = 12, kDst = 16;
  static constexpr std::uint8_t kUdp = 17;
  std::uint8_t dscp = 0;  // 6 bits
  Ecn ecn = Ecn::kNotEct;
  std::uint16_t total_length = 0;  // bytes, this header included
  std::uint16_t id = 0;
  bool dont_fragment = false, more_fragments = false;
  std::uint16_t fragment_offset = 0;  // units of 8 bytes, 13 bits
  std::uint8_t ttl = 0, protocol = 0;
  Ipv4Address src{}, dst{};
  friend bool operator==(const Ipv4Header&, const Ipv4Header&) = default;

  static std::optional<Ipv4Header> parse(std::span<const std::byte> b) {
    if (b.size() < kSize || wire::load8(b, kVersion) != 0x45 || internet_checksum(b.first(kSize)) != 0)
      return std::nullopt;
    Ipv4Header ip;
    ip.dscp = static_cast<std::uint8_t>(wire::load8(b, kTos) >> 2);
    ip.ecn = static_cast<Ecn>(wire::load8(b, kTos) & 3);
    ip.total_length = wire::load16(b, kTotalLength);
    ip.id = wire::load16(b, kId);
    const std::uint16_t fragment = wire::load16(b, kFragment);
    ip.dont_fragment = (fragment & 0x4000) != 0;
    ip.more_fragments = (fragment & 0x2000) != 0;
    ip.fragment_offset = fragment & 0x1fff;
    ip.ttl = wire::load8(b, kTtl);
    ip.protocol = wire::load8(b, kProtocol);
    ip.src = wire::load_array<4>(b, kSrc);
    ip.dst = wire::load_array<4>(b, kDst);
    return ip;
  }
  void write(std::span<std::byte, kSize> out) const {
    wire::store8(out, kVersion, 0x45);
    wire::store8(out, kTos, static_cast<std::uint8_t>(dscp << 2 | static_cast<unsigned>(ecn)));
    wire::store16(out, kTotalLength, total_length);
    wire::store16(out, kId, id);
    wire::store16(out, kFragment,
                  static_cast<std::uint16_t>((dont_fragment ? 0x4000 : 0) | (more_fragments ? 0x2000 : 0) |
                                             (fragment_offset & 0x1fff)));
    wire::store8(out, kTtl, ttl);
    wire::store8(out, kProtocol, protocol);
    wire::store_array(out, kSrc, src);
    wire::store_array(out, kDst, dst);
    write_checksum(out);
  }
  // Puts the checksum right after somebody changed the other bytes.
  static void write_checksum(std::span<std::byte, kSize> header) {
    wire::store16(header, kChecksum, 0);
    wire::store16(header, kChecksum, internet_checksum(header));
  }
};
std::string to_string(const Ipv4Address& address);
std::string to_string(const Ipv4Header& header);

}  // namespace rocelab
