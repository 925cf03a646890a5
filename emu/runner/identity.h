// What tells one run from another beyond its parameters: the lists of tables in a scenario, and the files it
// names.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "emu/runner/config_tree.h"
#include "emu/runner/scenario.h"

namespace rocelab {

// The place of what a preset label changes begins so, or is a place in a file before it: "t.toml:1:13: the
// label irn+dcqcn".
inline constexpr const char* kPreset = "the label ";
bool is_of_preset(const std::string& place);

// The lists of tables (workloads, faults, links ..) below `tree` as they stand, one to a line; labels, cases
// and comparisons are no part of a run.
std::string lists_of(const ConfigNode& tree);

// Where the tables and values below `tree` stand, by dotted key; not of those in lists of tables.
std::map<std::string, std::string> places_of(const ConfigNode& tree);

// Where `key` of a scenario's text stands, or else the table around it; of what is a default or a preset
// label's, [topology], which it does not fit.
std::string place_of(const Settings& settings, std::string key);

// The files of sizes, topology and traffic below `tree`, where they are looked for (ConfigSection::file).
std::vector<std::filesystem::path> files_of(const ConfigNode& tree, const std::filesystem::path& folder);

}  // namespace rocelab
