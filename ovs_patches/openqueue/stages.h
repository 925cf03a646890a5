// The compiler's stages in one call, for those who need more than the program: tests, and the reference.
#pragma once

#include <memory>
#include <span>

#include "ovs_patches/openqueue/compile.h"
#include "ovs_patches/openqueue/diagnostics.h"
#include "ovs_patches/openqueue/model.h"

namespace rocelab::oq {

// Null: errors, in `diagnostics`. `expanded`, unless null, becomes the model that the program was made of.
std::shared_ptr<const PolicyProgram> compile(const PolicySource& source, const SwitchConfig& config,
                                             std::span<const PortConfig> ports, Diagnostics& diagnostics,
                                             Model* expanded);

}  // namespace rocelab::oq
