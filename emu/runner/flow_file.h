// Files that the traffic program reads. Flows, one a line: `id src dst op size message_size start_ns qps
// label [after] [KEY=VALUE ..]`, op one of send, write, read, sizes in bytes, the start in nanoseconds with
// three decimals;
// `#` begins a comment. Hosts, one a line: `name ip`.
#pragma once

#include <filesystem>

#include "emu/runner/plan.h"

namespace rocelab {

std::string flow_lines(const RunPlan& plan);
std::string host_lines(const RunPlan& plan);
// Throws std::runtime_error when the file cannot be written.
void write_text(const std::filesystem::path& file, const std::string& text);

}  // namespace rocelab
