#include "emu/runner/traffic_file.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include "emu/runner/text_file.h"
#include "emu/runner/written_flows.h"

namespace rocelab {
namespace {

constexpr std::array<const char*, 3> kNames = {"hpcc", "conweave", "ns3-rdma"};
constexpr std::array<const char*, 3> kColumns = {"src dst priority_group dst_port bytes start_s",
                                                 "src dst priority_group bytes start_s",
                                                 "src dst priority packets start_s end_s"};

std::string name_of(TrafficDialect d) { return kNames[static_cast<std::size_t>(d)]; }
bool is_decimal(const std::string& word) { return word.find('.') != std::string::npos; }

// What the words of a line look like; five are conweave's, of six the fifth is hpcc's size or ns3-rdma's
// start.
TrafficDialect looks_like(const std::vector<std::string>& words) {
  if (words.size() == 5) return TrafficDialect::kConweave;
  return is_decimal(words[4]) ? TrafficDialect::kNs3Rdma : TrafficDialect::kHpcc;
}

std::uint32_t number(const TextLines& lines, std::size_t word, const char* what, std::int64_t most) {
  const std::int64_t value = lines.integer(word, what);
  if (value < 0 || value > most)
    lines.fail(std::string(what) + " = " + lines.words()[word] + " is outside 0.." + std::to_string(most));
  return static_cast<std::uint32_t>(value);
}

[[noreturn]] void wrong_dialect(const TextLines& lines, TrafficDialect asked, TrafficDialect seen) {
  lines.fail("this is a line of the dialect \"" + name_of(seen) + "\" (" +
             kColumns[static_cast<std::size_t>(seen)] + "): say dialect = \"" + name_of(seen) +
             "\" instead of \"" + name_of(asked) + "\"");
}

TrafficLine parse_line(const TextLines& lines, TrafficDialect dialect) {
  const std::vector<std::string>& words = lines.words();
  if (words.size() != 5 && words.size() != 6)
    lines.fail("a flow has the columns " + std::string(kColumns[static_cast<std::size_t>(dialect)]));
  if (const TrafficDialect seen = looks_like(words); seen != dialect) {
    // Whole seconds have no point: of six whole numbers either may be meant.
    const bool either = words.size() == 6 && dialect != TrafficDialect::kConweave && !is_decimal(words[4]) &&
                        !is_decimal(words[5]);
    if (!either) wrong_dialect(lines, dialect, seen);
  }
  constexpr std::int64_t kMostNode = std::numeric_limits<std::int32_t>::max();
  TrafficLine line;
  line.src = number(lines, 0, "the source", kMostNode);
  line.dst = number(lines, 1, "the destination", kMostNode);
  line.priority = number(lines, 2, "the priority group", 7);
  const std::size_t size = dialect == TrafficDialect::kHpcc ? 4 : 3;
  if (dialect == TrafficDialect::kHpcc) {
    if (lines.integer(3, "the destination port") > 0xffff)
      wrong_dialect(lines, dialect, TrafficDialect::kNs3Rdma);
    line.dst_port = number(lines, 3, "the destination port", 0xffff);
  }
  line.size = lines.integer(size, "the size");
  if (line.size <= 0) lines.fail("a flow needs at least one byte, not " + words[size]);
  // A start of whole seconds, months after the epoch, is a size in bytes.
  if (dialect == TrafficDialect::kNs3Rdma && !is_decimal(words[4]) && words[4].size() > 6)
    wrong_dialect(lines, dialect, TrafficDialect::kHpcc);
  line.start_ps = lines.seconds_to_ps(size + 1, "the start");
  if (dialect == TrafficDialect::kNs3Rdma) {
    line.end_ps = lines.seconds_to_ps(5, "the end");
    if (line.end_ps <= line.start_ps) {
      if (!is_decimal(words[4])) wrong_dialect(lines, dialect, TrafficDialect::kHpcc);
      lines.fail("the flow ends before it starts");
    }
  }
  return line;
}

}  // namespace

TrafficDialect dialect_of(const std::string& name) {
  for (std::size_t d = 0; d < kNames.size(); ++d)
    if (name == kNames[d]) return static_cast<TrafficDialect>(d);
  throw std::invalid_argument("there is no dialect \"" + name + "\"");
}

std::vector<TrafficLine> parse_traffic(const std::string& text, const std::string& name,
                                       TrafficDialect dialect) {
  TextLines lines(text, name);
  if (!lines.next()) lines.fail("is empty: the first line is the number of flows");
  if (lines.words().size() != 1)
    lines.fail("the first line of a traffic file is the number of flows, one number");
  const std::int64_t flows = lines.integer(0, "the number of flows");
  if (flows < 1) lines.fail("the number of flows must be more than 0");
  std::vector<TrafficLine> result;
  for (std::int64_t i = 0; i < flows; ++i) {
    if (!lines.next())
      lines.fail("the first line promises " + std::to_string(flows) + " flows, but there are " +
                 std::to_string(i));
    result.push_back(parse_line(lines, dialect));
    result.back().line = lines.line();
  }
  return result;
}

std::vector<ListedFlow> listed_flows(const std::vector<TrafficLine>& lines, const std::string& file,
                                     const WorkloadSettings& w, const TrafficFileOptions& options,
                                     const Topology& topology) {
  std::map<std::uint32_t, std::uint32_t> hosts;  // node number -> host
  for (std::uint32_t h = 0; h < topology.hosts(); ++h) hosts[topology.number_of(h)] = h;
  std::set<std::uint32_t> ports;
  for (const TrafficLine& line : lines) ports.insert(line.dst_port);
  std::vector<ListedFlow> flows;
  for (const TrafficLine& line : lines) {
    const auto fail = [&](const std::string& why) {
      throw ScenarioError(file + ":" + std::to_string(line.line) + ": " + why);
    };
    for (const std::uint32_t end : {line.src, line.dst})
      if (!hosts.contains(end))
        fail("node " + std::to_string(end) + " is no host of this topology, whose hosts are " +
             std::to_string(hosts.begin()->first) + ".." + std::to_string(hosts.rbegin()->first));
    if (line.src == line.dst) fail("the flow goes to its own source");
    ListedFlow flow;
    if (!w.dscp && line.priority != options.nic.roce_tc().value) {
      flow.dscp = options.nic.class_map.dscp_of(Tc{static_cast<std::uint8_t>(line.priority)});
      if (!flow.dscp)
        fail("priority group " + std::to_string(line.priority) +
             " is a class that no DSCP reaches: give it one in classes.dscp, or all flows a class of the "
             "workload");
    }
    flow.src = hosts[line.src];
    flow.dst = hosts[line.dst];
    const std::int64_t unit = line.end_ps != 0 ? options.packet_payload.count() : 1;
    if (line.size > kMaxFlow.count() / unit)
      fail("a flow of " + std::to_string(line.size) + (unit == 1 ? " bytes" : " packets") + " is more than " +
           to_string(kMaxFlow));
    flow.size = Bytes::from_count(line.size * unit);
    flow.start = Duration::from_ps(line.start_ps) - options.epoch;
    if (flow.start.ps() < 0)
      fail("the flow starts before the epoch of " + to_string(options.epoch) +
           ": set epoch to an earlier time");
    flow.op = w.op;
    if (ports.size() > 1) flow.group = w.name + ":" + std::to_string(line.dst_port);
    flows.push_back(std::move(flow));
  }
  return flows;
}

std::uint32_t destination_port(const RunPlan& plan, const Flow& flow) {
  const std::size_t colon = flow.group.rfind(':');
  if (colon != std::string::npos) return static_cast<std::uint32_t>(std::stoul(flow.group.substr(colon + 1)));
  for (const WorkloadSettings& w : plan.settings.workloads)
    if (w.name == flow.group && w.kind == "incast") return 200;
  return 100;
}

namespace {

void omit(const RunPlan& plan, std::vector<std::string>& omissions, bool (*has)(const Flow&),
          const char* what) {
  if (const auto count = std::ranges::count_if(plan.flows, has); count > 0)
    omissions.push_back("that " + std::to_string(count) + " flows " + what);
}

}  // namespace

std::vector<std::string> plain_omissions(const RunPlan& plan) {
  std::vector<std::string> omissions;
  omit(
      plan, omissions, [](const Flow& f) { return f.is_stream(); },
      "are streams (they send all their bytes at once there)");
  omit(
      plan, omissions, [](const Flow& f) { return !f.is_stream() && !f.stop.is_never(); }, "have a stop");
  omit(
      plan, omissions, [](const Flow& f) { return f.service != FlowService::kRc; },
      "are of service UC or UD");
  return omissions;
}

std::vector<std::string> traffic_file_omissions(const RunPlan& plan) {
  std::vector<std::string> omissions;
  omit(
      plan, omissions, [](const Flow& f) { return f.after_count > 0; },
      "begin when others have ended (they begin as early as they could there)");
  std::ranges::move(plain_omissions(plan), std::back_inserter(omissions));
  return omissions;
}

std::string traffic_file(const RunPlan& plan, TrafficDialect dialect, const TrafficFileOptions& options) {
  const auto seconds = [](std::int64_t ps) {
    const std::int64_t ns = (ps + 500) / 1000;
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%lld.%09lld", static_cast<long long>(ns / 1'000'000'000),
                  static_cast<long long>(ns % 1'000'000'000));
    return std::string(text.data());
  };
  const NicConfig& nic = plan.settings.nic.config;
  std::string text = std::to_string(plan.flows.size()) + "\n";
  for (const Flow& flow : plan.flows) {
    const std::int64_t start = (flow.start - Time::zero() + options.epoch).ps(),
                       unit = options.packet_payload.count();
    text += std::to_string(plan.settings.topology.number_of(flow.src)) + " " +
            std::to_string(plan.settings.topology.number_of(flow.dst)) + " " +
            std::to_string(nic.class_map.of(flow.dscp.value_or(nic.roce_dscp)).value) + " ";
    if (dialect == TrafficDialect::kHpcc) text += std::to_string(destination_port(plan, flow)) + " ";
    if (dialect == TrafficDialect::kNs3Rdma)
      text += std::to_string((flow.size.count() + unit - 1) / unit) + " " + seconds(start) + " " +
              seconds(start + flow.alone.ps() + (1_s).ps()) + "\n";
    else
      text += std::to_string(flow.size.count()) + " " + seconds(start) + "\n";
  }
  return text;
}

}  // namespace rocelab
