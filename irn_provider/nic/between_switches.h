// Frames that switches make for one another and that reach a host nevertheless. A host has no queue that
// frames could escape from (Menikkumbura, 4.4.5, 3), and nothing else to do for them: they are counted.
#pragma once

#include "base/wire/controls.h"
#include "irn_provider/transport/counters.h"

namespace rocelab {

inline void count_between_switches(NicCounters& counters, PacketKind kind) {
  ++(kind == kind_of<EscapeToken>              ? counters.rx_escape_tokens
     : kind == PacketKind::kEscapeAnnouncement ? counters.rx_escape_announcements
                                               : counters.rx_malformed);
}

}  // namespace rocelab
