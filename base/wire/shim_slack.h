// The part of the shim that carries a frame's slack (base/slack.h), written by the sending NIC, rewritten by
// each switch at the frame's departure, taken out by the receiving NIC. Its length never changes, so that a
// frame is as long in a run with slack of one law as in a run with another. The info is the number of
// switches at which the frame waited; the value is the slack as it was and as it is, in picoseconds, signed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/packet.h"
#include "base/wire/bytes.h"
#include "base/wire/shim.h"

namespace rocelab {

struct SlackPart {
  static constexpr std::uint8_t kId = 6;
  static constexpr std::size_t kInitial = 0, kCurrent = 8, kValueBytes = 16;
  static constexpr std::size_t kMaxBytes = ShimHeader::kSize + kValueBytes;
  static constexpr bool kForHosts = true;
  Slack slack{};
  friend bool operator==(const SlackPart&, const SlackPart&) = default;

  static std::uint32_t bytes_of(const Packet& packet) { return packet.roce.has_slack ? kMaxBytes : 0; }
  static SlackPart of(const Packet& packet) { return {PacketPool::slack(packet)}; }
  void put(Packet& packet) const { PacketPool::put_slack(packet, slack); }
  static std::optional<SlackPart> read(std::uint16_t info, std::span<const std::byte> value) {
    if (value.size() != kValueBytes) return std::nullopt;
    const auto initial = static_cast<std::int64_t>(wire::load64(value, kInitial));
    const auto current = static_cast<std::int64_t>(wire::load64(value, kCurrent));
    const auto possible = [](std::int64_t ps) { return -Slack::kMost <= ps && ps <= Slack::kMost; };
    if (!possible(initial) || !possible(current)) return std::nullopt;
    return SlackPart{{initial, current, info}};
  }
  std::uint16_t info() const { return slack.waits; }
  std::size_t write(std::span<std::byte> value) const {
    wire::store64(value, kInitial, static_cast<std::uint64_t>(slack.initial));
    wire::store64(value, kCurrent, static_cast<std::uint64_t>(slack.current));
    return kValueBytes;
  }
};
inline constexpr std::uint32_t kSlackShimBytes = SlackPart::kMaxBytes;

}  // namespace rocelab
