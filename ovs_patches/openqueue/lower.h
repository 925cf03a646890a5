// Lowering: a Model into a PolicyProgram, with the checks of its expressions.
#pragma once

#include <span>

#include "ovs_patches/openqueue/model.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab::oq {

// Errors go to the diagnostics; the program is whole if there are none. Name and id are the caller's.
PolicyProgram lower(Model& model, const SwitchConfig& config, std::span<const PortConfig> ports,
                    Diagnostics& diagnostics);

}  // namespace rocelab::oq
