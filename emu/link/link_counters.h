// LinkCounters: what became of frames on one direction of a link, beyond the delay. Plain data; the switch
// process counts, the runner reads.
#pragma once

#include <cstdint>

#include "emu/link/fault_port.h"

namespace rocelab {

struct LinkCounters {
  std::uint64_t lost_frames = 0;       // by the scenario's faults, or since the link was down
  std::uint64_t lost_data_frames = 0;  // of them: with payload
  std::uint64_t corrupted_frames = 0;  // passed on with a flipped bit
  // From a host: neither a RoCEv2 nor a PFC frame, or a descriptor that names nothing.
  std::uint64_t malformed_frames = 0;
  // To a host: no process has the QPN's range, or it has died or stopped.
  std::uint64_t undeliverable_frames = 0;
  std::uint64_t down_frames = 0;  // of the lost: since the link was down; PFC frames too
};

// Counts what a fault does to one frame, with payload (`data`) or without. False: the frame is lost.
inline bool count_fault(LinkCounters& counters, FaultVerdict::Kind kind, bool data) {
  if (kind == FaultVerdict::Kind::kCorrupt) ++counters.corrupted_frames;
  if (kind != FaultVerdict::Kind::kDrop) return true;
  ++counters.lost_frames;
  if (data) ++counters.lost_data_frames;
  return false;
}

// A frame, with payload (`data`) or without, is lost since the link is down.
inline void count_down(LinkCounters& counters, bool data) {
  ++counters.lost_frames;
  ++counters.down_frames;
  if (data) ++counters.lost_data_frames;
}

}  // namespace rocelab
