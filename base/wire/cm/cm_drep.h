// DREP: reply to a request for communication release. IBTA Vol 1, 12.6.11.
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

struct Drep {
  static constexpr std::uint16_t kAttribute = 0x0016;
  static constexpr std::size_t kPrivateAt = 8, kPrivateBytes = 224;
  CommId local_id = 0, remote_id = 0;
  PrivateData<kPrivateBytes> private_data{};
  friend bool operator==(const Drep&, const Drep&) = default;

  static Drep parse(MessageView b) {
    return {wire::load32(b, 0), wire::load32(b, 4), wire::load_array<kPrivateBytes>(b, kPrivateAt)};
  }
  void write(MessageBytes out) const {
    wire::store32(out, 0, local_id);
    wire::store32(out, 4, remote_id);
    wire::store_array(out, kPrivateAt, private_data);
  }
};

}  // namespace rocelab::cm
