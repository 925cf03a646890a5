// The queues and the scheduler of a switch's configuration as an OpenQueue program: strict priorities and
// DWRR over a queue per class, with tail drop.
#pragma once

#include <string>

#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

// Empty where builtin_policy() has the same queues as the configuration; else what it cannot say, as a
// clause.
std::string problem_of_builtin(const SwitchConfig& config);
std::string builtin_policy(const SwitchConfig& config);

}  // namespace rocelab
