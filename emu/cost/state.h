// State that the laws keep: bits per queue pair, WQE, flow, port and token, by sizeof and by what they
// allocate at the papers' sizes, beside what the papers count for hardware. Ours are a simulator's: PSNs are
// unwrapped (64 bits for their 24), times are 64-bit picoseconds, and each object has its own configuration.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace rocelab {

struct StateItem {
  std::string_view paper;  // whose mechanism: irn, rocc, escape
  std::string_view per;    // one of what
  std::string_view what;
  std::uint64_t bits = 0;
  std::uint64_t paper_bits = 0;  // 0: the paper gives none
  std::string_view source;       // where it does
};
std::vector<StateItem> cost_state();

}  // namespace rocelab
