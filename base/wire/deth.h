// Datagram Extended Transport Header. IBTA Vol 1, 9.3.2 DETH.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------------------------------------------------------+
// |                            Q_Key                              |
// +---------------+-----------------------------------------------+
// |   reserved    |                 source QPN                    |
// +---------------+-----------------------------------------------+
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/ids.h"
#include "base/wire/bytes.h"

namespace rocelab {

struct Deth {
  static constexpr std::size_t kSize = 8, kQkey = 0, kReserved = 4, kSrcQpn = 5;
  std::uint32_t qkey = 0;
  Qpn src_qpn;
  friend bool operator==(const Deth&, const Deth&) = default;

  static std::optional<Deth> parse(std::span<const std::byte> b) { return wire::parse<Deth>(b); }
  static Deth read(std::span<const std::byte, kSize> b) {
    return Deth{wire::load32(b, kQkey), Qpn{wire::load24(b, kSrcQpn)}};
  }
  void write(std::span<std::byte, kSize> out) const {
    wire::store32(out, kQkey, qkey);
    wire::store8(out, kReserved, 0);
    wire::store24(out, kSrcQpn, src_qpn.value);
  }
};
std::string to_string(const Deth& deth);

}  // namespace rocelab
