// ReplayPort: what a NIC tells somebody who records a schedule, or who replays one by LSTF (Mittal, 5.1.2).
// Data only.
#pragma once

#include <cstdint>

#include "base/packet.h"
#include "base/slack.h"
#include "base/units.h"

namespace rocelab {

class ReplayPort {
 public:
  virtual ~ReplayPort() = default;
  // The packet begins to leave the NIC. Of a replay: its slack, and in `initial` when it left the network in
  // the original, o(p).
  virtual Slack departs(const Packet& packet, Time now) = 0;
  // It has come whole, with slack.
  virtual void arrives(const Packet& packet, Time now) = 0;
};

}  // namespace rocelab
