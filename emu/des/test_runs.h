// For tests: a run to its end.
#pragma once

#include "emu/des/des_run.h"

namespace rocelab::des {

// The first flow's outcome when the run is over.
inline FlowOutcome first_flow(DesRun& run) {
  while (!run.advance(1000)) {
  }
  return run.flows().at(0);
}

}  // namespace rocelab::des
