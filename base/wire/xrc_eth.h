// XRC Extended Transport Header: which shared receive queue of the responder a request is for. IBTA Vol 1,
// annex A14 (Extended Reliable Connected transport service), XRCETH: behind the BTH of every XRC request.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------+-----------------------------------------------+
// |   reserved    |                   XRC SRQ                     |
// +---------------+-----------------------------------------------+
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/wire/bytes.h"

namespace rocelab {

struct XrcEth {
  static constexpr std::size_t kSize = 4, kReserved = 0, kSrqn = 1;
  std::uint32_t srqn = 0;  // 24 bits
  friend bool operator==(const XrcEth&, const XrcEth&) = default;

  static std::optional<XrcEth> parse(std::span<const std::byte> b) { return wire::parse<XrcEth>(b); }
  static XrcEth read(std::span<const std::byte, kSize> b) { return XrcEth{wire::load24(b, kSrqn)}; }
  void write(std::span<std::byte, kSize> out) const {
    wire::store8(out, kReserved, 0);
    wire::store24(out, kSrqn, srqn);
  }
};
std::string to_string(const XrcEth& header);

}  // namespace rocelab
