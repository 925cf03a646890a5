// A program in plain English: what each of its queues, buffers and ports does, and what a frame costs.
#pragma once

#include <string>

#include "ovs_patches/switch_model/policy/program.h"

namespace rocelab {

struct ExplainOptions {
  bool code = false;  // the instructions, too
};

// One paragraph for each group of queues, buffers and ports that do the same, ends with a newline. The
// program is one that compile_policy() has made.
std::string explain(const PolicyProgram& program, const ExplainOptions& options = {});

}  // namespace rocelab
