#include "emu/runner/workloads/listed.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "emu/runner/connection_matrix.h"
#include "emu/runner/goal_file.h"
#include "emu/runner/traffic_file.h"

namespace rocelab {

void ListedWorkload::draw(FlowDraw& draw) const {
  for (const ListedFlow& listed : draw.workload().flows) {
    Flow& flow = draw.add_plain(listed.src, listed.dst, listed.start);
    flow.start = flow.start + draw.jitter();
    flow.size = listed.size;
    flow.op = listed.op;
    if (listed.dscp) flow.dscp = listed.dscp;
    if (listed.stop) flow.stop = Time::zero() + *listed.stop;
    if (!listed.group.empty()) flow.group = listed.group;
    flow.after = listed.after;
    flow.after_count = listed.after_count;
    if (flow.after_count > 0 && listed.start.ps() == 0) flow.start = Time::zero();
  }
}

Bytes ListedWorkload::largest_flow(const WorkloadSettings& w) const {
  Bytes largest;
  for (const ListedFlow& flow : w.flows) largest = std::max(largest, flow.size);
  return largest;
}

namespace {

// The ends of listed flows. Where hosts have several NICs and a flow names one end by its NIC, a host at the
// other end takes part by its NIC of the same number; flows that name hosts alone take the NICs of their
// source in turn.
class ListedEnds {
 public:
  explicit ListedEnds(const Topology& topology) : topology_(topology) {}

  void read(ConfigSection& entry, ListedFlow& flow) {
    const std::string src = entry.text("src", ""), dst = entry.text("dst", "");
    const std::vector<std::uint32_t> from = topology_.find_nics(src), to = topology_.find_nics(dst);
    std::uint32_t number = 0;
    if (from.size() > 1 && to.size() > 1)
      number = turns_[from.front()]++ % topology_.nics_per_host;
    else if (from.size() > 1 && !to.empty())
      number = topology_.nic_number_of(to.front());
    else if (to.size() > 1 && !from.empty())
      number = topology_.nic_number_of(from.front());
    flow.src = from.size() > 1 ? from[number] : find_host(entry, "src", topology_, src);
    flow.dst = to.size() > 1 ? to[number] : find_host(entry, "dst", topology_, dst);
    if (flow.src == flow.dst) entry.fail_at("dst", "is the flow's source too");
    if (!topology_.reaches(flow.src, flow.dst))
      entry.fail_at("dst", "is in another plane than the source \"" + topology_.nodes()[flow.src].name +
                               "\": no link leads from one to the other");
  }

 private:
  const Topology& topology_;
  std::map<std::uint32_t, std::uint32_t> turns_;  // by the host's first NIC
};

}  // namespace

void FlowList::read(ConfigSection& section, WorkloadSettings& w, const WorkloadContext& context) {
  ListedEnds ends(context.topology);
  for (ConfigSection& entry : section.tables("flow")) {
    for (const char* key : {"src", "dst"}) entry.require(key);
    ListedFlow flow;
    ends.read(entry, flow);
    flow.size = read_size(entry, "size");
    flow.start = entry.duration("start", Duration{});
    flow.op = read_op(entry, w.service);
    flow.dscp = read_dscp(entry, "", context.nic.class_map);
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

void FlowFile::read(ConfigSection& section, WorkloadSettings& w, const WorkloadContext& context) {
  const std::filesystem::path file = section.file("file", context.folder);
  const std::size_t dialect = section.choice("dialect", {"hpcc", "conweave", "ns3-rdma", "htsim", "goal"}, 0);
  const bool htsim = dialect == 3, goal = dialect == 4,
             ns3_rdma = dialect == static_cast<std::size_t>(TrafficDialect::kNs3Rdma);
  TrafficFileOptions options;
  options.nic = context.nic;
  if (goal && section.has("epoch"))
    section.fail_at("epoch", "is not that of dialect \"goal\": it has no times");
  if (!goal) options.epoch = section.duration("epoch", htsim ? Duration{} : options.epoch);
  if (ns3_rdma) options.packet_payload = section.bytes("packet_payload", options.packet_payload);
  if (options.packet_payload.count() <= 0) section.fail_at("packet_payload", "must be more than 0");
  w.op = read_op(section, w.service);
  if ((htsim || goal) && w.service != FlowService::kRc)
    section.fail_at("service",
                    "must be \"rc\": flows of dialect \"htsim\" or \"goal\" may wait for others' ends");
  if (goal && w.op == FlowOp::kRead)
    section.fail_at("op", "must be \"write\" or \"send\": ranks of a GOAL schedule send");
  const std::string text = section.content("file", file);
  w.flows = goal    ? parse_goal(text, file.string(), w.op, context.topology)
            : htsim ? parse_connection_matrix(text, file.string(), w.op, options.epoch, context.topology)
                    : listed_flows(parse_traffic(text, file.string(), static_cast<TrafficDialect>(dialect)),
                                   file.string(), w, options, context.topology);
}

}  // namespace rocelab
