// RcpHeader: what the frames of RCP carry: on data the least of the rates of the ports passed so far, at
// first the rate that the sender asks for, and the sender's round trip; on the acknowledgement the same back.
// Source: Dukkipati, "Rate Control Protocol (RCP): Congestion Control to Make Flows Complete Quickly",
// Stanford 2007. On the wire: base/wire/shim_rcp.h. It counts in units of the wire, so that a frame says the
// same in each engine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/packet.h"
#include "base/units.h"

namespace rocelab {

struct RcpHeader {
  static constexpr std::int64_t kMost = 0xffff'ffff;
  std::uint32_t kbps = 0;        // R_p, kb/s; at least 1 on the wire
  std::uint32_t hundred_ns = 0;  // the round trip; 0: the sender has measured none yet

  static RcpHeader of(Rate rate, Duration rtt) {
    return {units(rate.bps() / 1'000, 1), units(rtt.ps() / 100'000, 0)};
  }
  Rate rate() const { return Rate::from_bps(1'000) * kbps; }
  Duration rtt() const { return 100_ns * hundred_ns; }
  friend bool operator==(const RcpHeader&, const RcpHeader&) = default;

 private:
  static std::uint32_t units(std::int64_t count, std::int64_t least) {
    return static_cast<std::uint32_t>(std::clamp(count, least, kMost));
  }
};

// It lies in a field of RoceHeaders that data and acknowledgements leave free (AtomicETH; not ACK_BLOCKS).
inline void put_rcp(Packet& packet, const RcpHeader& header) {
  packet.roce.has_rcp = true;
  packet.roce.compare = std::uint64_t{header.kbps} << 32 | header.hundred_ns;
}
// Null: it carries none.
inline std::optional<RcpHeader> rcp_of(const Packet& packet) {
  if (!packet.roce.has_rcp) return std::nullopt;
  return RcpHeader{static_cast<std::uint32_t>(packet.roce.compare >> 32),
                   static_cast<std::uint32_t>(packet.roce.compare)};
}

}  // namespace rocelab
