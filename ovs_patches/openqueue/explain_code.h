// A program's code as a listing.
#pragma once

#include <string>

#include "ovs_patches/switch_model/policy/program.h"

namespace rocelab::oq {

// Every piece of code once, under the first that has it.
std::string listing_of(const PolicyProgram& program);

}  // namespace rocelab::oq
