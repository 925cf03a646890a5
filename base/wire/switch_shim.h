// SwitchShim: all that the switches on a data frame's way have added to it. A frame has one shim
// (base/wire/shim.h), and what is in it tells its type: Escape's hops alone kEscapeShim, INT alone
// kTelemetryShim, both kEscapeTelemetryShim. Escape costs 4 bytes in either case, INT its records and the
// shim's header, so that lengths add up. An announcement of Escape's has hops and no INT, in a shim of a type
// of its own, kEscapeAnnouncementShim.
//
// kEscapeTelemetryShim; its info is INT's path:
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +-----+---------+---------------+-------------------------------+
// |1 1 1|    4    |   1 + 2 n     |             path              |
// +-----+---------+---------------+-------------------------------+
// |           reserved            |        Escape's hops          |
// +-------------------------------+-------------------------------+
// |        n records of INT, first switch first (base/wire/telemetry.h)
// +---------------------------------------------------------------+
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/packet.h"
#include "base/wire/bytes.h"
#include "base/wire/etf.h"
#include "base/wire/shim.h"
#include "base/wire/telemetry.h"

namespace rocelab {

inline constexpr std::uint8_t kEscapeTelemetryShim = 4;
static_assert(kEscapeShimBytes == ShimHeader::kSize, "Escape's hops: a shim without value, or a word of one");

struct SwitchShim {
  std::uint16_t hops = 0;  // of Escape; 0: the frame does not escape
  Telemetry telemetry{};   // without hops: no switch has stamped the frame
  bool announces = false;  // has hops, and no telemetry

  // What it takes in a frame.
  static constexpr std::uint32_t bytes(std::size_t telemetry_hops, bool escapes) {
    return Telemetry::shim_bytes(telemetry_hops) +
           (escapes ? static_cast<std::uint32_t>(kEscapeShimBytes) : 0);
  }
  std::uint32_t bytes() const { return bytes(telemetry.hops, hops != 0); }
  friend bool operator==(const SwitchShim& a, const SwitchShim& b) {
    return a.hops == b.hops && a.telemetry.path == b.telemetry.path && a.telemetry.hops == b.telemetry.hops &&
           a.telemetry.words == b.telemetry.words &&  // zero from `hops` on
           a.announces == b.announces;
  }
};

// What its shim adds to a packet's length: INT, in acknowledgements too, and Escape's hops.
inline std::uint32_t shim_bytes_of(const Packet& packet) {
  return SwitchShim::bytes(packet.roce.telemetry_hops, packet.kind == PacketKind::kEscaping ||
                                                           packet.kind == PacketKind::kEscapeAnnouncement);
}
// What the switches have added to a data packet of a pool: what its bytes are to have.
inline SwitchShim switch_shim_of(const Packet& packet) {
  const Telemetry* stamped = PacketPool::telemetry_of(packet);
  SwitchShim shim;
  shim.announces = packet.kind == PacketKind::kEscapeAnnouncement;
  if (shim.announces || packet.kind == PacketKind::kEscaping) shim.hops = packet.roce.shim_hops;
  if (stamped != nullptr) shim.telemetry = *stamped;
  return shim;
}

// As insert_shim(). Where there is nothing to say the frame stays as it is.
inline std::optional<std::size_t> insert_switch_shim(std::span<std::byte> buffer, std::size_t frame_length,
                                                     const SwitchShim& shim) {
  if (shim.hops == 0 && shim.telemetry.hops == 0) return frame_length;
  if (shim.hops == 0) return insert_telemetry(buffer, frame_length, shim.telemetry, false);
  const std::uint8_t alone = shim.announces ? kEscapeAnnouncementShim : kEscapeShim;
  if (shim.telemetry.hops == 0) return insert_shim(buffer, frame_length, alone, shim.hops, {});
  constexpr std::size_t kWord = 4;
  std::array<std::byte, kWord + 8 * Telemetry::kMaxHops> value;
  wire::store32(value, 0, shim.hops);
  const std::size_t records = shim.telemetry.write(std::span(value).subspan<kWord>());
  return insert_shim(buffer, frame_length, kEscapeTelemetryShim, shim.telemetry.path,
                     std::span(value).first(kWord + records));
}

// What the shim that find_shim() has found says; null: it is not one of these (an acknowledgement's, or
// another's), or is too short to be. Of more records than Telemetry has room for the first ones count, and
// without any there is no path.
inline std::optional<SwitchShim> switch_shim_of(std::span<const std::byte> frame, const ShimPlace& place) {
  const ShimHeader& header = place.header;
  const auto value = frame.subspan(place.value_offset, place.value_bytes);
  if (header.type == kEscapeShim) return SwitchShim{header.info, {}};
  if (header.type == kEscapeAnnouncementShim) return SwitchShim{header.info, {}, true};
  const bool escapes = header.type == kEscapeTelemetryShim;
  constexpr std::size_t kWord = 4;
  if ((!escapes && header.type != kTelemetryShim) || (escapes && value.size() < kWord)) return std::nullopt;
  SwitchShim shim;
  if (escapes) shim.hops = wire::load16(value, 2);
  const Telemetry telemetry = Telemetry::read(header.info, value.subspan(escapes ? kWord : 0));
  if (telemetry.hops != 0) shim.telemetry = telemetry;
  return shim;
}

}  // namespace rocelab
