// The part of the shim that carries a frame's times at the switches of its path (base/hop_times.h), beside
// its slack. The value has 8 bytes for each switch of the network's longest path, so that its length never
// changes, and a frame is as long in the run that is recorded as in its replay. The top bit of the info says
// that the times are a schedule, which switches read; its low byte, at how many switches the frame has been.
// The bits between are 0.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/hop_times.h"
#include "base/packet.h"
#include "base/wire/bytes.h"
#include "base/wire/shim.h"

namespace rocelab {

struct HopTimesPart {
  static constexpr std::uint8_t kId = 9;
  static constexpr std::uint16_t kSchedule = 0x8000, kNext = 0x00ff;
  static constexpr std::size_t kRecord = 8;
  static constexpr std::size_t kMaxBytes = ShimHeader::kSize + kRecord * HopTimes::kMost;
  static constexpr bool kForHosts = true;
  HopTimes times{};
  friend bool operator==(const HopTimesPart&, const HopTimesPart&) = default;

  static constexpr std::uint32_t bytes_for(std::size_t switches) {
    return switches == 0 ? 0 : static_cast<std::uint32_t>(ShimHeader::kSize + kRecord * switches);
  }
  static std::uint32_t bytes_of(const Packet& packet) {
    return packet.roce.has_hop_times ? bytes_for(PacketPool::hop_times(packet).count) : 0;
  }
  static HopTimesPart of(const Packet& packet) { return {PacketPool::hop_times(packet)}; }
  void put(Packet& packet) const { PacketPool::put_hop_times(packet, times); }
  static std::optional<HopTimesPart> read(std::uint16_t info, std::span<const std::byte> value) {
    const std::size_t count = value.size() / kRecord;
    if (value.size() % kRecord != 0 || count == 0 || count > HopTimes::kMost) return std::nullopt;
    if ((info & ~(kSchedule | kNext)) != 0 || (info & kNext) > count) return std::nullopt;
    HopTimesPart part{HopTimes::room_for(static_cast<std::uint8_t>(count))};
    part.times.schedule = (info & kSchedule) != 0;
    part.times.next = static_cast<std::uint8_t>(info & kNext);
    for (std::size_t i = 0; i < count; ++i) {
      part.times.ps[i] = static_cast<std::int64_t>(wire::load64(value, kRecord * i));
      if (!HopTimes::possible(part.times.ps[i])) return std::nullopt;
    }
    return part;
  }
  std::uint16_t info() const {
    return static_cast<std::uint16_t>((times.schedule ? kSchedule : 0u) | times.next);
  }
  std::size_t write(std::span<std::byte> value) const {
    for (std::size_t i = 0; i < times.count; ++i)
      wire::store64(value, kRecord * i, static_cast<std::uint64_t>(times.ps[i]));
    return kRecord * times.count;
  }
};

}  // namespace rocelab
