// SIDR_REP: service ID resolution reply. IBTA Vol 1, 12.11.2. The bytes marked "reserved" may carry the
// vendor ID of an enhanced connection establishment; datagrams have nothing to agree on here.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------------------------------------------------------+
// |                          request ID                           |   0
// +---------------+---------------+-------------------------------+
// |    status     |  info length  |           reserved            |   4
// +---------------+---------------+---------------+---------------+
// |                      QPN                      |   reserved    |   8
// +-----------------------------------------------+---------------+
// |                          service ID                           |  12, 16
// |                             Q_Key                             |  20
// |               additional information (72 bytes)               |  24
// |                   private data (136 bytes)                    |  96
// +---------------------------------------------------------------+
#pragma once

#include "base/ids.h"
#include "base/wire/cm/cm_field.h"

namespace rocelab::cm {

enum class SidrStatus : std::uint8_t {  // 12.11.2.1
  kSuccess = 0,
  kUnsupportedServiceId = 1,
  kRejected = 2,
  kNoQp = 3,
  kRedirect = 4,
  kUnsupportedVersion = 5,
};

struct SidrRep {
  static constexpr std::uint16_t kAttribute = 0x0018;
  static constexpr std::size_t kInfoAt = 24, kInfoBytes = 72, kPrivateAt = 96, kPrivateBytes = 136;
  CommId request_id = 0;
  SidrStatus status = SidrStatus::kSuccess;
  std::uint8_t info_length = 0;
  Qpn qpn;
  std::uint64_t service_id = 0;
  std::uint32_t qkey = 0;
  std::array<std::uint8_t, kInfoBytes> info{};
  PrivateData<kPrivateBytes> private_data{};
  friend bool operator==(const SidrRep&, const SidrRep&) = default;

  static SidrRep parse(MessageView b) {
    return {wire::load32(b, 0),
            static_cast<SidrStatus>(wire::load8(b, 4)),
            wire::load8(b, 5),
            Qpn{wire::load24(b, 8)},
            wire::load64(b, 12),
            wire::load32(b, 20),
            wire::load_array<kInfoBytes>(b, kInfoAt),
            wire::load_array<kPrivateBytes>(b, kPrivateAt)};
  }
  void write(MessageBytes out) const {
    wire::store32(out, 0, request_id);
    wire::store8(out, 4, static_cast<std::uint8_t>(status));
    wire::store8(out, 5, info_length);
    wire::store16(out, 6, 0);
    wire::store24(out, 8, qpn.value);
    wire::store8(out, 11, 0);
    wire::store64(out, 12, service_id);
    wire::store32(out, 20, qkey);
    wire::store_array(out, kInfoAt, info);
    wire::store_array(out, kPrivateAt, private_data);
  }
};

}  // namespace rocelab::cm
