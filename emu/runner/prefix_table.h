// PrefixTable: the fewest prefixes that give each of a row of equally long blocks its value, by longest
// match (Draves et al., "Constructing optimal IP routing tables", INFOCOM 1999). Blocks that nobody has may
// get any value.
#pragma once

#include <cstdint>
#include <vector>

namespace rocelab {

struct PrefixRule {
  std::uint32_t first = 0;      // block where it begins
  std::uint32_t bits_free = 0;  // it covers 2^bits_free blocks, aligned
  std::uint32_t value = 0;
};

inline constexpr std::uint32_t kAnyValue = 0xffffffff;

// `values[i]`: of block i, or kAnyValue. Most specific first, then in the order of blocks; the last covers
// everything. Empty when no block has a value.
std::vector<PrefixRule> aggregate(const std::vector<std::uint32_t>& values);

}  // namespace rocelab
