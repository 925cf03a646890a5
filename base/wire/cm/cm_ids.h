// The messages that carry nothing but the two communication IDs: RTU, the active side's last word before data
// (IBTA Vol 1, 12.6.9), and DREP, the reply to a request for communication release (12.6.11).
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------------------------------------------------------+
// |                    local communication ID                     |   0
// |                    remote communication ID                    |   4
// |                   private data (224 bytes)                    |   8
// +---------------------------------------------------------------+
#pragma once

#include "base/wire/cm/cm_field.h"

namespace rocelab::cm {

template <std::uint16_t kAttributeId>
struct CommIds {
  static constexpr std::uint16_t kAttribute = kAttributeId;
  static constexpr std::size_t kPrivateAt = 8, kPrivateBytes = 224;
  CommId local_id = 0, remote_id = 0;
  PrivateData<kPrivateBytes> private_data{};
  friend bool operator==(const CommIds&, const CommIds&) = default;

  static CommIds parse(MessageView b) {
    return {wire::load32(b, 0), wire::load32(b, 4), wire::load_array<kPrivateBytes>(b, kPrivateAt)};
  }
  void write(MessageBytes out) const {
    wire::store32(out, 0, local_id);
    wire::store32(out, 4, remote_id);
    wire::store_array(out, kPrivateAt, private_data);
  }
};

using Rtu = CommIds<0x0014>;
using Drep = CommIds<0x0016>;

}  // namespace rocelab::cm
