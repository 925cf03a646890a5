// What a frame costs at most under a program.
#pragma once

#include <cstdint>

#include "ovs_patches/switch_model/policy/program.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab::oq {

// `visits`: of queues by a turn, for one frame.
PolicyBounds bounds_of(const PolicyProgram& program, const SwitchConfig& config, std::int64_t visits);

}  // namespace rocelab::oq
