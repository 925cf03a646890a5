// A program's way into a run: the host `name` of the run whose segment is the file `segment`. All throw
// std::runtime_error with a line that says what to do: no such run or host, another build, all VFs taken.
#pragma once

#include <memory>
#include <vector>

#include "irn_provider/live/live_process.h"

namespace rocelab {

std::unique_ptr<LiveProcess> join_run(const char* segment, const char* name);
// Its NICs, by number.
std::vector<HostEntry> nics_of_run(const char* segment, const char* name);
std::vector<DeviceView> look_at_run(const char* segment, const char* name);

}  // namespace rocelab
