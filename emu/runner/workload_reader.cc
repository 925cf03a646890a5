// [[workload]]: groups of flows.
#include <algorithm>
#include <unordered_set>

#include "base/nearest.h"
#include "base/quantity.h"
#include "emu/runner/offered_load.h"
#include "emu/runner/readers.h"
#include "emu/runner/schema_reader.h"
#include "emu/runner/workload_parts.h"
#include "emu/runner/workload_type.h"

namespace rocelab {
namespace {

constexpr std::int64_t kMaxMessage = std::int64_t{1} << 31;  // IBTA 9.7.1
constexpr std::int64_t kMaxMessages = 10'000'000;

}  // namespace

std::uint32_t find_host(ConfigSection& section, const char* key, const Topology& topology,
                        const std::string& name) {
  const std::uint32_t node = topology.find(name);
  if (node != Topology::kNoNode && topology.is_host(node)) return node;
  refuse_machine(section, key, topology, name);
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

Bytes read_size(ConfigSection& section, std::string_view key) {
  section.require(key);
  const Bytes size = section.bytes(key, Bytes{});
  if (size.count() <= 0) section.fail_at(key, "must be more than 0");
  return size;
}

// One of: size; size_min with size_max; cdf.
SizeSettings read_sizes(ConfigSection& section, const std::filesystem::path& folder,
                        const std::string& prefix) {
  const std::string size = prefix + "size", least = prefix + "size_min", most = prefix + "size_max",
                    cdf = prefix + "cdf", form = prefix + "cdf_form";
  const auto has = [&](const std::string& key) { return section.has(key); };
  for (const std::string& key : {least, most, cdf})
    if (has(key) && has(size)) section.fail_at(size, "excludes " + key + ": sizes come from one of them");
  if (has(cdf)) {
    if (has(least) || has(most)) section.fail_at(cdf, "excludes " + least + " and " + most);
    const std::filesystem::path file = section.file(cdf, folder);
    SizeSettings sizes;
    const auto meant = static_cast<CdfForm>(section.choice(form, {"linear", "steps"}, 0));
    sizes.cdf = SizeCdf::parse(section.content(cdf, file), file.string(), meant);
    sizes.min = sizes.cdf.at(0);
    sizes.max = sizes.cdf.largest();
    return sizes;
  }
  if (has(form)) section.fail_at(form, "needs a cdf: it says how its lines are meant");
  if (!has(least) && !has(most)) {
    const Bytes each = read_size(section, size);
    return {each, each};
  }
  const SizeSettings sizes{read_size(section, least), read_size(section, most)};
  if (sizes.max < sizes.min) section.fail_at(most, "is less than " + least);
  return sizes;
}

std::vector<std::uint32_t> read_hosts(ConfigSection& section, const char* key, const Topology& topology) {
  std::vector<std::uint32_t> hosts;
  std::unordered_set<std::uint32_t> seen;
  for (const std::string& name : section.texts(key, {})) {
    std::vector<std::uint32_t> named = topology.find_nics(name);
    if (named.empty()) named = {find_host(section, key, topology, name)};
    for (const std::uint32_t host : named) {
      hosts.push_back(host);
      if (!seen.insert(host).second) section.fail_at(key, "names \"" + name + "\" twice");
    }
  }
  return hosts;
}

namespace {

// receivers = "other-switches", or names; and how far they must be.
void read_receivers(ConfigSection& section, WorkloadSettings& w, const Topology& topology) {
  const ConfigNode* node = section.node("receivers");
  const bool others = node != nullptr && node->kind == ConfigNode::Kind::kString &&
                      section.is_word("receivers", "other-switches", false);
  if (!others) w.receivers = read_hosts(section, "receivers", topology);
  w.min_switches = static_cast<std::uint32_t>(section.integer("min_switches", others ? 2 : 1, 1, 64));
  if (w.min_switches == 1) return;
  for (const std::uint32_t sender : senders_of(w, topology))
    if (receivers_of(w, topology, sender).empty()) {
      const std::string leaves = "leaves \"" + topology.nodes()[sender].name + "\" nobody to send to";
      if (section.has("min_switches")) section.fail_at("min_switches", leaves + ": no receiver is so far");
      section.fail_at("receivers", "= \"other-switches\" " + leaves + ": all hosts are behind its switch");
    }
}

// When it stops, and how long its receivers wait for what is on its way.
void read_stop(ConfigSection& section, WorkloadSettings& w) {
  const bool any = section.has("stop") ||
                   std::ranges::any_of(w.flows, [](const ListedFlow& f) { return f.stop.has_value(); });
  if (section.has("stop")) {
    w.stop = section.duration("stop", w.stop);
    if (w.stop <= w.start) section.fail_at("stop", "must be after the start, " + to_string(w.start));
    if (w.op == FlowOp::kRead ||
        std::ranges::any_of(w.flows, [](const ListedFlow& f) { return f.op == FlowOp::kRead; }))
      section.fail_at("stop",
                      "needs op = \"send\" or \"write\": a READ's source does not know when it is over");
    if (std::ranges::any_of(w.flows, [](const ListedFlow& f) { return f.after_count > 0; }))
      section.fail_at("stop", "is not for flows that wait for others: when they would begin is not known");
  }
  const bool waits = any || w.service != FlowService::kRc || w.queue_pairs == QueuePairs::kPerFlow;
  if (section.has("settle") && !waits)
    section.fail_at(
        "settle",
        "needs a stop, service \"uc\" or \"ud\", or queue_pairs = \"per-flow\": receivers wait so "
        "long for the rest");
  if (!waits) return;
  w.settle = section.duration("settle", w.settle);
  if (w.settle.ps() < 0 || w.settle > kLongestDuration)
    section.fail_at("settle", "must be from 0us to " + to_string(kLongestDuration));
}

// Which NICs of hosts with several send to which.
void read_nic_pairs(ConfigSection& section, WorkloadSettings& w, const Topology& topology) {
  if (topology.nics_per_host == 1) {
    if (section.has("nic")) section.fail_at("nic", "needs hosts with several NICs: topology.nics_per_host");
    return;
  }
  w.nic_pairs = static_cast<NicPairs>(section.choice("nic", {"same-rail", "any"}, 0));
  if (w.nic_pairs == NicPairs::kAny)
    for (std::uint32_t nic = 1; nic < topology.nics_per_host; ++nic)
      if (!topology.reaches(0, nic))
        section.fail_at("nic", "= \"any\" needs ways between all NICs, and \"" + topology.nodes()[0].name +
                                   "\" and \"" + topology.nodes()[nic].name +
                                   "\" are in different planes: use \"same-rail\"");
}

// The keys that kinds share and of which this one has some.
void read_shared(ConfigSection& section, WorkloadSettings& w, WorkloadKeys keys,
                 const WorkloadContext& context) {
  if (keys.hosts) {
    w.senders = read_hosts(section, "senders", context.topology);
    read_nic_pairs(section, w, context.topology);
    w.op = read_op(section, w.service);
    if (keys.receivers) read_receivers(section, w, context.topology);
  }
  if (keys.size) w.size = read_sizes(section, context.folder);
  w.jitter = keys.jitter ? section.duration("jitter", w.jitter) : Duration{};
}

void read_messages(ConfigSection& section, WorkloadSettings& w, Bytes largest_flow) {
  w.message_size = section.bytes("message_size", Bytes{});
  if (w.message_size.count() < 0 || w.message_size.count() > kMaxMessage)
    section.fail_at("message_size", "must be at most 2147483648B");
  if (w.message_size.count() > 0 && largest_flow.count() / w.message_size.count() >= kMaxMessages)
    section.fail_at("message_size", "makes more than " + std::to_string(kMaxMessages) +
                                        " messages of a flow of " + to_string(largest_flow));
  w.qps = static_cast<std::uint32_t>(section.integer("qps", 1, 1, 1024));
  if (w.service == FlowService::kUd && w.qps > 1)
    section.fail_at("qps", "must be 1 over service \"ud\": datagrams of a flow go over one queue pair");
}

// Flows of one connection stop together: its queue pairs, once drained, send nothing more.
void check_queue_pairs(ConfigSection& section, const WorkloadSettings& w) {
  if (w.queue_pairs == QueuePairs::kAhead) return;
  const char* key = "queue_pairs";
  const std::string value = w.queue_pairs == QueuePairs::kPerFlow ? "= \"per-flow\"" : "= \"persistent\"";
  const auto any = [&](auto&& is) { return std::ranges::any_of(w.flows, is); };
  const bool own_stops = any([](const ListedFlow& f) { return f.stop.has_value(); });
  if (w.queue_pairs == QueuePairs::kPersistent) {
    if (w.service != FlowService::kRc) section.fail_at(key, value + " needs service \"rc\"");
    if (own_stops)
      section.fail_at(key, value +
                               " needs flows without a stop of their own: those that share queue pairs stop "
                               "together, at the stop of the workload");
    return;
  }
  if (own_stops || w.stop != Duration::infinite())
    section.fail_at(key, value + " needs flows without a stop");
  if (any([](const ListedFlow& f) { return f.after_count > 0; }))
    section.fail_at(key, value +
                             " needs flows that start at a time: a receiver does not know when those "
                             "start that wait for others");
  if (w.op == FlowOp::kRead || any([](const ListedFlow& f) { return f.op == FlowOp::kRead; }))
    section.fail_at(key, value +
                             " needs op = \"send\" or \"write\": a READ's source does not know when it is "
                             "over");
}

const WorkloadType& read_kind(ConfigSection& section) {
  section.require("kind");
  std::vector<std::string_view> names;
  for (const WorkloadType& type : workload_types()) names.push_back(type.name);
  return workload_types()[section.choice("kind", names, 0)];
}

WorkloadSettings read_workload(ConfigSection& section, const WorkloadContext& context) {
  WorkloadSettings w;
  const WorkloadType& type = read_kind(section);
  w.kind = type.name;
  w.name = section.text("name", type.name);
  if (w.name.empty() || w.name.find_first_of(" \t\n#") != std::string::npos)
    section.fail_at("name", "must be a word without spaces");
  w.start = section.duration("start", Duration{});
  if (w.start.ps() < 0) section.fail_at("start", "must not be negative");
  w.dscp = read_dscp(section, "", context.nic.class_map);
  w.service = static_cast<FlowService>(section.choice("service", {"rc", "uc", "ud"}, 0));
  for (const std::string_view key : type.required) section.require(key);
  read_shared(section, w, type.keys, context);
  const std::shared_ptr<Workload> workload = type.make();
  w.workload = workload;
  read_fields(section, type.fields(), type.params(*workload));
  refuse_problem(section, type.problem_of(*workload));
  workload->read(section, w, context);
  read_messages(section, w, workload->largest_flow(w));
  w.queue_pairs = static_cast<QueuePairs>(
      section.choice("queue_pairs", {"ahead", "per-flow", "persistent"}, type.keys.persistent ? 2 : 0));
  read_stop(section, w);
  w.during = section.text("during", "");
  check_queue_pairs(section, w);
  workload->check(section, w, context.topology);
  if (workload->rate(w, context.topology, context.nic.active_mtu))
    w.overload = section.boolean("overload", false);
  section.finish();
  return w;
}

}  // namespace

std::span<const KeyText> shared_workload_keys() {
  static constexpr KeyText kKeys[] = {
      {"name", "kind", "", "group of flows in the results"},
      {"op", "`write`", "`send`, `write`, `read`", "of a `read` the receiver is the one that asks"},
      {"service", "`rc`", "`rc`, `uc`, `ud`",
       "transport service of its queue pairs; `uc` and `ud` repair no loss (below)"},
      {"dscp", "DSCP 26", "0..63",
       "or `class`, 0..7: of all packets of a flow's queue pairs at both ends (`[classes]`) but CNPs"},
      {"size", "required", "at most 1000 GB",
       "payload per flow, but of streams and of lists; or `size_min` and `size_max`: uniform between the "
       "two; "
       "or `cdf`: a file of sizes (below), with `cdf_form` `linear` or `steps`"},
      {"message_size", "one per queue pair", "at most 2 GiB", ""},
      {"qps", "1", "1..1024", "queue pairs (connections) of a flow, over which its messages go in turn"},
      {"queue_pairs", "`ahead`; of collectives, RPCs and closed loops `persistent`",
       "`ahead`, `per-flow`, `persistent`",
       "each flow has its own, all connected before the run; or created for its start and destroyed behind "
       "its end; or flows of the workload with one source and one destination share them (below)"},
      {"start", "`0us`", ">= 0", "experiment time at which it begins"},
      {"jitter", "`1us`", "",
       "flows start at start + uniform in [0, jitter); a `file`'s without jitter; `poisson` has none"},
      {"stop", "never", "after `start`",
       "experiment time of a planned stop: what a flow's source has not sent by then is not sent, and flows "
       "that would begin then or later do not (below)"},
      {"settle", "`10ms`", "",
       "receivers wait so much longer for what is on its way (below); over `uc` and `ud` so long after the "
       "last arrival"},
      {"senders", "all", "names", "hosts, but of lists and files; of RPCs the clients"},
      {"nic", "`same-rail`", "`same-rail`, `any`",
       "of hosts with several NICs: each NIC is a sender and a receiver, and sends to NICs of its own number "
       "or to any, of other hosts (docs/tutorial/several-nics.md)"},
      {"receivers", "poisson, rpc: all; all-to-all, stream: the senders", "names, `other-switches`",
       "of poisson, all-to-all, stream and rpc: who is sent to; `other-switches`: all hosts that hang on "
       "another "
       "switch than the sender"},
      {"min_switches", "1; with `other-switches` 2", "1 to 64",
       "of the same: a sender's receivers are those with at least so many switches on a shortest path to "
       "them"},
      {"overload", "false", "",
       "of a workload with a rate: links that it crosses may be offered more than they carry (below)"},
      {"during", "", "a workload",
       "also report this group's goodput while that other group runs (its messages should be small: progress "
       "is known message by message)"}};
  return kKeys;
}

// From one to many, from many to one, or between groups: somebody sends to somebody else.
void check_pairs(ConfigSection& section, const WorkloadSettings& w, const Topology& topology) {
  const std::vector<std::uint32_t> senders = senders_of(w, topology);
  if (senders.size() == 1 && w.receivers == senders)
    section.fail_at("receivers", "is the only sender, too: it would send to itself");
  if (senders.size() < 2 && w.receivers.empty() && w.min_switches == 1)
    section.fail_at("kind", "needs at least two hosts");
  bool any = topology.nics_per_host == 1;
  if (!any) for_each_pair(w, topology, [&](std::uint32_t, std::uint32_t) { any = true; });
  if (!any) section.fail_at("senders", "and receivers leave no pair of NICs of different hosts");
}

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
    if (workloads[i].workload->expected_flows(workloads[i], topology, path_mtu) >
        static_cast<double>(kMostFlows))
      sections[i].fail_at("duration",
                          "makes more than " + std::to_string(kMostFlows) + " flows at this load");
    const std::string& during = workloads[i].during;
    const auto named = [&](const WorkloadSettings& w) { return w.name == during; };
    if (!during.empty() && std::none_of(workloads.begin(), workloads.end(), named))
      sections[i].fail_at("during", "names no workload: \"" + during + "\"");
  }
  if (const auto over = find_overload(workloads, topology, path_mtu))
    sections[over->workload].fail_at(over->key, over->what + ": lower the load, or say overload = true");
  return workloads;
}

}  // namespace rocelab
