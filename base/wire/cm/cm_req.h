// REQ: request for communication. IBTA Vol 1, 12.6.5. The vendor ID of an enhanced connection establishment
// stands in bytes that were reserved before release 1.4 (Linux ibta_vol1_c12.h); its modifier is the MAD's.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------------------------------------------------------+
// |                    local communication ID                     |   0
// +---------------+-----------------------------------------------+
// |   reserved    |                 ECE vendor ID                 |   4
// +---------------+-----------------------------------------------+
// |                          service ID                           |   8, 12
// |                         local CA GUID                         |  16, 20
// |                           reserved                            |  24
// |                          local Q_Key                          |  28
// +-----------------------------------------------+---------------+
// |                   local QPN                   | resp resources|  32
// +-----------------------------------------------+---------------+
// |                  local EECN                   |initiator depth|  36
// +-----------------------------------------------+---------+---+-+
// |                  remote EECN                  |rem CM to|tst|F|  40
// +-----------------------------------------------+---------+-----+
// |                 starting PSN                  |loc CM to|retry|  44
// +-------------------------------+-------+-+-----+-------+-+-----+
// |         partition key         |  MTU  |D| RNR |CM retr|S| ext |  48
// +-------------------------------+-------+-+-----+-------+-+-----+
// |              primary path (44 bytes, see Path)                |  52
// |             alternate path (44 bytes, see Path)               |  96
// |                   private data (92 bytes)                     | 140
// +---------------------------------------------------------------+
//
// Path:
// +-------------------------------+-------------------------------+
// |        local port LID         |        remote port LID        |   0
// +-------------------------------+-------------------------------+
// |                   local port GID (16 bytes)                   |   4
// |                  remote port GID (16 bytes)                   |  20
// +---------------------------------------+-----------+-----------+
// |              flow label               | reserved  |packet rate|  36
// +---------------+---------------+-------+-+-----+---+-----+-----+
// | traffic class |   hop limit   |  SL   |L|resvd|ack timeo|resvd|  40
// +---------------+---------------+-------+-+-----+---------+-----+
#pragma once

#include "base/ids.h"
#include "base/wire/cm/cm_field.h"
#include "base/wire/frame.h"

namespace rocelab::cm {

struct Path {
  static constexpr std::size_t kSize = 44;
  std::uint16_t local_lid = 0, remote_lid = 0;
  Gid local_gid{}, remote_gid{};
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint8_t packet_rate = 0, traffic_class = 0, hop_limit = 0, sl = 0;
  bool subnet_local = false;
  std::uint8_t ack_timeout = 0;  // local ACK timeout: 4.096 us * 2^n
  friend bool operator==(const Path&, const Path&) = default;

  static Path parse(std::span<const std::byte> b) {
    Path p;
    p.local_lid = wire::load16(b, 0);
    p.remote_lid = wire::load16(b, 2);
    p.local_gid = wire::load_array<16>(b, 4);
    p.remote_gid = wire::load_array<16>(b, 20);
    p.flow_label = wire::load32(b, 36) >> 12;
    p.packet_rate = load_bits(b, 39, 2, 6);
    p.traffic_class = wire::load8(b, 40);
    p.hop_limit = wire::load8(b, 41);
    p.sl = load_bits(b, 42, 0, 4);
    p.subnet_local = load_bits(b, 42, 4, 1) != 0;
    p.ack_timeout = load_bits(b, 43, 0, 5);
    return p;
  }
  void write(std::span<std::byte> out) const {
    wire::store16(out, 0, local_lid);
    wire::store16(out, 2, remote_lid);
    wire::store_array(out, 4, local_gid);
    wire::store_array(out, 20, remote_gid);
    wire::store32(out, 36, flow_label << 12 | (packet_rate & 0x3fu));
    wire::store8(out, 40, traffic_class);
    wire::store8(out, 41, hop_limit);
    wire::store8(out, 42, static_cast<std::uint8_t>(bits(sl, 0, 4) | bits(subnet_local, 4, 1)));
    wire::store8(out, 43, bits(ack_timeout, 0, 5));
  }
};

enum class Service : std::uint8_t { kRc = 0, kUc = 1, kRd = 2, kExtended = 3 };  // transport service type

struct Req {
  static constexpr std::uint16_t kAttribute = 0x0010;
  static constexpr std::size_t kPrivateAt = 140, kPrivateBytes = 92, kPrimaryAt = 52, kAlternateAt = 96;
  CommId local_id = 0;
  std::uint32_t vendor_id = 0;  // 24 bits; 0: no enhanced connection establishment
  std::uint64_t service_id = 0, ca_guid = 0;
  std::uint32_t qkey = 0;
  Qpn qpn;
  std::uint8_t responder_resources = 0, initiator_depth = 0;
  std::uint32_t local_eecn = 0, remote_eecn = 0;
  std::uint8_t remote_cm_timeout = 0, local_cm_timeout = 0;  // CM response timeouts: 4.096 us * 2^n
  Service service = Service::kRc;
  bool flow_control = false;
  std::uint32_t starting_psn = 0;
  std::uint8_t retry_count = 0, rnr_retry_count = 0, max_cm_retries = 0;
  std::uint16_t pkey = 0;
  std::uint8_t mtu = 0;  // code: 1 = 256 .. 5 = 4096
  bool rdc_exists = false, srq = false;
  std::uint8_t extended_transport = 0;
  Path primary, alternate;
  PrivateData<kPrivateBytes> private_data{};
  friend bool operator==(const Req&, const Req&) = default;

  static Req parse(MessageView b);
  void write(MessageBytes out) const;
};

}  // namespace rocelab::cm
