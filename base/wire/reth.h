// RDMA Extended Transport Header. IBTA Vol 1, 9.3.3 RETH. In class IRN it stands in every packet of a WRITE
// (base/wire/irn.h).
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------------------------------------------------------+
// |                   virtual address (63-32)                     |
// |                   virtual address (31-0)                      |
// +---------------------------------------------------------------+
// |                            R_Key                              |
// +---------------------------------------------------------------+
// |                         DMA length                            |
// +---------------------------------------------------------------+
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/ids.h"
#include "base/wire/bytes.h"

namespace rocelab {

struct Reth {
  static constexpr std::size_t kSize = 16, kVa = 0, kRkey = 8, kDmaLength = 12;
  std::uint64_t va = 0;
  RKey rkey;
  std::uint32_t dma_length = 0;  // bytes
  friend bool operator==(const Reth&, const Reth&) = default;

  static std::optional<Reth> parse(std::span<const std::byte> b) { return wire::parse<Reth>(b); }
  static Reth read(std::span<const std::byte, kSize> b) {
    return Reth{wire::load64(b, kVa), RKey{wire::load32(b, kRkey)}, wire::load32(b, kDmaLength)};
  }
  void write(std::span<std::byte, kSize> out) const {
    wire::store64(out, kVa, va);
    wire::store32(out, kRkey, rkey.value);
    wire::store32(out, kDmaLength, dma_length);
  }
};
std::string to_string(const Reth& reth);

}  // namespace rocelab
