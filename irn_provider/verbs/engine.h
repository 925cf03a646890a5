// Which engine this process's device belongs to: host $ROCELAB_HOST of the run $ROCELAB_SEGMENT in lock step,
// else the network interface $ROCELAB_INTERFACE.
#pragma once

#include "irn_provider/live/live_process.h"

namespace rocelab::verbs {

// The environment names one.
bool engine_is_configured();
// Throw std::runtime_error with a line that says what to do.
HostEntry configured_host();
DeviceView look_at_device();
// LiveProcess::attach() to it; null without a line, too, where the environment names none.
LiveProcess* attach_engine();

}  // namespace rocelab::verbs
