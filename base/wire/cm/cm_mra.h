// MRA: message receipt acknowledgement: "I have it, my answer takes longer". IBTA Vol 1, 12.6.6.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------------------------------------------------------+
// |                    local communication ID                     |   0
// |                    remote communication ID                    |   4
// +---+-----------+---------+-----+-------------------------------+
// |msg| reserved  |serv time|resvd|   private data (222 bytes)    |   8
// +---+-----------+---------+-----+-------------------------------+
#pragma once

#include "base/wire/cm/cm_field.h"

namespace rocelab::cm {

struct Mra {
  static constexpr std::uint16_t kAttribute = 0x0011;
  static constexpr std::size_t kPrivateAt = 10, kPrivateBytes = 222;
  CommId local_id = 0, remote_id = 0;
  Answered message = Answered::kReq;
  std::uint8_t service_timeout = 0;  // 4.096 us * 2^n
  PrivateData<kPrivateBytes> private_data{};
  friend bool operator==(const Mra&, const Mra&) = default;

  static Mra parse(MessageView b) {
    return {wire::load32(b, 0), wire::load32(b, 4), static_cast<Answered>(load_bits(b, 8, 0, 2)),
            load_bits(b, 9, 0, 5), wire::load_array<kPrivateBytes>(b, kPrivateAt)};
  }
  void write(MessageBytes out) const {
    wire::store32(out, 0, local_id);
    wire::store32(out, 4, remote_id);
    wire::store8(out, 8, bits(static_cast<std::uint8_t>(message), 0, 2));
    wire::store8(out, 9, bits(service_timeout, 0, 5));
    wire::store_array(out, kPrivateAt, private_data);
  }
};

}  // namespace rocelab::cm
