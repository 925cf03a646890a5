// ClassMap: the traffic class of a frame by the DSCP of its IP header. Every node classifies the frames that
// reach it by its own map: NICs queue and obey pauses by it, switches store and pause by it, in both engines.
// By default a DSCP counts by its class selector, the upper three bits (RFC 2474, 4.2.2), as adapters and
// switches that trust DSCP do. A map may leave DSCPs out: their frames are of class 0, and the node counts
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/ids.h"

namespace rocelab {

inline constexpr std::size_t kDscps = 64;

constexpr std::array<std::uint8_t, kDscps> classes_by_selector() {
  std::array<std::uint8_t, kDscps> classes{};
  for (std::size_t dscp = 0; dscp < kDscps; ++dscp) classes[dscp] = static_cast<std::uint8_t>(dscp >> 3);
  return classes;
}

struct ClassMap {
  static constexpr std::uint8_t kUnknown = 0xff;  // the class of a DSCP that the map leaves out
  std::array<std::uint8_t, kDscps> classes = classes_by_selector();

  Tc of(std::uint8_t dscp) const {
    const std::uint8_t tc = classes[dscp % kDscps];
    return Tc{tc != kUnknown ? tc : std::uint8_t{0}};
  }
  bool knows(std::uint8_t dscp) const { return classes[dscp % kDscps] != kUnknown; }
  bool reaches(Tc tc) const { return dscp_of(tc).has_value(); }
  // A DSCP of the class: its selector (class x 8) if that is one, else the lowest. Null: no DSCP reaches it.
  std::optional<std::uint8_t> dscp_of(Tc tc) const {
    const auto selector = static_cast<std::uint8_t>(tc.value << 3);
    if (selector < kDscps && classes[selector] == tc.value) return selector;
    for (std::uint8_t dscp = 0; dscp < kDscps; ++dscp)
      if (classes[dscp] == tc.value) return dscp;
    return std::nullopt;
  }
  friend bool operator==(const ClassMap&, const ClassMap&) = default;
};

}  // namespace rocelab
