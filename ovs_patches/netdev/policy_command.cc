#include "ovs_patches/netdev/policy_command.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/quantity.h"
#include "emu/world/switch_policies.h"

namespace rocelab {
namespace {

constexpr std::size_t kMostBytesOfAFile = 64 << 10;

[[noreturn]] void fail(const std::string& why) { throw std::runtime_error(why); }

std::string read_file(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) fail(path.string() + ": is no file");
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostBytesOfAFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file && !file.eof()) fail(path.string() + ": cannot be read");
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMostBytesOfAFile) fail(path.string() + ": has more than 64 KB");
  return text;
}

// The program and what it uses, each once.
void read_files(const std::filesystem::path& path, const std::string& name, PolicySource& source) {
  for (const auto& [known, text] : source.files)
    if (known == name) return;
  if (source.files.size() >= 16) fail(path.string() + ": uses more than 16 files");
  source.files.emplace_back(name, read_file(path));
  const std::string text = source.files.back().second;
  for (const std::string& used : used_files(text)) read_files(path.parent_path() / used, used, source);
}

std::vector<std::uint32_t> switches_called(const lockstep::Segment& segment, const std::string& name) {
  std::vector<std::uint32_t> found;
  std::string all;
  for (std::uint32_t s = 0; s < segment.switches().size(); ++s) {
    all += std::string(all.empty() ? "" : ", ") + segment.switches()[s].name;
    if (name == "all" || name == segment.switches()[s].name) found.push_back(s);
  }
  if (found.empty()) fail("no switch " + name + ": there are " + all);
  return found;
}

}  // namespace

PolicyLoad read_load(const lockstep::Segment& segment, std::span<const std::string> words) {
  if (words.size() < 2)
    fail("write load SWITCH|all FILE|builtin [at=TIME] [change=drain|requeue] [NAME=VALUE]...");
  PolicyLoad load;
  load.switches = switches_called(segment, words[0]);
  PolicySource source;
  if (words[1] != "builtin") read_files(words[1], std::filesystem::path(words[1]).filename(), source);
  bool requeue = false;
  for (const std::string& word : words.subspan(2)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) fail("\"" + word + "\" is not NAME=VALUE");
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    if (name == "at") {
      load.at = Time::zero() + parse_duration(value);
    } else if (name == "change") {
      if (value != "drain" && value != "requeue") fail("change=" + value + ": it is drain or requeue");
      requeue = value == "requeue";
    } else {
      source.constants.emplace_back(name, value);
    }
  }
  if (source.files.empty() && !source.constants.empty()) fail("\"builtin\" has no constants to set");
  for (const std::uint32_t s : load.switches) {
    const SwitchEntry& entry = segment.switches()[s];
    const std::vector<PortConfig> ports = port_configs(segment.ports(), entry);
    const SwitchPolicies one{{source}, {{.requeue = requeue}}};
    load.changes.push_back(policy_changes(one, s, entry.config, ports).front());
    load.changes.back().by_hand = true;
  }
  return load;
}

std::string carry_out(Fabric& fabric, PolicyLoad load) {
  const Time at = load.at.value_or(fabric.now());
  if (at < fabric.now())
    fail("at=" + to_string(at) + " is over: experiment time is " + to_string(fabric.now()));
  for (const std::uint32_t s : load.switches)
    if (fabric.model(s).policy() == nullptr)
      fail(std::string("switch ") + fabric.segment().switches()[s].name +
           " has no policies to change: build the topology with --set switch.openqueue=builtin");
  for (std::size_t i = 0; i < load.switches.size(); ++i) {
    load.changes[i].at = at;
    fabric.add_policy(load.switches[i], std::move(load.changes[i]));
  }
  return "from " + to_string(at) + " on\n";
}

std::string show_policies(const Fabric& fabric, const std::string& name) {
  std::string text;
  char line[256];
  for (std::uint32_t s = 0; s < fabric.switches(); ++s) {
    const SwitchEntry& entry = fabric.segment().switches()[s];
    if (!name.empty() && name != entry.name) continue;
    const SwitchPolicy* policy = fabric.model(s).policy();
    if (policy == nullptr) {
      text += std::string(entry.name) + ": no policies\n";
      continue;
    }
    const PolicyInstance& current = policy->current();
    std::snprintf(line, sizeof line, "%s at %s: %s, %zu policies drain\n  %-24s %12s %10s %10s %10s %10s\n",
                  entry.name, to_string(fabric.now()).c_str(), current.program().name.c_str(),
                  policy->draining(), "queue", "max", "curr", "peak", "dropped", "total");
    text += line;
    for (std::uint32_t q = 0; q < current.program().queues.size(); ++q) {
      const PolicyQueue& queue = current.program().queues[q];
      const PolicyInstance::QueueCounts& counts = current.counts(q);
      if (counts.arrived == 0) continue;
      const std::int64_t now = queue.in_packets ? counts.packets : counts.bytes;
      const std::uint64_t peak = queue.in_packets ? counts.peak_packets : counts.peak_bytes;
      std::snprintf(line, sizeof line, "  %-24s %10ld %s %10ld %10lu %10lu %10lu\n", queue.name.c_str(),
                    queue.size, queue.in_packets ? "p" : "B", now, peak, counts.dropped, counts.arrived);
      text += line;
    }
  }
  if (text.empty()) fail("no switch " + name);
  return text;
}

}  // namespace rocelab
