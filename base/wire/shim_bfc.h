// The part of the shim by which a data frame names the queue that it has left (base/bfc.h): written by the
// sending NIC, rewritten by each switch at the frame's departure. The info is the queue's number, 0 to 255;
// there is no value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/bfc.h"
#include "base/packet.h"
#include "base/wire/shim.h"

namespace rocelab {

struct BfcPart {
  static constexpr std::uint8_t kId = 10;
  static constexpr std::size_t kMaxBytes = ShimHeader::kSize;
  static constexpr bool kForHosts = true;
  std::uint8_t queue = 0;
  friend bool operator==(const BfcPart&, const BfcPart&) = default;

  static std::uint32_t bytes_of(const Packet& packet) { return packet.roce.has_bfc ? kMaxBytes : 0; }
  static BfcPart of(const Packet& packet) { return {packet.roce.bfc_queue}; }
  void put(Packet& packet) const { put_bfc_queue(packet, queue); }
  static std::optional<BfcPart> read(std::uint16_t info, std::span<const std::byte> value) {
    if (info >= BfcQueues::kMost || !value.empty()) return std::nullopt;
    return BfcPart{static_cast<std::uint8_t>(info)};
  }
  std::uint16_t info() const { return queue; }
  std::size_t write(std::span<std::byte> /*value*/) const { return 0; }
};
inline constexpr std::uint32_t kBfcShimBytes = BfcPart::kMaxBytes;

}  // namespace rocelab
