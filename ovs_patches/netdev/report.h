// What an operator reads of a fabric: `lossless/show` as tables, `lossless/counters` as JSON.
#pragma once

#include <string>

#include "ovs_patches/netdev/fabric.h"

namespace rocelab {

// Per switch: ports with rate and traffic, then per port the classes that carry traffic, are lossless, or
// mark: buffer, thresholds, queue, pause state and counters. `name` empty: all switches. Empty when there is
// no such switch.
std::string show(Fabric& fabric, const std::string& name);

// {"time_ps", "switches": {NAME: {"digest", "late_arrivals", "ports": {INTERFACE: {"counters": {...},
// "link_in": {...}, "link_out": {...}}}}}}
std::string counters_json(Fabric& fabric);

}  // namespace rocelab
