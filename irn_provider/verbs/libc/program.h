// What some programs need beyond interposed calls, because they look at the processor's counter or at memory
// where others call a library: switched on per program.
#pragma once

#include <string_view>

#include "irn_provider/live/live_process.h"

namespace rocelab::libc {

struct ProgramNeeds {
  bool tsc = false;         // reads the time stamp counter (tsc.h)
  bool calibrates = false;  // and asks gettimeofday over and over to find out its rate (experiment.h)
  MemoryWatch memory = MemoryWatch::kOfHolders;  // kAlways: waits for a peer by polling memory
  friend bool operator==(const ProgramNeeds&, const ProgramNeeds&) = default;
};

// By the program's file name (perftest's programs are known), and by whether UCX is in it, which reads the
// counter; unless the environment says otherwise: ROCELAB_TSC and ROCELAB_MEMORY_POLL, 1 or 0; null: not
// set. ROCELAB_TSC=code: 1, and by the code's way (tsc.h).
ProgramNeeds needs_of(std::string_view program, bool ucx, const char* tsc, const char* memory_poll);

// Gives this program what it needs, whenever it opens the device.
void serve_needs(LiveProcess& process);

}  // namespace rocelab::libc
