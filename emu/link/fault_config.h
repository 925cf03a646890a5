// FaultConfig: what a link does to the frames that cross it in one direction, beyond delaying them. Plain
// data.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

namespace rocelab {

struct FaultConfig {
  static constexpr int kMaxListed = 64;
  double drop_rate = 0;      // probability for every RoCE frame, drawn from the link's own stream
  double corrupt_rate = 0;   // probability that one bit of the frame behind the IP header is flipped
  std::uint32_t listed = 0;  // entries of drop_list
  std::array<std::uint64_t, kMaxListed>
      drop_list{};  // ordinals, from 1, of data frames (with payload) that vanish; ascending
  bool any() const { return drop_rate > 0 || corrupt_rate > 0 || listed > 0; }
  friend bool operator==(const FaultConfig&, const FaultConfig&) = default;
};
static_assert(std::is_trivially_copyable_v<FaultConfig>);

}  // namespace rocelab
