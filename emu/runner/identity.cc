#include "emu/runner/identity.h"

namespace rocelab {
namespace {

void collect_lists(const ConfigNode& node, const std::string& path, std::string& text) {
  for (const auto& [key, member] : node.members) {
    const std::string here = path.empty() ? key : path + "." + key;
    if (here == "label" || here == "case" || here == "compare") continue;
    if (member.kind == ConfigNode::Kind::kTable) collect_lists(member, here, text);
    const bool tables = member.kind == ConfigNode::Kind::kArray && !member.items.empty() &&
                        member.items[0].kind == ConfigNode::Kind::kTable;
    if (tables) text += here + " = " + render(member) + "\n";
  }
}

void collect_places(const ConfigNode& node, const std::string& path,
                    std::map<std::string, std::string>& places) {
  for (const auto& [key, member] : node.members) {
    const std::string here = path.empty() ? key : path + "." + key;
    places[here] = member.place;
    collect_places(member, here, places);
  }
}

// `table`: the key of `node`.
void collect_files(const ConfigNode& node, std::string_view table, const std::filesystem::path& folder,
                   std::vector<std::filesystem::path>& files) {
  for (const auto& [key, member] : node.members) {
    if (key == "label" || key == "case") continue;
    const bool is_policy = key == "openqueue" || (key == "policy" && table == "policy_event");
    if ((is_policy || key == "cdf" || key == "file") && member.kind == ConfigNode::Kind::kString &&
        member.text != "builtin")
      files.push_back(named_file(member, folder));
    collect_files(member, key, folder, files);
  }
  for (const ConfigNode& item : node.items) collect_files(item, table, folder, files);
}

}  // namespace

bool is_of_preset(const std::string& place) {
  return place.starts_with(kPreset) || place.find(std::string(": ") + kPreset) != std::string::npos;
}

std::string lists_of(const ConfigNode& tree) {
  std::string text;
  collect_lists(tree, "", text);
  return text;
}

std::map<std::string, std::string> places_of(const ConfigNode& tree) {
  std::map<std::string, std::string> places;
  collect_places(tree, "", places);
  return places;
}

std::string place_of(const Settings& settings, std::string key) {
  while (true) {
    const auto found = settings.places.find(key);
    if (found != settings.places.end() && !is_of_preset(found->second)) return found->second;
    const std::size_t dot = key.rfind('.');
    if (dot == std::string::npos) return settings.places.at("topology");
    key.resize(dot);
  }
}

std::vector<std::filesystem::path> files_of(const ConfigNode& tree, const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  collect_files(tree, "", folder, files);
  return files;
}

}  // namespace rocelab
