// [[workload]]: groups of flows.
#include <algorithm>

#include "emu/runner/readers.h"

namespace rocelab {
namespace {

constexpr std::int64_t kMaxMessage = std::int64_t{1} << 31;  // IBTA 9.7.1
constexpr std::string_view kKindNames[] = {"incast", "list", "permutation", "poisson"};

void check_host(ConfigSection& section, const char* key, const Topology& topology, const std::string& name) {
  const std::uint32_t node = topology.find(name);
  if (node != Topology::kNoNode && topology.is_host(node)) return;
  std::vector<std::string> hosts;
  for (std::uint32_t h = 0; h < topology.hosts(); ++h) hosts.push_back(topology.nodes()[h].name);
  const std::string near = nearest(name, hosts);
  section.fail_at(
      key, "names no host: \"" + name + "\"" + (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
}

FlowOp read_op(ConfigSection& section) {
  return static_cast<FlowOp>(
      section.choice("op", {"send", "write", "read"}, static_cast<std::size_t>(FlowOp::kWrite)));
}

Bytes read_size(ConfigSection& section, const char* key) {
  const Bytes size = section.bytes(key, Bytes{});
  if (size.count() <= 0) section.fail_at(key, "must be more than 0");
  return size;
}

SizeSettings read_sizes(ConfigSection& section) {
  if (!section.has("size_min") && !section.has("size_max")) {
    section.require("size");
    const Bytes size = read_size(section, "size");
    return {size, size};
  }
  if (section.has("size")) section.fail_at("size", "excludes size_min and size_max");
  section.require("size_min");
  section.require("size_max");
  const SizeSettings sizes{read_size(section, "size_min"), read_size(section, "size_max")};
  if (sizes.max < sizes.min) section.fail_at("size_max", "is less than size_min");
  return sizes;
}

void read_incast(ConfigSection& section, WorkloadSettings& w, const Topology& topology) {
  section.require("receiver");
  w.receiver = section.text("receiver", "");
  check_host(section, "receiver", topology, w.receiver);
  if (std::find(w.senders.begin(), w.senders.end(), w.receiver) != w.senders.end())
    section.fail_at("senders", "holds the receiver \"" + w.receiver + "\"");
  if (w.senders.empty())
    for (std::uint32_t h = 0; h < topology.hosts(); ++h)
      if (topology.nodes()[h].name != w.receiver) w.senders.push_back(topology.nodes()[h].name);
  if (w.senders.empty()) section.fail_at("receiver", "is the only host: an incast needs senders");
}

void read_list(ConfigSection& section, WorkloadSettings& w, const Topology& topology) {
  for (ConfigSection& entry : section.tables("flow")) {
    for (const char* key : {"src", "dst", "size"}) entry.require(key);
    ListedFlow flow;
    flow.src = entry.text("src", "");
    flow.dst = entry.text("dst", "");
    check_host(entry, "src", topology, flow.src);
    check_host(entry, "dst", topology, flow.dst);
    if (flow.src == flow.dst) entry.fail_at("dst", "is the flow's source too");
    flow.size = read_size(entry, "size");
    flow.start = entry.duration("start", Duration{});
    flow.op = read_op(entry);
    entry.finish();
    w.flows.push_back(flow);
  }
  if (w.flows.empty())
    section.fail("workload \"" + w.name + "\" of kind \"list\" needs [[workload.flow]] entries");
}

void read_poisson(ConfigSection& section, WorkloadSettings& w) {
  section.require("load");
  section.require("duration");
  w.load = section.real("load", 0, 1e-6, 1);
  w.duration = section.duration("duration", Duration{});
  if (w.duration.ps() <= 0) section.fail_at("duration", "must be more than 0");
}

WorkloadSettings read_workload(ConfigSection& section, const Topology& topology) {
  WorkloadSettings w;
  section.require("kind");
  w.kind = static_cast<WorkloadKind>(section.choice("kind", {"incast", "list", "permutation", "poisson"}, 0));
  w.name = section.text("name", kKindNames[static_cast<std::size_t>(w.kind)]);
  if (w.name.empty() || w.name.find_first_of(" \t\n#") != std::string::npos)
    section.fail_at("name", "must be a word without spaces");
  if (w.kind != WorkloadKind::kList) {
    w.senders = section.texts("senders", {});
    for (const std::string& sender : w.senders) check_host(section, "senders", topology, sender);
    for (std::size_t i = 0; i < w.senders.size(); ++i)
      if (std::find(w.senders.begin(), w.senders.begin() + static_cast<std::ptrdiff_t>(i), w.senders[i]) !=
          w.senders.begin() + static_cast<std::ptrdiff_t>(i))
        section.fail_at("senders", "names \"" + w.senders[i] + "\" twice");
    w.size = read_sizes(section);
    w.op = read_op(section);
    w.start = section.duration("start", Duration{});
  }
  if (w.kind == WorkloadKind::kIncast) read_incast(section, w, topology);
  if (w.kind == WorkloadKind::kList) read_list(section, w, topology);
  if (w.kind == WorkloadKind::kPoisson) read_poisson(section, w);
  if (w.kind != WorkloadKind::kPoisson) w.jitter = section.duration("jitter", w.jitter);
  w.message_size = section.bytes("message_size", Bytes{});
  if (w.message_size.count() < 0 || w.message_size.count() > kMaxMessage)
    section.fail_at("message_size", "must be at most 2147483648B");
  w.qps = static_cast<std::uint32_t>(section.integer("qps", 1, 1, 1024));
  w.during = section.text("during", "");
  section.finish();
  return w;
}

}  // namespace

std::vector<WorkloadSettings> read_workloads(std::vector<ConfigSection> sections, const Topology& topology) {
  std::vector<WorkloadSettings> workloads;
  for (ConfigSection& section : sections) {
    workloads.push_back(read_workload(section, topology));
    for (std::size_t i = 0; i + 1 < workloads.size(); ++i)
      if (workloads[i].name == workloads.back().name)
        section.fail("two workloads are called \"" + workloads[i].name + "\"; give them a name each");
  }
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    const std::string& during = workloads[i].during;
    const auto named = [&](const WorkloadSettings& w) { return w.name == during; };
    if (!during.empty() && std::none_of(workloads.begin(), workloads.end(), named))
      sections[i].fail_at("during", "names no workload: \"" + during + "\"");
  }
  return workloads;
}

}  // namespace rocelab
