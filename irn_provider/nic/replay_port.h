// ReplayPort: what a NIC tells somebody who records a schedule, or who replays one by LSTF (Mittal, 5.1.2).
// Data only.
#pragma once

#include <cstdint>

#include "base/packet.h"
#include "base/units.h"

namespace rocelab {

class ReplayPort {
 public:
  virtual ~ReplayPort() = default;
  // The packet begins to leave the NIC. Its slack, of those with SlackLaw::kReplay.
  virtual std::int64_t departs(const Packet& packet, Time now) = 0;
  // It has come whole, with slack.
  virtual void arrives(const Packet& packet, Time now) = 0;
};

}  // namespace rocelab
