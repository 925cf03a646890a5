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

// Of the sum of words of 16 bits, or of two of them at a time.
constexpr std::uint16_t folded_checksum(std::uint64_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

// RFC 1071: ones' complement of the ones' complement sum; 0 over a header that holds its right checksum. Even
// lengths only.
constexpr std::uint16_t internet_checksum(std::span<const std::byte> b) {
  std::uint64_t sum = 0;  // of words of two 16 bits each, which comes to the same (RFC 1071, 2 (C))
  std::size_t i = 0;
  for (; i + 3 < b.size(); i += 4) sum += wire::load32(b, i);
  if (i + 1 < b.size()) sum += wire::load16(b, i);
  return folded_checksum(sum);
}

struct Ipv4Header {
  static constexpr std::size_t kSize = 20;
  static constexpr std::size_t kVersion = 0, kTos = 1, kTotalLength = 2, kId = 4, kFragment = 6, kTtl = 8,
                               kProtocol = 9, kChecksum = 10, kSrc = 12, kDst = 16;
  static constexpr std::uint8_t kUdp = 17;
  static constexpr std::uint8_t kVersion4 = 0x45;  // and five words: no options
  std::uint8_t dscp = 0;                           // 6 bits
  Ecn ecn = Ecn::kNotEct;
  std::uint16_t total_length = 0;  // bytes, this header included
  std::uint16_t id = 0;
  bool dont_fragment = false, more_fragments = false;
  std::uint16_t fragment_offset = 0;  // units of 8 bytes, 13 bits
  std::uint8_t ttl = 0, protocol = 0;
  Ipv4Address src{}, dst{};
  friend bool operator==(const Ipv4Header&, const Ipv4Header&) = default;

  static std::optional<Ipv4Header> parse(std::span<const std::byte> b) {
    if (b.size() < kSize || wire::load8(b, kVersion) != kVersion4 || internet_checksum(b.first<kSize>()) != 0)
      return std::nullopt;
    return read(b.first<kSize>());
  }
  // Without parse()'s checks.
  static Ipv4Header read(std::span<const std::byte, kSize> b) {
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
    std::uint64_t sum = 0;  // as the words go by: to read again what has just been stored would wait for it
    const auto put = [&](std::size_t at, unsigned word) {
      sum += word;
      wire::store16(out, at, static_cast<std::uint16_t>(word));
    };
    const auto put_address = [&](std::size_t at, const Ipv4Address& a) {
      put(at, unsigned{a[0]} << 8 | a[1]);
      put(at + 2, unsigned{a[2]} << 8 | a[3]);
    };
    put(kVersion, unsigned{kVersion4} << 8 | (unsigned{dscp} & 0x3f) << 2 | static_cast<unsigned>(ecn));
    put(kTotalLength, total_length);
    put(kId, id);
    put(kFragment,
        (dont_fragment ? 0x4000u : 0u) | (more_fragments ? 0x2000u : 0u) | (fragment_offset & 0x1fffu));
    put(kTtl, unsigned{ttl} << 8 | protocol);
    put_address(kSrc, src);
    put_address(kDst, dst);
    wire::store16(out, kChecksum, folded_checksum(sum));
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
