// A process's end of one virtual function (VF): how it gets one and leaves it, and its frames. What it does
// in windows is its own affair: a program's NIC (irn_provider/live), a gateway (emu/gateway), or a test.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lockstep/segment.h"

namespace rocelab::lockstep {

// A free VF of the host, and of its other NICs, now this process's, which holds time from here on. `host`:
// its first NIC. kNoSlot: all are taken, or a gateway has one of the NICs.
std::uint32_t claim_vf(const Segment& segment, std::uint32_t host);

// The first VF of one NIC, `host`, for a gateway, which holds time by that slot alone. A host has programs or
// gateways: kNoSlot: a program is there, at this NIC or another one of its host, or another gateway at this.
std::uint32_t claim_for_gateway(const Segment& segment, std::uint32_t host);

// Whether a gateway has a NIC of the host. `host`: its first NIC.
bool has_gateway(const Segment& segment, std::uint32_t host);

// The VF ends its part in the open window `seq`, with its promise said.
void finish_window(const Segment& segment, std::uint32_t vf, std::uint32_t seq);

// Frames of the VF's range that are at home. The last one home is the first to leave: the working set stays
// small.
class VfFrames {
 public:
  VfFrames(const Segment& segment, std::uint32_t vf);
  std::optional<std::uint32_t> take();  // null: all are away
  void put_back(std::uint32_t frame) { home_.push_back(frame); }

 private:
  IndexRing refill_;
  std::vector<std::uint32_t> home_;
};

}  // namespace rocelab::lockstep
