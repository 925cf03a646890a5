// Base Transport Header. IBTA Vol 1, 9.2 BTH; FECN and BECN as RoCEv2 uses them: annex A17.9.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------+-+-+---+-------+-------------------------------+
// |    opcode     |S|M|Pad| TVer  |             P_Key             |
// +-+-+-----------+-+-+---+-------+-------------------------------+
// |F|B|  resv6    |             destination QPN                   |  byte 4 is masked in the ICRC
// +-+-+-----------+-----------------------------------------------+
// |A|   resv7     |                    PSN                        |
// +-+-------------+-----------------------------------------------+
// S solicited event, M MigReq, F FECN, B BECN, A AckReq. Reserved bits are written as 0 and ignored when
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/ids.h"
#include "base/psn.h"
#include "base/wire/bytes.h"

namespace rocelab {

struct Bth {
  static constexpr std::size_t kSize = 12;
  static constexpr std::size_t kOpcode = 0, kFlags = 1, kPkey = 2, kResv8a = 4, kDestQpn = 5, kAckReq = 8,
                               kPsn = 9;
  std::uint8_t opcode = 0;
  bool solicited = false, mig_req = false, fecn = false, becn = false, ack_req = false;
  std::uint8_t pad = 0;                // 2 bits
  std::uint8_t transport_version = 0;  // 4 bits, 0 in every version of IBTA
  std::uint16_t pkey = 0;
  Qpn dest;
  Psn psn;
  friend bool operator==(const Bth&, const Bth&) = default;

  static std::optional<Bth> parse(std::span<const std::byte> b) { return wire::parse<Bth>(b); }
  static Bth read(std::span<const std::byte, kSize> b) {
    const std::uint8_t flags = wire::load8(b, kFlags), resv8a = wire::load8(b, kResv8a);
    Bth bth;
    bth.opcode = wire::load8(b, kOpcode);
    bth.solicited = (flags & 0x80) != 0;
    bth.mig_req = (flags & 0x40) != 0;
    bth.pad = static_cast<std::uint8_t>(flags >> 4 & 3);
    bth.transport_version = flags & 0x0f;
    bth.pkey = wire::load16(b, kPkey);
    bth.fecn = (resv8a & 0x80) != 0;
    bth.becn = (resv8a & 0x40) != 0;
    bth.dest = Qpn{wire::load24(b, kDestQpn)};
    bth.ack_req = (wire::load8(b, kAckReq) & 0x80) != 0;
    bth.psn = Psn(wire::load24(b, kPsn));
    return bth;
  }
  void write(std::span<std::byte, kSize> out) const {
    wire::store8(out, kOpcode, opcode);
    wire::store8(out, kFlags,
                 static_cast<std::uint8_t>((solicited ? 0x80 : 0) | (mig_req ? 0x40 : 0) | (pad & 3) << 4 |
                                           (transport_version & 0x0f)));
    wire::store16(out, kPkey, pkey);
    wire::store8(out, kResv8a, static_cast<std::uint8_t>((fecn ? 0x80 : 0) | (becn ? 0x40 : 0)));
    wire::store24(out, kDestQpn, dest.value);
    wire::store8(out, kAckReq, ack_req ? 0x80 : 0);
    wire::store24(out, kPsn, psn.value());
  }
};
std::string to_string(const Bth& bth);

}  // namespace rocelab
