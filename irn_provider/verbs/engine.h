// Which engine this process's devices belong to: host $ROCELAB_HOST of the run $ROCELAB_SEGMENT in lock step,
// which has one for each of its NICs, else the network interface $ROCELAB_INTERFACE.
#pragma once

#include <vector>

#include "irn_provider/live/live_process.h"

namespace rocelab::verbs {

// The environment names one.
bool engine_is_configured();
// Throw std::runtime_error with a line that says what to do.
std::vector<HostEntry> configured_nics();
std::vector<DeviceView> look_at_devices();
// LiveProcess::attach() to it; null without a line, too, where the environment names none.
LiveProcess* attach_engine();

}  // namespace rocelab::verbs
