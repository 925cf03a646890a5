// Headers of atomic operations. IBTA Vol 1, 9.3.4 AtomicETH (requests) and 9.5.3 AtomicAckETH (responses).
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------------------------------------------------------+
// |                   virtual address (64 bits)                   |
// +---------------------------------------------------------------+
// |                            R_Key                              |
// +---------------------------------------------------------------+
// |                swap or add data (64 bits)                     |
// +---------------------------------------------------------------+
// |                   compare data (64 bits)                      |
// +---------------------------------------------------------------+
// AtomicAckETH is one 64-bit word: the value in memory before the operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/ids.h"
#include "base/wire/bytes.h"

namespace rocelab {

struct AtomicEth {
  static constexpr std::size_t kSize = 28, kVa = 0, kRkey = 8, kSwapOrAdd = 12, kCompare = 20;
  std::uint64_t va = 0;
  RKey rkey;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
  friend bool operator==(const AtomicEth&, const AtomicEth&) = default;

  static std::optional<AtomicEth> parse(std::span<const std::byte> b) { return wire::parse<AtomicEth>(b); }
  static AtomicEth read(std::span<const std::byte, kSize> b) {
    return AtomicEth{wire::load64(b, kVa), RKey{wire::load32(b, kRkey)}, wire::load64(b, kSwapOrAdd),
                     wire::load64(b, kCompare)};
  }
  void write(std::span<std::byte, kSize> out) const {
    wire::store64(out, kVa, va);
    wire::store32(out, kRkey, rkey.value);
    wire::store64(out, kSwapOrAdd, swap_or_add);
    wire::store64(out, kCompare, compare);
  }
};
std::string to_string(const AtomicEth& header);

struct AtomicAckEth {
  static constexpr std::size_t kSize = 8, kOriginal = 0;
  std::uint64_t original = 0;
  friend bool operator==(const AtomicAckEth&, const AtomicAckEth&) = default;

  static std::optional<AtomicAckEth> parse(std::span<const std::byte> b) {
    return wire::parse<AtomicAckEth>(b);
  }
  static AtomicAckEth read(std::span<const std::byte, kSize> b) {
    return AtomicAckEth{wire::load64(b, kOriginal)};
  }
  void write(std::span<std::byte, kSize> out) const { wire::store64(out, kOriginal, original); }
};
std::string to_string(const AtomicAckEth& header);

}  // namespace rocelab
