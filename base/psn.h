// Packet sequence numbers. IBTA Vol 1, 9.7.1: 24 bits that wrap.
// A Psn can be compared for equality only; whoever needs an order unwraps it at the edge, next to a number
// that is known to be near.
#pragma once

#include <cstdint>

namespace rocelab {

class Psn {
 public:
  static constexpr std::uint32_t kMask = 0xffffff;
  constexpr Psn() = default;
  constexpr explicit Psn(std::uint32_t value) : value_(value & kMask) {}
  constexpr std::uint32_t value() const { return value_; }
  friend constexpr bool operator==(Psn, Psn) = default;

 private:
  std::uint32_t value_ = 0;
};

// A PSN counted without wrapping; ordered, and made only near another one.
using UnwrappedPsn = std::int64_t;

constexpr Psn wrap(UnwrappedPsn psn) { return Psn(static_cast<std::uint32_t>(psn & Psn::kMask)); }

// The number congruent to `psn` that is nearest to `reference`: within [reference - 2^23, reference + 2^23).
constexpr UnwrappedPsn unwrap(Psn psn, UnwrappedPsn reference) {
  const std::uint32_t ahead = (psn.value() - static_cast<std::uint32_t>(reference & Psn::kMask)) & Psn::kMask;
  const std::int64_t delta = ahead < (1u << 23) ? std::int64_t{ahead} : std::int64_t{ahead} - (1 << 24);
  return reference + delta;
}

}  // namespace rocelab
