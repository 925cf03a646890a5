// Mechanisms that are the switches' part of a congestion control, such as P4QCN's congestion points, are on
// where a label runs it, with the values of its preset (Mechanism::follow(), mechanism.h).
#pragma once

#include <string_view>

#include "ovs_patches/switch_model/mechanism_table.h"

namespace rocelab {

// Called before the keys of a scenario are read, which change these values. "none": no congestion control.
void follow_label(MechanismParams& params, std::string_view congestion_control, std::string_view preset);

}  // namespace rocelab
