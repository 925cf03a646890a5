// `extends = "base.toml"`: a scenario that takes everything it does not say from another file.
#pragma once

#include <filesystem>
#include <string>

#include "emu/runner/config_tree.h"

namespace rocelab {

// Fills `tree`, which was read from `name`, with what the file that it extends says, and that one's base in
// turn. Tables are merged key by key; a list (of tables too) stands in place of the base's. Values keep the
// places where they were written. Throws ScenarioError for a base that cannot be read, or that extends
// itself.
void apply_extends(ConfigNode& tree, const std::filesystem::path& name);

// `over` laid over `base`, in the same way.
ConfigNode merged(ConfigNode base, ConfigNode over);

}  // namespace rocelab
