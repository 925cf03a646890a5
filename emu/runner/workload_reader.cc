// [[workload]]: groups of flows.
#include <algorithm>
#include <array>
#include <unordered_set>

#include "emu/runner/arrivals.h"
#include "emu/runner/connection_matrix.h"
#include "emu/runner/offered_load.h"
#include "emu/runner/quantity.h"
#include "emu/runner/readers.h"
#include "emu/runner/traffic_file.h"

namespace rocelab {
namespace {

constexpr std::int64_t kMaxMessage = std::int64_t{1} << 31;  // IBTA 9.7.1
constexpr std::int64_t kMaxFlows = 10'000'000, kMaxMessages = 10'000'000;
constexpr std::array<std::string_view, 7> kKindNames = {"incast",     "list", "permutation", "poisson",
                                                        "all-to-all", "file", "stream"};

std::uint32_t find_host(ConfigSection& section, const char* key, const Topology& topology,
                        const std::string& name) {
  const std::uint32_t node = topology.find(name);
  if (node != Topology::kNoNode && topology.is_host(node)) return node;
  std::vector<std::string> hosts;
  for (std::uint32_t h = 0; h < topology.hosts(); ++h) hosts.push_back(topology.nodes()[h].name);
  const std::string near = nearest(name, hosts);
  section.fail_at(
      key, "names no host: \"" + name + "\"" + (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
}

// Of datagrams SEND is what there is.
FlowOp read_op(ConfigSection& section, FlowService service) {
  const FlowOp usual = service == FlowService::kUd ? FlowOp::kSend : FlowOp::kWrite;
  const auto op =
      static_cast<FlowOp>(section.choice("op", {"send", "write", "read"}, static_cast<std::size_t>(usual)));
  if (service == FlowService::kUd && op != FlowOp::kSend)
    section.fail_at("op", "must be \"send\" over service \"ud\": it has nothing else");
  if (service == FlowService::kUc && op == FlowOp::kRead)
    section.fail_at("op", "must be \"send\" or \"write\" over service \"uc\": it has no READ");
  return op;
}

Bytes read_size(ConfigSection& section, const char* key) {
  section.require(key);
  const Bytes size = section.bytes(key, Bytes{});
  if (size.count() <= 0) section.fail_at(key, "must be more than 0");
  return size;
}

// Which hosts there are, and what their NICs say.
struct World {
  const Topology& topology;
  const NicConfig& nic;
  const std::filesystem::path& folder;
};

// One of: size; size_min with size_max; cdf.
SizeSettings read_sizes(ConfigSection& section, const std::filesystem::path& folder) {
  for (const char* key : {"size_min", "size_max", "cdf"})
    if (section.has(key) && section.has("size"))
      section.fail_at("size", std::string("excludes ") + key + ": sizes come from one of them");
  if (section.has("cdf")) {
    if (section.has("size_min") || section.has("size_max"))
      section.fail_at("cdf", "excludes size_min and size_max");
    const std::filesystem::path file = section.file("cdf", folder);
    SizeSettings sizes;
    const auto form = static_cast<CdfForm>(section.choice("cdf_form", {"linear", "steps"}, 0));
    sizes.cdf = SizeCdf::parse(section.content("cdf", file), file.string(), form);
    sizes.min = sizes.cdf.at(0);
    sizes.max = sizes.cdf.largest();
    return sizes;
  }
  if (section.has("cdf_form")) section.fail_at("cdf_form", "needs a cdf: it says how its lines are meant");
  if (!section.has("size_min") && !section.has("size_max")) {
    const Bytes size = read_size(section, "size");
    return {size, size};
  }
  const SizeSettings sizes{read_size(section, "size_min"), read_size(section, "size_max")};
  if (sizes.max < sizes.min) section.fail_at("size_max", "is less than size_min");
  return sizes;
}

std::vector<std::uint32_t> read_hosts(ConfigSection& section, const char* key, const Topology& topology) {
  std::vector<std::uint32_t> hosts;
  std::unordered_set<std::uint32_t> seen;
  for (const std::string& name : section.texts(key, {})) {
    hosts.push_back(find_host(section, key, topology, name));
    if (!seen.insert(hosts.back()).second) section.fail_at(key, "names \"" + name + "\" twice");
  }
  return hosts;
}

// When requests come: `repeats` of them, one `period` apart, or with exponential gaps of mean `every`.
void read_requests(ConfigSection& section, WorkloadSettings& w, std::size_t fan_in) {
  IncastSettings& incast = w.incast;
  if (section.has("every")) {
    for (const char* key : {"period", "repeats"})
      if (section.has(key))
        section.fail_at("every", std::string("excludes ") + key + ": requests come by one of them");
    section.require("duration");
    incast.every = section.duration("every", Duration{});
    incast.duration = section.duration("duration", Duration{});
    if (incast.every.ps() <= 0) section.fail_at("every", "must be more than 0");
    if (incast.duration.ps() <= 0) section.fail_at("duration", "must be more than 0");
  } else {
    if (section.has("duration")) section.fail_at("duration", "needs every: the mean time between requests");
    incast.repeats = static_cast<std::uint32_t>(section.integer("repeats", 1, 1, 1'000'000));
    incast.period = section.duration("period", Duration{});
    if (incast.repeats > 1 && incast.period.ps() <= 0)
      section.fail_at("period", "must be more than 0 where an incast repeats");
    if (incast.period > kLongestDuration / incast.repeats)
      section.fail_at("period", "makes the last request begin after " + to_string(kLongestDuration));
    if (static_cast<std::int64_t>(fan_in) * incast.repeats > kMaxFlows)
      section.fail_at("repeats", "makes more than " + std::to_string(kMaxFlows) + " flows");
  }
  if (incast.has_rate()) w.overload = section.boolean("overload", false);
}

void read_incast(ConfigSection& section, WorkloadSettings& w, const World& world) {
  const Topology& topology = world.topology;
  IncastSettings& incast = w.incast;
  section.require("receiver");
  std::size_t eligible = w.senders.empty() ? topology.hosts() - 1 : w.senders.size();
  incast.each = section.is_word("receiver", "random-each", false);
  if (incast.each || section.is_word("receiver", "random", false)) {
    eligible = std::min<std::size_t>(eligible, topology.hosts() - 1);
    if (!w.senders.empty() && eligible == w.senders.size()) --eligible;  // it may be one of them
  } else {
    const std::string name = section.text("receiver", "");
    incast.receiver = find_host(section, "receiver", topology, name);
    if (std::find(w.senders.begin(), w.senders.end(), incast.receiver) != w.senders.end())
      section.fail_at("senders", "holds the receiver \"" + name + "\": a flow to itself crosses no link");
  }
  if (eligible == 0) section.fail_at("receiver", "leaves no senders: an incast needs some");
  incast.fan_in = static_cast<std::uint32_t>(
      section.integer("fan_in", 0, 0, static_cast<std::int64_t>(topology.hosts())));
  if (incast.fan_in > eligible)
    section.fail_at("fan_in", "= " + std::to_string(incast.fan_in) + " is more than the " +
                                  std::to_string(eligible) + " hosts that can send");
  if (section.has("total")) {
    for (const char* key : {"size", "size_min", "size_max", "cdf"})
      if (section.has(key)) section.fail_at("total", std::string("excludes ") + key);
    incast.total = read_size(section, "total");
    const auto stripes = static_cast<std::int64_t>(incast.fan_in == 0 ? eligible : incast.fan_in);
    if (incast.total.count() < stripes) section.fail_at("total", "is less than a byte for each sender");
  } else {
    w.size = read_sizes(section, world.folder);
  }
  read_requests(section, w, incast.fan_in == 0 ? eligible : incast.fan_in);
}

void read_list(ConfigSection& section, WorkloadSettings& w, const World& world) {
  const Topology& topology = world.topology;
  for (ConfigSection& entry : section.tables("flow")) {
    for (const char* key : {"src", "dst"}) entry.require(key);
    ListedFlow flow;
    flow.src = find_host(entry, "src", topology, entry.text("src", ""));
    flow.dst = find_host(entry, "dst", topology, entry.text("dst", ""));
    if (flow.src == flow.dst) entry.fail_at("dst", "is the flow's source too");
    flow.size = read_size(entry, "size");
    flow.start = entry.duration("start", Duration{});
    flow.op = read_op(entry, w.service);
    flow.dscp = read_dscp(entry, "", world.nic.class_map);
    if (entry.has("stop")) {
      if (flow.op == FlowOp::kRead) entry.fail_at("stop", "needs op = \"send\" or \"write\"");
      flow.stop = entry.duration("stop", Duration{});
      if (*flow.stop <= w.start + flow.start) entry.fail_at("stop", "must be after the flow's start");
    }
    entry.finish();
    w.flows.push_back(flow);
  }
  if (w.flows.empty())
    section.fail("workload \"" + w.name + "\" of kind \"list\" needs [[workload.flow]] entries");
}

void read_file(ConfigSection& section, WorkloadSettings& w, const World& world) {
  const Topology& topology = world.topology;
  for (const char* key : {"file", "dialect"}) section.require(key);
  const std::filesystem::path file = section.file("file", world.folder);
  const std::size_t dialect = section.choice("dialect", {"hpcc", "conweave", "ns3-rdma", "htsim"}, 0);
  const bool htsim = dialect == 3, ns3_rdma = dialect == static_cast<std::size_t>(TrafficDialect::kNs3Rdma);
  TrafficFileOptions options;
  options.nic = world.nic;
  options.epoch = section.duration("epoch", htsim ? Duration{} : options.epoch);
  if (ns3_rdma) options.packet_payload = section.bytes("packet_payload", options.packet_payload);
  if (options.packet_payload.count() <= 0) section.fail_at("packet_payload", "must be more than 0");
  w.op = read_op(section, w.service);
  if (htsim && w.service != FlowService::kRc)
    section.fail_at("service", "must be \"rc\": flows of a connection matrix may wait for others' ends");
  const std::string text = section.content("file", file);
  w.flows = htsim ? parse_connection_matrix(text, file.string(), w.op, options.epoch, topology)
                  : listed_flows(parse_traffic(text, file.string(), static_cast<TrafficDialect>(dialect)),
                                 file.string(), w, options, topology);
}

// Poisson: by the load of the senders' links, or by the mean time between flows of the whole network.
void read_rate(ConfigSection& section, PoissonSettings& poisson) {
  if (!section.has("every")) {
    section.require("load");
    poisson.load = section.real("load", 0, 1e-6, 1);
    poisson.network = section.choice("arrivals", {"senders", "network"}, 0) == 1;
    return;
  }
  if (section.has("load")) section.fail_at("every", "excludes load: flows come by one of them");
  poisson.every = section.duration("every", Duration{});
  if (poisson.every.ps() <= 0) section.fail_at("every", "must be more than 0");
  poisson.network = section.choice("arrivals", {"senders", "network"}, 1) == 1;
  if (!poisson.network)
    section.fail_at("arrivals", "must be \"network\" with every: load is of single senders");
}

void read_poisson(ConfigSection& section, WorkloadSettings& w, const World& world) {
  if (w.receivers.size() == 1 && (w.senders.empty() || std::ranges::count(w.senders, w.receivers[0]) > 0))
    section.fail_at("receivers", "is one host, which is among the senders: it would send to itself");
  w.size = read_sizes(section, world.folder);
  read_rate(section, w.poisson);
  if (!section.has("duration") && !section.has("flows"))
    section.fail("workload \"" + w.name + "\" of kind \"poisson\" needs a duration or a number of flows");
  if (section.has("duration")) w.poisson.duration = section.duration("duration", Duration{});
  if (w.poisson.duration.ps() <= 0) section.fail_at("duration", "must be more than 0");
  w.poisson.flows = static_cast<std::uint64_t>(section.integer("flows", 0, 0, kMaxFlows));
  if (w.poisson.flows == 0 && !section.has("duration")) section.fail_at("flows", "must be more than 0");
  if (world.topology.hosts() < 2) section.fail_at("kind", "needs at least two hosts");
  w.overload = section.boolean("overload", false);
}

// receivers = "other-switches", or names.
void read_receivers(ConfigSection& section, WorkloadSettings& w, const Topology& topology) {
  const ConfigNode* node = section.node("receivers");
  w.behind_other_switches = node != nullptr && node->kind == ConfigNode::Kind::kString &&
                            section.is_word("receivers", "other-switches", false);
  if (!w.behind_other_switches) {
    w.receivers = read_hosts(section, "receivers", topology);
    return;
  }
  for (const std::uint32_t sender : senders_of(w, topology))
    if (receivers_of(w, topology, sender).empty())
      section.fail_at("receivers", "= \"other-switches\" leaves \"" + topology.nodes()[sender].name +
                                       "\" nobody to send to: all hosts are behind its switch");
}

// From one to many, from many to one, or between groups: somebody sends to somebody else.
void check_pairs(ConfigSection& section, const WorkloadSettings& w, const Topology& topology) {
  const bool one = w.senders.size() == 1 || (w.senders.empty() && topology.hosts() == 1);
  if (one && w.receivers.size() == 1 && w.receivers[0] == (w.senders.empty() ? 0 : w.senders[0]))
    section.fail_at("receivers", "is the only sender, too: it would send to itself");
}

void read_kind(ConfigSection& section, WorkloadSettings& w, const World& world) {
  const Topology& topology = world.topology;
  if (w.kind == WorkloadKind::kList) return read_list(section, w, world);
  if (w.kind == WorkloadKind::kFile) return read_file(section, w, world);
  w.senders = read_hosts(section, "senders", topology);
  w.op = read_op(section, w.service);
  if (w.kind == WorkloadKind::kIncast) return read_incast(section, w, world);
  if (w.kind != WorkloadKind::kPermutation) read_receivers(section, w, topology);
  if (w.kind == WorkloadKind::kPoisson) return read_poisson(section, w, world);
  if (w.kind != WorkloadKind::kStream)
    w.size = read_sizes(section, world.folder);
  else if (w.receivers.empty() && !w.behind_other_switches)
    w.receivers = w.senders;
  if (w.kind != WorkloadKind::kPermutation && !w.receivers.empty()) return check_pairs(section, w, topology);
  if ((w.senders.empty() ? topology.hosts() : w.senders.size()) < 2)
    section.fail_at("kind", "needs at least two hosts");
}

Bytes largest_flow(const WorkloadSettings& w) {
  Bytes largest = std::max(w.size.max, w.incast.total);
  for (const ListedFlow& flow : w.flows) largest = std::max(largest, flow.size);
  return largest;
}

WorkloadSettings read_workload(ConfigSection& section, const World& world) {
  WorkloadSettings w;
  section.require("kind");
  w.kind = static_cast<WorkloadKind>(section.choice("kind", kKindNames, 0));
  w.name = section.text("name", kKindNames[static_cast<std::size_t>(w.kind)]);
  if (w.name.empty() || w.name.find_first_of(" \t\n#") != std::string::npos)
    section.fail_at("name", "must be a word without spaces");
  w.start = section.duration("start", Duration{});
  if (w.start.ps() < 0) section.fail_at("start", "must not be negative");
  w.dscp = read_dscp(section, "", world.nic.class_map);
  w.service = static_cast<FlowService>(section.choice("service", {"rc", "uc", "ud"}, 0));
  read_kind(section, w, world);
  if (w.kind == WorkloadKind::kFile) w.jitter = Duration{};
  if (w.kind != WorkloadKind::kPoisson) w.jitter = section.duration("jitter", w.jitter);
  w.message_size = section.bytes("message_size", Bytes{});
  if (w.message_size.count() < 0 || w.message_size.count() > kMaxMessage)
    section.fail_at("message_size", "must be at most 2147483648B");
  if (w.kind == WorkloadKind::kStream) read_stream(section, w);
  if (w.message_size.count() > 0 && largest_flow(w).count() / w.message_size.count() >= kMaxMessages)
    section.fail_at("message_size", "makes more than " + std::to_string(kMaxMessages) +
                                        " messages of a flow of " + to_string(largest_flow(w)));
  w.qps = static_cast<std::uint32_t>(section.integer("qps", 1, 1, 1024));
  if (w.service == FlowService::kUd && w.qps > 1)
    section.fail_at("qps", "must be 1 over service \"ud\": datagrams of a flow go over one queue pair");
  w.during = section.text("during", "");
  if (w.kind != WorkloadKind::kStream) read_stop(section, w);
  if (w.poisson.every > Duration{})
    w.poisson.load = 8 * mean_wire_bytes(w, world.nic.active_mtu) /
                     (w.poisson.every.seconds() * bps_of(world.topology, senders_of(w, world.topology)));
  section.finish();
  return w;
}

}  // namespace

std::vector<WorkloadSettings> read_workloads(std::vector<ConfigSection> sections, const Topology& topology,
                                             const NicConfig& nic, const std::filesystem::path& folder) {
  const std::uint32_t path_mtu = nic.active_mtu;
  std::vector<WorkloadSettings> workloads;
  for (ConfigSection& section : sections) {
    workloads.push_back(read_workload(section, {topology, nic, folder}));
    for (std::size_t i = 0; i + 1 < workloads.size(); ++i)
      if (workloads[i].name == workloads.back().name)
        section.fail("two workloads are called \"" + workloads[i].name + "\"; give them a name each");
  }
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    if (expected_flows(workloads[i], topology, path_mtu) > static_cast<double>(kMaxFlows))
      sections[i].fail_at("duration", "makes more than " + std::to_string(kMaxFlows) + " flows at this load");
    const std::string& during = workloads[i].during;
    const auto named = [&](const WorkloadSettings& w) { return w.name == during; };
    if (!during.empty() && std::none_of(workloads.begin(), workloads.end(), named))
      sections[i].fail_at("during", "names no workload: \"" + during + "\"");
  }
  if (const auto over = find_overload(workloads, topology, path_mtu))
    sections[over->workload].fail_at(workloads[over->workload].poisson.every > Duration{}       ? "every"
                                     : workloads[over->workload].kind == WorkloadKind::kPoisson ? "load"
                                     : workloads[over->workload].kind == WorkloadKind::kStream  ? "rate"
                                     : workloads[over->workload].incast.every.ps() > 0          ? "every"
                                                                                                : "period",
                                     over->what + ": lower the load, or say overload = true");
  return workloads;
}

}  // namespace rocelab
