// Common MAD header and the datagram that carries one over QP1 (the general services interface).
// IBTA Vol 1, 13.4.2 (header), 13.5.1 (QP1, its Q_Key).
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------+---------------+---------------+-+-------------+
// | base version  |  mgmt class   | class version |R|   method    |   0
// +---------------+---------------+---------------+-+-------------+
// |            status             |        class specific         |   4
// +-------------------------------+-------------------------------+
// |                        transaction ID                         |   8
// |                                                               |  12
// +-------------------------------+-------------------------------+
// |         attribute ID          |           reserved            |  16
// +-------------------------------+-------------------------------+
// |                      attribute modifier                       |  20
// +---------------------------------------------------------------+
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/ids.h"
#include "base/wire/bytes.h"

namespace rocelab {

inline constexpr Qpn kGsiQpn{1};
inline constexpr std::uint32_t kGsiQkey = 0x80010000;
inline constexpr std::uint32_t kMaxMadBytes = 256;  // 13.4.2: every MAD has so many

struct MadHeader {
  static constexpr std::size_t kSize = 24, kBaseVersionAt = 0, kClassAt = 1, kClassVersionAt = 2,
                               kMethodAt = 3, kStatusAt = 4, kClassSpecificAt = 6, kTransactionAt = 8,
                               kAttributeAt = 16, kReservedAt = 18, kModifierAt = 20;
  static constexpr std::uint8_t kBaseVersion = 1;
  std::uint8_t base_version = kBaseVersion;
  std::uint8_t mgmt_class = 0, class_version = 0;
  std::uint8_t method = 0;  // with the R bit
  std::uint16_t status = 0, class_specific = 0;
  std::uint64_t transaction = 0;
  std::uint16_t attribute = 0;
  std::uint32_t modifier = 0;
  friend bool operator==(const MadHeader&, const MadHeader&) = default;

  static std::optional<MadHeader> parse(std::span<const std::byte> b) {
    if (b.size() < kSize) return std::nullopt;
    MadHeader h;
    h.base_version = wire::load8(b, kBaseVersionAt);
    h.mgmt_class = wire::load8(b, kClassAt);
    h.class_version = wire::load8(b, kClassVersionAt);
    h.method = wire::load8(b, kMethodAt);
    h.status = wire::load16(b, kStatusAt);
    h.class_specific = wire::load16(b, kClassSpecificAt);
    h.transaction = wire::load64(b, kTransactionAt);
    h.attribute = wire::load16(b, kAttributeAt);
    h.modifier = wire::load32(b, kModifierAt);
    return h;
  }
  void write(std::span<std::byte, kSize> out) const {
    wire::store8(out, kBaseVersionAt, base_version);
    wire::store8(out, kClassAt, mgmt_class);
    wire::store8(out, kClassVersionAt, class_version);
    wire::store8(out, kMethodAt, method);
    wire::store16(out, kStatusAt, status);
    wire::store16(out, kClassSpecificAt, class_specific);
    wire::store64(out, kTransactionAt, transaction);
    wire::store16(out, kAttributeAt, attribute);
    wire::store16(out, kReservedAt, 0);
    wire::store32(out, kModifierAt, modifier);
  }
};

}  // namespace rocelab
