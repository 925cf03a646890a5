#include "emu/world/switch_policies.h"

#include <algorithm>
#include <stdexcept>

#include "base/check.h"
#include "ovs_patches/openqueue/builtin.h"

namespace rocelab {
namespace {

void put(std::string& text, std::uint64_t number) { text += std::to_string(number) + " "; }
void put(std::string& text, const std::string& word) {
  put(text, word.size());
  text += word;
}
void put(std::string& text, const std::vector<std::pair<std::string, std::string>>& pairs) {
  put(text, pairs.size());
  for (const auto& [name, value] : pairs) put(text, name), put(text, value);
}

class Unpacker {
 public:
  explicit Unpacker(std::string_view text) : rest_(text) {}
  std::uint64_t number() {
    const std::size_t end = rest_.find(' ');
    RL_CHECK(end != std::string_view::npos);
    const std::uint64_t value = std::stoull(std::string(rest_.substr(0, end)));
    rest_.remove_prefix(end + 1);
    return value;
  }
  std::string word() {
    const std::uint64_t size = number();
    RL_CHECK(size <= rest_.size());
    std::string found(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return found;
  }
  std::vector<std::pair<std::string, std::string>> pairs() {
    std::vector<std::pair<std::string, std::string>> found(number());
    for (auto& [name, value] : found) {
      name = word();
      value = word();
    }
    return found;
  }

 private:
  std::string_view rest_;
};

}  // namespace

std::string packed(const SwitchPolicies& policies) {
  std::string text;
  if (policies.empty()) return text;
  put(text, policies.sources.size());
  for (const PolicySource& source : policies.sources) {
    put(text, source.files);
    put(text, source.constants);
  }
  put(text, policies.events.size());
  for (const PolicyEvent& event : policies.events) {
    put(text, static_cast<std::uint64_t>(event.at.ps()));
    put(text, event.source);
    put(text, event.requeue);
    put(text, event.switches.size());
    for (const std::uint32_t index : event.switches) put(text, index);
  }
  return text;
}

SwitchPolicies unpacked(std::string_view text) {
  SwitchPolicies policies;
  if (text.empty()) return policies;
  Unpacker from(text);
  policies.sources.resize(from.number());
  for (PolicySource& source : policies.sources) {
    source.files = from.pairs();
    source.constants = from.pairs();
  }
  policies.events.resize(from.number());
  for (PolicyEvent& event : policies.events) {
    event.at = Duration::from_ps(static_cast<std::int64_t>(from.number()));
    event.source = static_cast<std::uint32_t>(from.number());
    event.requeue = from.number() != 0;
    event.switches.resize(from.number());
    for (std::uint32_t& index : event.switches) index = static_cast<std::uint32_t>(from.number());
  }
  return policies;
}

PolicySource source_for(const PolicySource& source, const SwitchConfig& config) {
  if (!source.files.empty()) return source;
  return {{{"builtin", builtin_policy(config)}}, source.constants};
}

std::vector<PolicyChange> policy_changes(const SwitchPolicies& policies, std::uint32_t switch_index,
                                         const SwitchConfig& config, std::span<const PortConfig> ports) {
  std::vector<PolicyChange> changes;
  std::vector<std::shared_ptr<const PolicyProgram>> programs(policies.sources.size());
  for (const PolicyEvent& event : policies.events) {
    if (!event.switches.empty() && std::ranges::count(event.switches, switch_index) == 0) continue;
    std::shared_ptr<const PolicyProgram>& program = programs[event.source];
    if (program == nullptr) {
      const CompiledPolicy compiled =
          compile_policy(source_for(policies.sources[event.source], config), config, ports);
      if (compiled.program == nullptr) {
        std::string text;
        for (const PolicyDiagnostic& diagnostic : compiled.diagnostics)
          if (!diagnostic.warning) text += (text.empty() ? "" : "\n") + to_text(diagnostic);
        throw std::runtime_error(text);
      }
      program = compiled.program;
    }
    const Time at = Time::zero() + event.at;
    if (!changes.empty() && changes.back().at == at) changes.pop_back();
    changes.push_back({at, program, event.requeue});
  }
  return changes;
}

std::string policy_json(const SwitchPolicy& policy) {
  const auto quoted = [](const std::string& text) {  // names of files may hold anything
    std::string result = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') result += '\\';
      result += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
    return result + "\"";
  };
  std::string text;
  for (const SwitchPolicy::InForce& each : policy.history())
    text += (text.empty() ? "{\"policies\": [" : ", ") + std::string("{\"at_ps\": ") +
            std::to_string(each.at.ps()) + ", \"program\": " + quoted(each.program->name) +
            ", \"id\": " + std::to_string(each.program->id) +
            ", \"by_hand\": " + (each.by_hand ? "true}" : "false}");
  text += "], \"queues\": [";
  bool first = true;
  const PolicyInstance& current = policy.current();
  for (std::uint32_t q = 0; q < current.program().queues.size(); ++q) {
    const PolicyQueue& queue = current.program().queues[q];
    const PolicyInstance::QueueCounts& counts = current.counts(q);
    if (counts.arrived == 0) continue;
    const std::int64_t now = queue.in_packets ? counts.packets : counts.bytes;
    const std::uint64_t peak = queue.in_packets ? counts.peak_packets : counts.peak_bytes;
    text += (first ? "" : ", ") + std::string("{\"queue\": ") + quoted(queue.name) + ", \"unit\": \"" +
            (queue.in_packets ? "packets" : "bytes") + "\", \"max\": " + std::to_string(queue.size) +
            ", \"curr\": " + std::to_string(now) + ", \"peak\": " + std::to_string(peak) +
            ", \"dropped\": " + std::to_string(counts.dropped) +
            ", \"total\": " + std::to_string(counts.arrived) + "}";
    first = false;
  }
  return text + "]}";
}

}  // namespace rocelab
