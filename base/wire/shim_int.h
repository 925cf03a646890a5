// Parts of the shim that carry INT (base/wire/telemetry.h): on a data packet's way to its receiver, and on
// the way back in its acknowledgement. The info is the XOR of the ports' addresses, by which a sender sees
// that the path has changed (HPCC's pathID); the value is one record of 8 bytes for each switch, first switch
// first, at least one and at most Telemetry::kMaxHops.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/packet.h"
#include "base/wire/bytes.h"
#include "base/wire/shim.h"
#include "base/wire/telemetry.h"

namespace rocelab {

template <std::uint8_t id, bool echo>
struct IntPart {
  static constexpr std::uint8_t kId = id;
  static constexpr std::size_t kRecord = 8, kMaxBytes = Telemetry::kMaxShimBytes;
  static constexpr bool kForHosts = true;
  Telemetry telemetry{};
  friend bool operator==(const IntPart&, const IntPart&) = default;

  static std::uint32_t bytes_of(const Packet& packet) {
    const bool has = (packet.kind == PacketKind::kAck) == echo;
    return has ? Telemetry::shim_bytes(packet.roce.telemetry_hops) : 0;
  }
  static IntPart of(const Packet& packet) { return {*PacketPool::telemetry_of(packet)}; }
  void put(Packet& packet) const {
    PacketPool::telemetry(packet) = telemetry;
    packet.roce.telemetry_hops = telemetry.hops;
  }
  static std::optional<IntPart> read(std::uint16_t info, std::span<const std::byte> value) {
    const std::size_t hops = value.size() / kRecord;
    if (value.size() % kRecord != 0 || hops == 0 || hops > Telemetry::kMaxHops) return std::nullopt;
    IntPart part;
    part.telemetry.path = info;
    part.telemetry.hops = static_cast<std::uint8_t>(hops);
    for (std::size_t i = 0; i < hops; ++i) part.telemetry.words[i] = wire::load64(value, kRecord * i);
    return part;
  }
  std::uint16_t info() const { return telemetry.path; }
  std::size_t write(std::span<std::byte> value) const {
    for (std::size_t i = 0; i < telemetry.hops; ++i) wire::store64(value, kRecord * i, telemetry.words[i]);
    return kRecord * telemetry.hops;
  }
};
using Int = IntPart<2, false>;
using IntEcho = IntPart<3, true>;

}  // namespace rocelab
