// LinkCounters: what became of frames on one direction of a link, beyond the delay. Plain data; the switch
// process counts, the runner reads.
#pragma once

#include <cstdint>

namespace rocelab {

struct LinkCounters {
  std::uint64_t lost_frames = 0;       // by the scenario's faults, or since the link was down
  std::uint64_t lost_data_frames = 0;  // of them: with payload
  std::uint64_t corrupted_frames = 0;  // passed on with a flipped bit
  std::uint64_t malformed_frames =
      0;  // from a host: not a RoCEv2 or PFC frame, or a descriptor that names nothing
  std::uint64_t undeliverable_frames =
      0;                          // to a host: no process has the QPN's range, or it has died or stopped
  std::uint64_t down_frames = 0;  // of the lost: since the link was down; PFC frames too
};

}  // namespace rocelab
