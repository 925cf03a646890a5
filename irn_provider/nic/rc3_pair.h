// For tests of two NICs with RC3: four levels, of whose packets the first four of a message are TCP's.
#pragma once

#include "irn_provider/cc/aimd.h"
#include "irn_provider/nic/irn_pair.h"

namespace rocelab {

// `reach`: packets of its bitmaps.
inline NicConfig rc3_config(std::uint32_t reach = 256) {
  NicConfig config =
      irn_config(IrnConfig{.rto_high = 320_us, .bdp_cap = 0, .tcp = true, .bitmap_packets = reach});
  config.rc3 = {4, {config.roce_dscp, 16, 8, 0}, {4, 16, 64, 0}};
  AimdParams& aimd = config.cc.use<Aimd>();
  aimd.initial_window = 4, aimd.slow_start = true;
  return config;
}

}  // namespace rocelab
