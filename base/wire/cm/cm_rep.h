// REP: reply to request for communication. IBTA Vol 1, 12.6.8. The vendor ID of an enhanced connection
// establishment stands in three bytes that were reserved (Linux ibta_vol1_c12.h).
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------------------------------------------------------+
// |                    local communication ID                     |   0
// |                    remote communication ID                    |   4
// |                          local Q_Key                          |   8
// +-----------------------------------------------+---------------+
// |                   local QPN                   |ECE vendor high|  12
// +-----------------------------------------------+---------------+
// |                  local EECN                   | ECE vendor mid|  16
// +-----------------------------------------------+---------------+
// |                 starting PSN                  | ECE vendor low|  20
// +---------------+---------------+---------+---+-+-----+-+-------+
// | resp resources|initiator depth|ack delay|fov|F| RNR |S| resvd |  24
// +---------------+---------------+---------+---+-+-----+-+-------+
// |                         local CA GUID                         |  28, 32
// |                   private data (196 bytes)                    |  36
// +---------------------------------------------------------------+
#pragma once

#include "base/ids.h"
#include "base/wire/cm/cm_field.h"

namespace rocelab::cm {

struct Rep {
  static constexpr std::uint16_t kAttribute = 0x0013;
  static constexpr std::size_t kPrivateAt = 36, kPrivateBytes = 196;
  CommId local_id = 0, remote_id = 0;
  std::uint32_t qkey = 0;
  Qpn qpn;
  std::uint32_t vendor_id = 0;  // 24 bits
  std::uint32_t local_eecn = 0, starting_psn = 0;
  std::uint8_t responder_resources = 0, initiator_depth = 0;
  std::uint8_t target_ack_delay = 0;  // 4.096 us * 2^n
  std::uint8_t failover = 0;
  bool flow_control = false;
  std::uint8_t rnr_retry_count = 0;
  bool srq = false;
  std::uint64_t ca_guid = 0;
  PrivateData<kPrivateBytes> private_data{};
  friend bool operator==(const Rep&, const Rep&) = default;

  static Rep parse(MessageView b) {
    Rep r;
    r.local_id = wire::load32(b, 0);
    r.remote_id = wire::load32(b, 4);
    r.qkey = wire::load32(b, 8);
    r.qpn = Qpn{wire::load24(b, 12)};
    r.local_eecn = wire::load24(b, 16);
    r.starting_psn = wire::load24(b, 20);
    r.vendor_id =
        std::uint32_t{wire::load8(b, 15)} << 16 | std::uint32_t{wire::load8(b, 19)} << 8 | wire::load8(b, 23);
    r.responder_resources = wire::load8(b, 24);
    r.initiator_depth = wire::load8(b, 25);
    r.target_ack_delay = load_bits(b, 26, 0, 5);
    r.failover = load_bits(b, 26, 5, 2);
    r.flow_control = load_bits(b, 26, 7, 1) != 0;
    r.rnr_retry_count = load_bits(b, 27, 0, 3);
    r.srq = load_bits(b, 27, 3, 1) != 0;
    r.ca_guid = wire::load64(b, 28);
    r.private_data = wire::load_array<kPrivateBytes>(b, kPrivateAt);
    return r;
  }
  void write(MessageBytes out) const {
    wire::store32(out, 0, local_id);
    wire::store32(out, 4, remote_id);
    wire::store32(out, 8, qkey);
    wire::store24(out, 12, qpn.value);
    wire::store8(out, 15, static_cast<std::uint8_t>(vendor_id >> 16 & 0xff));
    wire::store24(out, 16, local_eecn);
    wire::store8(out, 19, static_cast<std::uint8_t>(vendor_id >> 8 & 0xff));
    wire::store24(out, 20, starting_psn);
    wire::store8(out, 23, static_cast<std::uint8_t>(vendor_id & 0xff));
    wire::store8(out, 24, responder_resources);
    wire::store8(out, 25, initiator_depth);
    wire::store8(out, 26,
                 static_cast<std::uint8_t>(bits(target_ack_delay, 0, 5) | bits(failover, 5, 2) |
                                           bits(flow_control, 7, 1)));
    wire::store8(out, 27, static_cast<std::uint8_t>(bits(rnr_retry_count, 0, 3) | bits(srq, 3, 1)));
    wire::store64(out, 28, ca_guid);
    wire::store_array(out, kPrivateAt, private_data);
  }
};

}  // namespace rocelab::cm
