// REJ: reject. IBTA Vol 1, 12.6.7; reasons and additional information: 12.6.7.2.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------------------------------------------------------+
// |                    local communication ID                     |   0
// |                    remote communication ID                    |   4
// +---+-----------+-------------+-+-------------------------------+
// |msg| reserved  | info length |R|            reason             |   8
// +---+-----------+-------------+-+-------------------------------+
// |             additional information (ARI, 72 bytes)            |  12
// |                   private data (148 bytes)                    |  84
// +---------------------------------------------------------------+
#pragma once

#include "base/wire/cm/cm_field.h"

namespace rocelab::cm {

enum class RejReason : std::uint16_t {
  kNoQp = 1,
  kNoResources = 3,
  kTimeout = 4,
  kUnsupported = 5,
  kInvalidCommId = 6,
  kInvalidCommInstance = 7,
  kInvalidServiceId = 8,
  kInvalidTransport = 9,
  kStaleConnection = 10,
  kInvalidMtu = 26,
  kConsumer = 28,
  kVendorOption = 35,
};

struct Rej {
  static constexpr std::uint16_t kAttribute = 0x0012;
  static constexpr std::size_t kAriAt = 12, kAriBytes = 72, kPrivateAt = 84, kPrivateBytes = 148;
  CommId local_id = 0, remote_id = 0;
  Answered message = Answered::kReq;
  std::uint8_t ari_length = 0;  // bytes of ARI in use; 7 bits, at most kAriBytes
  RejReason reason = RejReason::kConsumer;
  std::array<std::uint8_t, kAriBytes> ari{};
  PrivateData<kPrivateBytes> private_data{};
  friend bool operator==(const Rej&, const Rej&) = default;

  static Rej parse(MessageView b) {
    return {wire::load32(b, 0),
            wire::load32(b, 4),
            static_cast<Answered>(load_bits(b, 8, 0, 2)),
            load_bits(b, 9, 0, 7),
            static_cast<RejReason>(wire::load16(b, 10)),
            wire::load_array<kAriBytes>(b, kAriAt),
            wire::load_array<kPrivateBytes>(b, kPrivateAt)};
  }
  void write(MessageBytes out) const {
    wire::store32(out, 0, local_id);
    wire::store32(out, 4, remote_id);
    wire::store8(out, 8, bits(static_cast<std::uint8_t>(message), 0, 2));
    wire::store8(out, 9, bits(ari_length, 0, 7));
    wire::store16(out, 10, static_cast<std::uint16_t>(reason));
    wire::store_array(out, kAriAt, ari);
    wire::store_array(out, kPrivateAt, private_data);
  }
};

}  // namespace rocelab::cm
