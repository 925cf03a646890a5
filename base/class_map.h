// ClassMap: the traffic class of a frame by the DSCP of its IP header. One map holds for a whole network:
// NICs queue and obey pauses by it, switches store and pause by it, in both engines. By default a DSCP counts
// by its class selector, the upper three bits (RFC 2474, 4.2.2), as adapters and switches that trust DSCP do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"

namespace rocelab {

inline constexpr std::size_t kDscps = 64;

constexpr std::array<std::uint8_t, kDscps> classes_by_selector() {
  std::array<std::uint8_t, kDscps> classes{};
  for (std::size_t dscp = 0; dscp < kDscps; ++dscp) classes[dscp] = static_cast<std::uint8_t>(dscp >> 3);
  return classes;
}

struct ClassMap {
  std::array<std::uint8_t, kDscps> classes = classes_by_selector();

  Tc of(std::uint8_t dscp) const { return Tc{classes[dscp % kDscps]}; }
  bool reaches(Tc tc) const {
    for (const std::uint8_t c : classes)
      if (c == tc.value) return true;
    return false;
  }
};

}  // namespace rocelab
