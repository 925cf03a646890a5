// ACK Extended Transport Header and the meaning of its syndrome. IBTA Vol 1, 9.3.5 AETH; 9.7.5.2.1 tables 43
// - 46.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +-+---+---------+-----------------------------------------------+
// |0|typ|  value  |                     MSN                       |
// +-+---+---------+-----------------------------------------------+
// typ 00: ACK, value = credit count code; 01: RNR NAK, value = timer code; 11: NAK, value = error code; 10 is
// reserved.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/ids.h"
#include "base/units.h"
#include "base/wire/bytes.h"

namespace rocelab {

struct Aeth {
  static constexpr std::size_t kSize = 4, kSyndrome = 0, kMsn = 1;
  std::uint8_t syndrome = 0;
  Msn msn;
  friend bool operator==(const Aeth&, const Aeth&) = default;

  static std::optional<Aeth> parse(std::span<const std::byte> b) { return wire::parse<Aeth>(b); }
  static Aeth read(std::span<const std::byte, kSize> b) {
    const auto syndrome = static_cast<std::uint8_t>(wire::load8(b, kSyndrome) & 0x7f);  // bit 7 is reserved
    return Aeth{syndrome, Msn{wire::load24(b, kMsn)}};
  }
  void write(std::span<std::byte, kSize> out) const {
    wire::store8(out, kSyndrome, syndrome);
    wire::store24(out, kMsn, msn.value);
  }
};
std::string to_string(const Aeth& aeth);

enum class AethType : std::uint8_t { kAck = 0, kRnrNak = 1, kReserved = 2, kNak = 3 };

inline constexpr std::uint8_t kAckNoCredits =
    0x1f;  // credit count invalid: no end-to-end flow control (what Linux rxe sends)
inline constexpr std::uint8_t kNakPsnSequence = 0x60, kNakInvalidRequest = 0x61, kNakRemoteAccess = 0x62,
                              kNakRemoteOperational = 0x63, kNakInvalidRdRequest = 0x64;

constexpr AethType aeth_type(std::uint8_t syndrome) { return static_cast<AethType>(syndrome >> 5 & 3); }
constexpr std::uint8_t aeth_value(std::uint8_t syndrome) { return syndrome & 0x1f; }
constexpr bool is_ack(std::uint8_t syndrome) { return aeth_type(syndrome) == AethType::kAck; }
constexpr bool is_rnr_nak(std::uint8_t syndrome) { return aeth_type(syndrome) == AethType::kRnrNak; }
constexpr bool is_nak(std::uint8_t syndrome) { return aeth_type(syndrome) == AethType::kNak; }

// Table 46: Receive WQEs that are posted, by code; 31 says nothing.
inline constexpr std::array<std::uint16_t, 31> kCredits{
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

// ACK syndrome for `credits` posted Receive WQEs: the largest count of the table that does not promise more.
constexpr std::uint8_t ack_syndrome(std::uint32_t credits) {
  std::uint8_t code = 0;
  while (code + 1u < kCredits.size() && kCredits[code + 1u] <= credits) ++code;
  return code;
}
// Credits of an ACK syndrome; null: not an ACK, or no end-to-end flow control.
constexpr std::optional<std::uint32_t> credits_of(std::uint8_t syndrome) {
  if (!is_ack(syndrome) || aeth_value(syndrome) == kAckNoCredits) return std::nullopt;
  return kCredits[aeth_value(syndrome)];
}

// Table 45: how long the requester waits after an RNR NAK, in units of 10 us, by timer code.
inline constexpr std::array<std::uint32_t, 32> kRnrTimer10us{
    65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
    256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

constexpr Duration rnr_timer(std::uint8_t timer_code) {
  return Duration::from_ps(std::int64_t{kRnrTimer10us[timer_code & 0x1f]} * 10'000'000);
}
constexpr std::uint8_t rnr_syndrome(std::uint8_t timer_code) {
  return static_cast<std::uint8_t>(0x20 | (timer_code & 0x1f));
}

}  // namespace rocelab
