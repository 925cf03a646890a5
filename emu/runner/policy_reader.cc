// switch.openqueue and [[policy_event]]: the queueing policies of the switches.
#include <algorithm>
#include <set>

#include "emu/runner/readers.h"
#include "emu/runner/schema_reader.h"
#include "emu/world/switch_policies.h"
#include "ovs_patches/openqueue/builtin.h"

namespace rocelab {
namespace {

constexpr std::string_view kBuiltin = "builtin";
constexpr std::string_view kChanges[] = {"drain", "requeue"};
constexpr auto kPolicyEvent = fields(
    field<&PolicyEvent::at>("at", "experiment time; before all arrivals of that instant").at_least(0_ps),
    choice<&PolicyEvent::requeue>("change", kChanges,
                                  "frames that wait then leave by the policy that admitted them, ahead of "
                                  "later ones, or join the new one"));

// The program and the files that it uses, with theirs.
void read_files(ConfigSection& section, std::string_view key, const std::filesystem::path& file,
                const std::string& name, PolicySource& source) {
  for (const auto& [known, text] : source.files)
    if (known == name) return;
  source.files.emplace_back(name, section.content(key, file));
  std::size_t bytes = 0;
  for (const auto& [known, text] : source.files) bytes += text.size();
  if (bytes > kMostPolicyText / 4) section.fail_at(key, "uses files of more than 1 MB");
  const std::string text = source.files.back().second;
  for (const std::string& used : used_files(text))
    read_files(section, key, file.parent_path() / used, used, source);
}

PolicySource read_source(ConfigSection& section, std::string_view key, const std::filesystem::path& folder) {
  PolicySource source;
  const std::string name = section.text(key, kBuiltin);
  if (name != kBuiltin)
    read_files(section, key, section.file(key, folder), std::filesystem::path(name).filename(), source);
  return source;
}

// Values of the program's constants: numbers, or texts such as "240KB".
void read_constants(ConfigSection section, PolicySource& source) {
  if (section.whole() == nullptr) return;
  if (source.files.empty()) section.fail("gives values to constants of a program, and \"builtin\" has none");
  for (const auto& [name, value] : section.whole()->members) {
    const bool is_text = value.kind == ConfigNode::Kind::kString;
    if (!is_text && value.kind != ConfigNode::Kind::kInteger)
      section.fail_at(name, "must be a whole number or a text such as \"240KB\"");
    constexpr std::int64_t kMost = std::int64_t{1} << 62;
    source.constants.emplace_back(
        name, is_text ? section.text(name, "") : std::to_string(section.integer(name, 0, -kMost, kMost)));
  }
}

std::vector<std::uint32_t> read_switches(ConfigSection& section, const Topology& topology) {
  std::vector<std::uint32_t> switches;
  for (const std::string& name : section.texts("switches", {})) {
    const std::uint32_t node = find_node(section, "switches", topology, name);
    if (topology.is_host(node)) section.fail_at("switches", "names the host \"" + name + "\"");
    switches.push_back(node - topology.hosts());
  }
  return switches;
}

// Other labels may need the keys, so that they are no error.
std::vector<std::string> replaced(ConfigSection& section) {
  std::vector<std::string> warnings;
  for (const char* key : {"lossy_buffer", "alpha_lossy", "ets_weights", "strict_classes"})
    if (const ConfigNode* node = section.node(key))
      warnings.push_back(node->place + ": " + section.path_of(key) +
                         " means nothing beside switch.openqueue: the program says it");
  return warnings;
}

}  // namespace

Schema<PolicyEvent> policy_event_schema() { return kPolicyEvent; }

PolicySettings read_policies(ConfigSection section, std::vector<ConfigSection> events,
                             const Topology& topology, const std::filesystem::path& folder) {
  PolicySettings settings;
  SwitchPolicies& policies = settings.policies;
  const auto add = [&](ConfigSection& at, std::string_view key, ConfigSection constants, PolicyEvent event) {
    event.source = static_cast<std::uint32_t>(policies.sources.size());
    policies.sources.push_back(read_source(at, key, folder));
    read_constants(std::move(constants), policies.sources.back());
    settings.keys.push_back(at.path_of(key));
    policies.events.push_back(std::move(event));
  };
  const ConfigNode* given = section.node("openqueue");
  if (given != nullptr && given->kind == ConfigNode::Kind::kTable) {
    ConfigSection table = section.table("openqueue");
    table.require("file");
    add(table, "file", table.table("set"), {});
    table.finish();
  } else if (given != nullptr || !events.empty()) {
    add(section, "openqueue", {nullptr, "", nullptr}, {});
  }
  for (ConfigSection& event : events) {
    for (const std::string_view key : kPolicyEventRequires) event.require(key);
    event.require("policy");
    PolicyEvent read;
    read_schema(event, policy_event_schema(), read);
    read.switches = read_switches(event, topology);
    add(event, "policy", event.table("set"), std::move(read));
    event.finish();
  }
  std::ranges::stable_sort(policies.events, {}, &PolicyEvent::at);
  const bool builtin = std::ranges::any_of(policies.sources, [](const auto& s) { return s.files.empty(); });
  if (!policies.empty() && !builtin) settings.warnings = replaced(section);
  if (packed(policies).size() > kMostPolicyText)
    section.fail_at("openqueue", "and [[policy_event]] have programs of more than 4 MB together");
  return settings;
}

}  // namespace rocelab
