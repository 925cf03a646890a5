// What some programs need beyond interposed calls, because they look at the processor's counter or at memory
// where others call a library.
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

struct ProgramTraits {
  std::string_view name{};      // of its file: of two it is known that they poll memory
  bool ucx = false;             // it is in it, and reads the counter
  bool measures_clock = false;  // measures_clock()
};

// Unless the environment says otherwise: ROCELAB_TSC and ROCELAB_MEMORY_POLL, 1 or 0; null: not set.
// ROCELAB_TSC=code: 1, and by the code's way (tsc.h).
ProgramNeeds needs_of(const ProgramTraits& program, const char* tsc, const char* memory_poll);

// perftest's get_clock.c is in the program, whatever that is called: it compares the counter with
// gettimeofday and measures by it.
bool measures_clock();

// Gives this program what it needs, whenever it opens the device.
void serve_needs(LiveProcess& process);

}  // namespace rocelab::libc
