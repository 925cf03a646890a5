// Parts of the shim that carry RCP's header (base/rcp.h): in data from the sending NIC, rewritten by each
// switch at the frame's departure, to the receiving NIC; and back in the acknowledgement. The info is 0; the
// value is the rate in kb/s and the round trip in units of 100 ns, 32 bits each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/packet.h"
#include "base/rcp.h"
#include "base/wire/bytes.h"
#include "base/wire/shim.h"

namespace rocelab {

template <std::uint8_t id, bool echo>
struct RcpPart {
  static constexpr std::uint8_t kId = id;
  static constexpr std::size_t kRate = 0, kRtt = 4, kValueBytes = 8;
  static constexpr std::size_t kMaxBytes = ShimHeader::kSize + kValueBytes;
  static constexpr bool kForHosts = true;
  RcpHeader header{};
  friend bool operator==(const RcpPart&, const RcpPart&) = default;

  static std::uint32_t bytes_of(const Packet& packet) {
    return packet.roce.has_rcp && (packet.kind == PacketKind::kAck) == echo ? kMaxBytes : 0;
  }
  static RcpPart of(const Packet& packet) { return {*rcp_of(packet)}; }
  void put(Packet& packet) const { put_rcp(packet, header); }
  // A rate of 0 would stop its flow for ever: no NIC and no switch writes it.
  static std::optional<RcpPart> read(std::uint16_t info, std::span<const std::byte> value) {
    if (info != 0 || value.size() != kValueBytes || wire::load32(value, kRate) == 0) return std::nullopt;
    return RcpPart{{wire::load32(value, kRate), wire::load32(value, kRtt)}};
  }
  std::uint16_t info() const { return 0; }
  std::size_t write(std::span<std::byte> value) const {
    wire::store32(value, kRate, header.kbps);
    wire::store32(value, kRtt, header.hundred_ns);
    return kValueBytes;
  }
};
using RcpRequest = RcpPart<7, false>;
using RcpEcho = RcpPart<8, true>;
inline constexpr std::uint32_t kRcpShimBytes = RcpRequest::kMaxBytes;

}  // namespace rocelab
