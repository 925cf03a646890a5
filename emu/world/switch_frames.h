// What switches say for themselves, as bytes on a link of the run: PFC, Escape's tokens, Loop Breaker's
// messages, RoCC's CNPs. Live frames and captures of both engines are written here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/packet.h"
#include "base/wire/clcm.h"
#include "base/wire/etf.h"
#include "base/wire/pfc.h"
#include "base/wire/rocc_cnp.h"
#include "emu/world/world.h"

namespace rocelab {

// A packet of kind kFairRate. Its source MAC and DSCP are those of the port that is the congestion point,
// wherever it is seen. Its src and dst are hosts of the run.
void write_cnp(const WorldView& run, const Packet& packet, std::span<std::byte, RoccCnp::kMaxSize> out);

// A packet of kind kPfc, kEscapeToken or kClcm on the link of `port` (an index of run.ports): from that
// port's peer when `inbound`, else from the port itself.
static_assert(PfcFrame::kSize == EscapeTokenFrame::kSize && PfcFrame::kSize == Clcm::kSize);
void write_control(const WorldView& run, std::uint32_t port, bool inbound, const Packet& packet,
                   std::span<std::byte, PfcFrame::kSize> out);

}  // namespace rocelab
