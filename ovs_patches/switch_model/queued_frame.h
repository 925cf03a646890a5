// QueuedFrame: a frame in a switch, with what the switch must know to give its place back.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/packet.h"

namespace rocelab {

inline constexpr std::uint32_t kNoShare = 0xffffffff;    // the frame has this one output
inline constexpr std::uint32_t kGivenBack = 0xfffffffe;  // its ingress port has had its place back already

struct QueuedFrame {
  PacketRef packet;
  PortId in;
  std::uint32_t share = kNoShare;  // the switch's handle for frames with several outputs
};

}  // namespace rocelab
