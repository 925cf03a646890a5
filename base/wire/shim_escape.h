// Parts of the shim that Escape's frames carry between switches (base/wire/shim.h): no value, their info is a
// number of switches.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/packet.h"
#include "base/wire/shim.h"

namespace rocelab {

inline constexpr std::uint32_t kEscapeShimBytes = ShimHeader::kSize;

template <std::uint8_t id, PacketKind kind>
struct EscapePart {
  static constexpr std::uint8_t kId = id;
  static constexpr std::size_t kMaxBytes = kEscapeShimBytes;
  static constexpr bool kForHosts = false;
  std::uint16_t hops = 0;
  friend bool operator==(const EscapePart&, const EscapePart&) = default;

  static std::uint32_t bytes_of(const Packet& packet) { return packet.kind == kind ? kEscapeShimBytes : 0; }
  static EscapePart of(const Packet& packet) { return {packet.roce.shim_hops}; }
  static std::optional<EscapePart> read(std::uint16_t info, std::span<const std::byte> value) {
    if (!value.empty()) return std::nullopt;
    return EscapePart{info};
  }
  std::uint16_t info() const { return hops; }
  std::size_t write(std::span<std::byte> /*value*/) const { return 0; }
};

// A frame that goes past a paused queue: how far it is still to go.
using EscapeHops = EscapePart<1, PacketKind::kEscaping>;
// An announcement (DEVIATIONS.md#escape), which is the headers of a frame that waits behind a paused port,
// without payload: how many switches have sent it on.
using EscapeAnnouncement = EscapePart<5, PacketKind::kEscapeAnnouncement>;

}  // namespace rocelab
