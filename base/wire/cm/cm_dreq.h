// DREQ: request for communication release (disconnection). IBTA Vol 1, 12.6.10.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------------------------------------------------------+
// |                    local communication ID                     |   0
// |                    remote communication ID                    |   4
// +-----------------------------------------------+---------------+
// |                  remote QPN                   |   reserved    |   8
// +-----------------------------------------------+---------------+
// |                   private data (220 bytes)                    |  12
// +---------------------------------------------------------------+
#pragma once

#include "base/ids.h"
#include "base/wire/cm/cm_field.h"

namespace rocelab::cm {

struct Dreq {
  static constexpr std::uint16_t kAttribute = 0x0015;
  static constexpr std::size_t kPrivateAt = 12, kPrivateBytes = 220;
  CommId local_id = 0, remote_id = 0;
  Qpn remote_qpn;  // the receiver's: proves that the sender means this connection
  PrivateData<kPrivateBytes> private_data{};
  friend bool operator==(const Dreq&, const Dreq&) = default;

  static Dreq parse(MessageView b) {
    return {wire::load32(b, 0), wire::load32(b, 4), Qpn{wire::load24(b, 8)},
            wire::load_array<kPrivateBytes>(b, kPrivateAt)};
  }
  void write(MessageBytes out) const {
    wire::store32(out, 0, local_id);
    wire::store32(out, 4, remote_id);
    wire::store24(out, 8, remote_qpn.value);
    wire::store8(out, 11, 0);
    wire::store_array(out, kPrivateAt, private_data);
  }
};

}  // namespace rocelab::cm
