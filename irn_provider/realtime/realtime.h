// The engine for real interfaces, as verbs see it: the network interface, or shared memory of one name, that
// the environment names (interface_host.h). All throw std::runtime_error with a line that says what is wrong.
#pragma once

#include <memory>

#include "irn_provider/live/live_process.h"

namespace rocelab::direct {

std::unique_ptr<LiveProcess> join();
HostEntry host();
DeviceView look();

}  // namespace rocelab::direct
