// In-band network telemetry (INT) as HPCC has it: what each switch says of the port through which a packet
// leaves. Source: Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019, 4.1 and figure 7: for
// each hop the port's rate, a timestamp, the bytes that it has sent and the length of its queue, 64 bits
// together. In frames they are parts of the shim (base/wire/shim_int.h).
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +-------+-----------------------------------------------+-------+
// | rate  |                 time, nanoseconds             | bytes
// +-------+-----------------------------------------------+-------+
//          sent, units of 128 B   |    queue, units of 80 B       |
// +-------------------------------+-------------------------------+
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/units.h"
#include "base/wire/shim.h"

namespace rocelab {

// One hop. Times and bytes count modulo their width: only differences mean something.
struct TelemetryHop {
  static constexpr int kTimeBits = 24, kBytesBits = 20, kQueueBits = 16;
  static constexpr std::int64_t kBytesUnit = 128, kQueueUnit = 80;
  // The rates that 4 bits tell apart, in Mb/s; the paper does not list its own.
  static constexpr std::array<std::int64_t, 16> kRates = {
      1'000,  2'500,  5'000,   10'000,  20'000,  25'000,  30'000,    36'000,
      40'000, 50'000, 100'000, 200'000, 400'000, 800'000, 1'000'000, 1'600'000};
  std::uint8_t rate_code = 0;  // index into kRates
  std::uint32_t time = 0;      // ns, modulo 2^24
  std::uint32_t sent = 0;      // kBytesUnit, modulo 2^20
  std::uint32_t queue = 0;     // kQueueUnit, at most 2^16 - 1
  friend bool operator==(const TelemetryHop&, const TelemetryHop&) = default;

  Rate rate() const { return 1_Mbps * kRates[rate_code]; }
  Bytes queue_length() const { return Bytes::from_count(queue * kQueueUnit); }
  // From an earlier record of the same port to this one; right for less than 16.8 ms and 134 MB.
  Duration since(const TelemetryHop& earlier) const {
    return 1_ns * static_cast<std::int64_t>((time - earlier.time) & ((1u << kTimeBits) - 1));
  }
  Bytes sent_since(const TelemetryHop& earlier) const {
    return Bytes::from_count(((sent - earlier.sent) & ((1u << kBytesBits) - 1)) * kBytesUnit);
  }

  constexpr std::uint64_t packed() const {
    return std::uint64_t{rate_code} << 60 | std::uint64_t{time} << 36 | std::uint64_t{sent} << 16 | queue;
  }
  static constexpr TelemetryHop unpacked(std::uint64_t word) {
    return {static_cast<std::uint8_t>(word >> 60), static_cast<std::uint32_t>(word >> 36 & 0xffffff),
            static_cast<std::uint32_t>(word >> 16 & 0xfffff), static_cast<std::uint32_t>(word & 0xffff)};
  }
};

// Null: INT has no code for this rate.
constexpr std::optional<std::uint8_t> telemetry_rate_code(Rate rate) {
  for (std::size_t i = 0; i < TelemetryHop::kRates.size(); ++i)
    if (rate == 1_Mbps * TelemetryHop::kRates[i]) return static_cast<std::uint8_t>(i);
  return std::nullopt;
}

// What a packet has collected, first hop first.
struct Telemetry {
  static constexpr std::size_t kMaxHops =
      7;                   // one more switch than the longest path of a three-tier fat-tree
  std::uint16_t path = 0;  // XOR of the ports' addresses
  std::uint8_t hops = 0;
  std::array<std::uint64_t, kMaxHops> words{};

  TelemetryHop hop(std::size_t i) const { return TelemetryHop::unpacked(words[i]); }
  void push(std::uint16_t address, const TelemetryHop& hop) {
    path ^= address;
    words[hops++] = hop.packed();
  }
  // With the header of its part.
  static constexpr std::uint32_t shim_bytes(std::size_t hops) {
    return hops == 0 ? 0 : static_cast<std::uint32_t>(ShimHeader::kSize + 8 * hops);
  }
  static constexpr std::uint32_t kMaxShimBytes = ShimHeader::kSize + 8 * kMaxHops;
  friend bool operator==(const Telemetry&, const Telemetry&) = default;  // words are zero from `hops` on
};

}  // namespace rocelab
