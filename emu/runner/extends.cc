#include "emu/runner/extends.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "emu/runner/scenario.h"
#include "emu/runner/text_file.h"

namespace rocelab {

// What only `base` has comes first, in its order, so that resolved parameters stand in the base's order.
ConfigNode merged(ConfigNode base, ConfigNode over) {
  if (base.kind != ConfigNode::Kind::kTable || over.kind != ConfigNode::Kind::kTable) return over;
  base.place = over.place;
  base.key_place = over.key_place;
  for (auto& [key, value] : over.members) {
    ConfigNode* mine = base.find(key);
    if (mine == nullptr)
      base.members.emplace_back(key, std::move(value));
    else
      *mine = merged(std::move(*mine), std::move(value));
  }
  return base;
}

namespace {

void fill(ConfigNode& tree, const std::filesystem::path& name, std::vector<std::filesystem::path> seen) {
  const auto own = std::find_if(tree.members.begin(), tree.members.end(),
                                [](const auto& member) { return member.first == "extends"; });
  if (own == tree.members.end()) return;
  const ConfigNode value = own->second;
  tree.members.erase(own);
  if (value.kind != ConfigNode::Kind::kString)
    throw ScenarioError(value.place +
                        ": extends must be the name of a file, for example extends = \"base.toml\"");
  const std::filesystem::path file = (name.parent_path() / value.text).lexically_normal();
  seen.push_back(name.lexically_normal());
  if (std::find(seen.begin(), seen.end(), file) != seen.end())
    throw ScenarioError(value.place + ": extends leads back to " + file.string());
  std::string text;
  try {
    text = read_text(file);
  } catch (const ScenarioError& error) {
    throw ScenarioError(value.place + ": extends: " + error.what());
  }
  ConfigNode base = parse_toml(text, file.string());
  fill(base, file, std::move(seen));
  tree = merged(std::move(base), std::move(tree));
}

}  // namespace

void apply_extends(ConfigNode& tree, const std::filesystem::path& name) { fill(tree, name, {}); }

}  // namespace rocelab
