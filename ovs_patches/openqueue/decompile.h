// Code back into expressions, for people: with the fields' names, and units where a field tells them.
#pragma once

#include <string>

#include "ovs_patches/switch_model/policy/program.h"

namespace rocelab::oq {

// In `queue.bytes > 240KB`, context objects are called packet, queue, buffer and port.
std::string expression_of(const PolicyProgram& program, PolicyCode code);
// The same without parentheses around the whole.
std::string predicate_of(const PolicyProgram& program, PolicyCode code);
// One instruction a line, each after `indent`.
std::string listing_of(const PolicyProgram& program, PolicyCode code, const std::string& indent);
std::string state_name(const PolicyProgram& program, std::uint8_t slot);

}  // namespace rocelab::oq
