// ReplayPort: what a NIC tells somebody who records a schedule, or who replays one (Mittal, 5.1.2). Data
// only.
#pragma once

#include <cstdint>
#include <span>

#include "base/packet.h"
#include "base/units.h"

namespace rocelab {

// Of a packet that is replayed.
struct Replayed {
  Time out;                              // o(p): when it left the network in the original
  Duration slack;                        // o(p) - i(p) - tmin(p)
  std::span<const std::int64_t> hops{};  // o(p, a_i), ps; valid until the next packet
};

class ReplayPort {
 public:
  virtual ~ReplayPort() = default;
  // The packet begins to leave the NIC. Of a recorder the answer means nothing.
  virtual Replayed departs(const Packet& packet, Time now) = 0;
  // It has come whole, with slack.
  virtual void arrives(const Packet& packet, Time now) = 0;
};

}  // namespace rocelab
