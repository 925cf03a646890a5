// LiveSettings: what the live engine is told of a run beyond its World. Plain data.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace rocelab {

struct LiveSettings {
  std::uint32_t vfs_per_host = 2;
  std::uint32_t frames_per_vf = 16384;
  std::uint32_t max_frame_bytes = 1152;  // largest wire MTU of the run
  std::uint32_t expected_participants = 0;
  double pace = 0;      // > 0: at least this many seconds of wall time per second of experiment
  double dilation = 0;  // > 0: by the wall clock, so many seconds of it per second of experiment
  Duration sample_interval;
  Duration poll_interval = 10_us;
};

}  // namespace rocelab
