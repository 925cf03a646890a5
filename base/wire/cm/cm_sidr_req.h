// SIDR_REQ: service ID resolution request: "which UD queue pair serves this?" IBTA Vol 1, 12.11.1.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------------------------------------------------------+
// |                          request ID                           |   0
// +-------------------------------+-------------------------------+
// |         partition key         |           reserved            |   4
// +-------------------------------+-------------------------------+
// |                          service ID                           |   8, 12
// |                   private data (216 bytes)                    |  16
// +---------------------------------------------------------------+
#pragma once

#include "base/wire/cm/cm_field.h"

namespace rocelab::cm {

struct SidrReq {
  static constexpr std::uint16_t kAttribute = 0x0017;
  static constexpr std::size_t kPrivateAt = 16, kPrivateBytes = 216;
  CommId request_id = 0;
  std::uint16_t pkey = 0;
  std::uint64_t service_id = 0;
  PrivateData<kPrivateBytes> private_data{};
  friend bool operator==(const SidrReq&, const SidrReq&) = default;

  static SidrReq parse(MessageView b) {
    return {wire::load32(b, 0), wire::load16(b, 4), wire::load64(b, 8),
            wire::load_array<kPrivateBytes>(b, kPrivateAt)};
  }
  void write(MessageBytes out) const {
    wire::store32(out, 0, request_id);
    wire::store16(out, 4, pkey);
    wire::store16(out, 6, 0);
    wire::store64(out, 8, service_id);
    wire::store_array(out, kPrivateAt, private_data);
  }
};

}  // namespace rocelab::cm
