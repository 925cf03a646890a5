// The counts of a run, node by node, under the same names in both engines. Plain data: it lies in the live
// engine's shared memory.
#pragma once

#include <array>
#include <cstdint>

#include "emu/link/link_counters.h"
#include "emu/world/replay_differences.h"
#include "irn_provider/cm/cm_counters.h"
#include "irn_provider/transport/counters.h"
#include "ovs_patches/switch_model/counters.h"

namespace rocelab {

struct PortResult {
  SwitchPortCounters counters;
  LinkCounters link_in;   // frames on their way to this port
  LinkCounters link_out;  // frames on their way from it
};

// A NIC; live, of one virtual function.
struct NicResult {
  NicCounters counters;
  cm::CmCounters cm_counters;             // of its connection manager, if it has one
  std::array<std::uint8_t, 32> digest{};  // of its hashed trace records
  std::uint64_t records = 0;
  ReplayDifferences replay;  // of a run that replays another
};

}  // namespace rocelab
