// Control frames of any kind (base/wire/controls.h) as bytes on a link of the run. Live frames and captures
// of both engines are written here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/packet.h"
#include "base/wire/controls.h"
#include "emu/world/world.h"

namespace rocelab {

// A control packet on the link of `port` (an index of run.ports): from that port's peer when `inbound`, else
// from the port itself. Feedback has the source MAC of the port that is the congestion point, wherever it is
// seen. Hosts that the packet names are of the run. Returns the part of `out` that the frame takes
// (write_control()).
std::span<const std::byte> write_frame_of(const WorldView& run, std::uint32_t port, bool inbound,
                                          const Packet& packet, std::span<std::byte> out);

}  // namespace rocelab
