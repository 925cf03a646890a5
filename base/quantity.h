// Reading quantities with units: "40Gb/s", "2us", "240KB". Exact: decimals are scaled as integers, and a
// value that is no whole number of bit/s, picoseconds or bytes is refused, as is one without unit.
// to_string() of base/units.h writes what these read.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>

#include "base/units.h"

namespace rocelab {

// The most that can be said. Sums of some, products with the factors that a scenario may give, and what a
// link holds stay far within 64 bits, in picoseconds, too; beyond the rate a small frame's time is no number
// of picoseconds.
inline constexpr Rate kHighestRate = Rate::from_bps(100'000'000'000'000);
inline constexpr Duration kLongestDuration = 1'000'000_s;
inline constexpr Bytes kMostBytes = Bytes::from_count(1'000'000'000'000);

// what(): the complaint without its place, for example `"40" has no unit; write for example "40Gb/s"`.
class QuantityError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Unit {
  std::string_view name;
  std::int64_t factor = 1;  // of bit/s, picoseconds or bytes
};
std::span<const Unit> rate_units();
std::span<const Unit> duration_units();
std::span<const Unit> size_units();

Rate parse_rate(std::string_view text);          // b/s, kb/s, Mb/s, Gb/s, Tb/s; bps and bit/s mean the same
Duration parse_duration(std::string_view text);  // ps, ns, us, ms, s
Bytes parse_bytes(std::string_view text);        // B, KB, MB, GB (decimal), KiB, MiB, GiB

}  // namespace rocelab
