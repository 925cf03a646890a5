// Scenarios and plans, read only.
#include <arpa/inet.h>
#include <pybind11/numpy.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "base/quantity.h"
#include "emu/pybind/bindings.h"
#include "emu/runner/flow_file.h"
#include "emu/runner/formula.h"
#include "emu/runner/plan.h"
#include "emu/runner/plan_checks.h"
#include "emu/runner/rocc_loop.h"
#include "emu/runner/routing.h"
#include "emu/runner/scenario.h"
#include "emu/runner/schema_tables.h"
#include "emu/runner/topology_file.h"
#include "emu/runner/traffic_file.h"
#include "emu/runner/workload.h"
#include "emu/runner/written_flows.h"
#include "emu/world/switch_policies.h"

namespace py = pybind11;
using namespace py::literals;

namespace rocelab::python {
namespace {

std::string ipv6_text(const std::array<std::uint8_t, 16>& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, address.data(), text.data(), text.size());
  return text.data();
}

py::list hosts(const RunPlan& plan) {
  py::list list;
  for (const HostEntry& h : plan.world.hosts)
    list.append(py::dict("name"_a = h.name, "ipv4"_a = ipv4_text(h.ipv4), "ipv6"_a = ipv6_text(h.ipv6),
                         "mac"_a = mac_text(h.mac), "node"_a = h.node, "port"_a = h.port,
                         "number"_a = plan.settings.topology.number_of(h.node), "nic"_a = h.nic_number,
                         "plane"_a = h.plane));
  return list;
}

py::list ports(const RunPlan& plan) {
  py::list list;
  for (std::size_t i = 0; i < plan.world.ports.size(); ++i) {
    const PortEntry& p = plan.world.ports[i];
    const PortLimits& l = plan.limits[i];
    list.append(py::dict("interface"_a = p.interface, "switch"_a = l.switch_name, "port_id"_a = p.port_id,
                         "peer"_a = l.peer, "peer_is_host"_a = p.peer_host != kNoPeer,
                         "rate_bps"_a = l.rate.bps(), "delay_ps"_a = l.delay.ps(),
                         "buffer"_a = l.buffer.count(), "headroom"_a = l.headroom.count(),
                         "xoff"_a = l.xoff.count(), "xon"_a = l.xon.count()));
  }
  return list;
}

// Lines for ovs-ofctl by name of switch, of the switches that `indices` names.
template <class Indices>
py::dict rules(const RunPlan& plan, const Indices& indices, const std::vector<Route>& routes, bool back) {
  std::map<std::uint32_t, py::list> lines;
  for (const std::uint32_t s : indices) lines[s] = py::list();
  for (const Route& route : routes)
    if (const auto list = lines.find(route.switch_index); list != lines.end())
      for (const std::string& line : openflow(route, back)) list->second.append(line);
  py::dict result;
  for (const auto& [s, list] : lines) result[plan.world.switches[s].name] = py::tuple(list);
  return result;
}

py::list route_changes(const RunPlan& plan) {
  py::list list;
  for (const RouteChange& change : plan.route_changes)
    list.append(py::dict("at_ps"_a = change.at.ps(),
                         "openflow"_a = rules(plan, change.switches, change.routes, true)));
  return list;
}

py::list switches(const RunPlan& plan) {
  py::list list;
  for (std::uint32_t s = 0; s < plan.world.switches.size(); ++s) {
    const SwitchEntry& entry = plan.world.switches[s];
    py::list indices;
    for (std::uint32_t p = 0; p < entry.ports; ++p) indices.append(entry.first_port + p);
    list.append(py::dict("name"_a = entry.name, "node"_a = entry.node, "ports"_a = py::tuple(indices),
                         "openflow"_a = rules(plan, std::array{s}, plan.routes, false)[entry.name],
                         "number"_a = plan.settings.topology.number_of(entry.node)));
  }
  return list;
}

py::list flows(const RunPlan& plan) {
  py::list list;
  for (const Flow& f : plan.flows)
    list.append(py::dict("id"_a = f.id, "group"_a = f.group, "src"_a = plan.world.hosts[f.src].name,
                         "dst"_a = plan.world.hosts[f.dst].name, "op"_a = to_string(f.op),
                         "service"_a = to_string(f.service), "size"_a = f.size.count(),
                         "message_size"_a = f.message_size.count(), "dst_port"_a = destination_port(plan, f),
                         "start_ps"_a = f.start.ps(), "qps"_a = f.qps, "packets"_a = f.packets,
                         "alone_ps"_a = f.alone.ps(), "request"_a = f.request, "step"_a = f.step,
                         "is_stream"_a = f.is_stream()));
  return list;
}

py::list parameters(const RunPlan& plan) {
  py::list list;
  for (const Parameter& p : plan.settings.parameters) list.append(py::make_tuple(p.key, p.value));
  return list;
}

// Everything that is one number or word.
py::dict scalars(const RunPlan& plan) {
  const Settings& s = plan.settings;
  const bool irn = s.nic.config.mode == TransportMode::kIrn;
  return py::dict(
      "scenario"_a = plan.scenario, "label"_a = plan.label, "seed"_a = plan.seed,
      "mode"_a = irn ? "irn" : "roce", "pfc"_a = s.switches.pfc.enabled,
      "expected_participants"_a = plan.live.expected_participants, "path_mtu"_a = s.nic.config.active_mtu,
      "wire_mtu"_a = plan.wire_mtu.count(), "verbs_timeout"_a = s.timers.verbs_timeout,
      "verbs_retry_cnt"_a = s.timers.verbs_retry_cnt, "lookahead_ps"_a = plan.lookahead.ps(),
      "base_rtt_ps"_a = plan.base_rtt.ps(), "bdp_cap"_a = plan.bdp_cap, "limit_ps"_a = s.engine.limit.ps(),
      "sample_interval_ps"_a = s.engine.sample_interval.ps(),
      "clock"_a = s.engine.clock == ClockKind::kWall ? "wall" : "lockstep", "dilation"_a = s.engine.dilation);
}

std::uint32_t host_index(const RunPlan& plan, const std::string& name) {
  for (std::uint32_t h = 0; h < plan.world.hosts.size(); ++h)
    if (name == plan.world.hosts[h].name) return h;
  throw py::key_error("no host is called " + name);
}

std::int64_t ping_pong_ps(const RunPlan& plan, const std::string& a, const std::string& b,
                          std::int64_t bytes) {
  const Routing routing(plan.settings.topology);
  const std::uint32_t from = host_index(plan, a), to = host_index(plan, b);
  const NicConfig& nic = plan.settings.nic.config;
  if (!plan.settings.topology.reaches(from, to)) throw py::key_error("no link leads from " + a + " to " + b);
  return ping_pong(nic.mode, Bytes::from_count(bytes), nic.active_mtu, plan.bdp_cap, routing.path(from, to),
                   routing.path(to, from))
      .ps();
}

py::list comparisons(const Scenario& scenario) {
  py::list list;
  for (const Comparison& c : scenario.comparisons)
    list.append(py::dict("of"_a = c.of, "over"_a = c.over, "metric"_a = c.metric, "paper"_a = c.paper));
  return list;
}

py::list labels(const Scenario& scenario) {
  py::list list;
  for (const Settings& s : scenario.settings) list.append(s.label);
  return list;
}

// Of all labels, each once.
py::list warnings(const Scenario& scenario) {
  std::vector<std::string> once;
  for (const Settings& s : scenario.settings)
    for (const std::string& text : s.warnings)
      if (std::ranges::find(once, text) == once.end()) once.push_back(text);
  return py::cast(once);
}

// What each label resolves to, without drawing flows: enough to tell runs apart.
py::dict settings_of(const Settings& s) {
  py::list parameters;
  for (const Parameter& p : s.parameters) parameters.append(py::make_tuple(p.key, p.value));
  py::list files;
  for (const std::filesystem::path& file : s.files) files.append(file.string());
  return py::dict("label"_a = s.label, "parameters"_a = parameters, "lists"_a = s.lists, "files"_a = files,
                  "policies"_a = py::bytes(packed(s.policies.policies)));
}

py::list settings(const Scenario& scenario) {
  py::list list;
  for (const Settings& s : scenario.settings) {
    py::dict of = settings_of(s);
    const Settings* original = s.nic.config.slack.replays() ? find_original(scenario, s) : nullptr;
    of["original"] = original != nullptr ? py::cast(original->label) : py::none();
    list.append(of);
  }
  return list;
}

py::tuple as_tuple(const WrittenFlows& written) { return py::make_tuple(written.text, written.omissions); }

// Nodes and links of a label by index, hosts first. No routes and no flows: what a picture needs, without a
// plan.
py::dict topology(const Scenario& scenario, const std::string& label) {
  const auto found = std::ranges::find(scenario.settings, label, &Settings::label);
  if (found == scenario.settings.end()) throw py::key_error("no label is called " + label);
  const Topology& topology = found->topology;
  py::list hosts, switches, links;
  for (const Node& node : topology.nodes()) (node.is_host ? hosts : switches).append(node.name);
  for (const Link& link : topology.links()) links.append(py::make_tuple(link.a, link.b));
  return py::dict("hosts"_a = hosts, "switches"_a = switches, "links"_a = links);
}

// Indices of the hosts to which a run of a label sends.
py::list sinks(const Scenario& scenario, const std::string& label, std::uint64_t seed) {
  const auto found = std::ranges::find(scenario.settings, label, &Settings::label);
  if (found == scenario.settings.end()) throw py::key_error("no label is called " + label);
  std::set<std::uint32_t> hosts;
  for (const Flow& flow : draw_flows(*found, Rng(seed))) hosts.insert(flow.dst);
  py::list list;
  for (const std::uint32_t host : hosts) list.append(host);
  return list;
}

RunPlan plan_of(const Scenario& scenario, const std::string& label, std::uint64_t seed) {
  for (const Settings& s : scenario.settings)
    if (s.label == label) return make_plan(scenario, s, seed);
  throw py::key_error("no label is called " + label);
}

// For rocelab.generated.
py::list tables_of_schemas() {
  py::list list;
  for (const SchemaTable& table : schema_tables()) {
    py::list rows;
    for (const SchemaRow& row : table.rows)
      rows.append(py::make_tuple(row.key, row.values, row.range, row.text));
    list.append(py::make_tuple(table.section, table.columns, rows));
  }
  return list;
}

}  // namespace

void bind_scenario(py::module_& m) {
  py::class_<Scenario>(m, "Scenario")
      .def_readonly("name", &Scenario::name)
      .def_readonly("title", &Scenario::title)
      .def_readonly("file", &Scenario::file)
      .def_readonly("seeds", &Scenario::seeds)
      .def_property_readonly("labels", labels)
      .def_readonly("known_labels", &Scenario::known_labels)
      .def_property_readonly("settings", settings)
      .def("topology", topology, "label"_a, "Names of hosts and switches, and links by their indices.")
      .def("sinks", sinks, "label"_a, "seed"_a, "Indices of the hosts to which a run sends.")
      .def_property_readonly("warnings", warnings)
      .def_property_readonly("comparisons", comparisons);
  m.def(
      "read_scenario",
      [](const std::string& file, const std::vector<Override>& overrides) {
        return read_scenario(file, overrides);
      },
      "file"_a, "overrides"_a = std::vector<Override>{},
      "Reads and checks a scenario; raises ScenarioError with file:line:column.");
  m.def("parse_scenario", parse_scenario, "text"_a, "name"_a, "overrides"_a = std::vector<Override>{},
        "The same from text; `name` stands for the file in messages, and files are looked for beside it.");

  py::class_<RunPlan>(m, "RunPlan")
      .def_property_readonly("scalars", scalars)
      .def_property_readonly("route_changes", route_changes)
      .def_property_readonly("hosts", hosts)
      .def_property_readonly("switches", switches)
      .def_property_readonly("ports", ports)
      .def_property_readonly("flows", flows)
      .def_property_readonly("parameters", parameters)
      .def_property_readonly("settings", [](const RunPlan& plan) { return settings_of(plan.settings); })
      .def_property_readonly(
          "original", [](const RunPlan& plan) { return plan.original.get(); },
          py::return_value_policy::reference_internal, "That it replays; None: none.")
      .def_property_readonly(
          "is_original", [](const RunPlan& plan) { return plan.exact_starts && !plan.original; },
          "Another label of its scenario replays it.")
      .def_readonly("exact_starts", &RunPlan::exact_starts,
                    "Flows start at whole nanoseconds, whatever the program has waited for.")
      .def_property_readonly("threads", [](const RunPlan& plan) { return plan.settings.engine.threads; })
      .def(
          "measures",
          [](const RunPlan& plan, std::int64_t start_ps) {
            const Time start = Time::from_ps(start_ps);
            return plan.measure_from <= start && start < plan.measure_until;
          },
          "start_ps"_a, "Whether metrics count a flow that starts then.")
      .def("flow_lines", flow_lines, "The flow list as the traffic program reads it.")
      .def("host_lines", host_lines, "Names and addresses as the traffic program reads them.")
      .def(
          "topology_file", [](const RunPlan& plan) { return topology_file(plan.settings.topology); },
          "topology.txt of other simulators.")
      .def(
          "topology_file_omissions",
          [](const RunPlan& plan) { return topology_file_omissions(plan.settings); },
          "What it cannot say of this plan, in words.")
      .def("traffic_file_omissions", traffic_file_omissions, "What flow.txt cannot say of this plan.")
      .def(
          "traffic_file",
          [](const RunPlan& plan, const std::string& dialect, std::int64_t epoch_ps) {
            TrafficFileOptions options;
            options.epoch = Duration::from_ps(epoch_ps);
            return traffic_file(plan, dialect_of(dialect), options);
          },
          "dialect"_a, "epoch_ps"_a, "flow.txt of other simulators: hpcc, conweave or ns3-rdma.")
      .def(
          "connection_matrix",
          [](const RunPlan& plan, std::int64_t epoch_ps) {
            return as_tuple(write_connection_matrix(plan, Duration::from_ps(epoch_ps)));
          },
          "epoch_ps"_a, "htsim's connection matrix, and what it cannot say of this plan.")
      .def(
          "goal_schedule", [](const RunPlan& plan) { return as_tuple(write_goal(plan)); },
          "A schedule in GOAL, and what it cannot say of this plan.")
      .def("ping_pong_ps", ping_pong_ps, "a"_a, "b"_a, "bytes"_a,
           "One iteration of a ping-pong on the idle network.");
  py::class_<RoccLoop>(m, "RoccLoop")
      .def(py::init<double, double, double, double, double>(), "alpha"_a, "beta"_a, "period_s"_a, "delay_s"_a,
           "kappa"_a)
      .def("crossover", py::vectorize(&RoccLoop::crossover), "flows"_a, "rad/s")
      .def("phase_margin", py::vectorize(&RoccLoop::phase_margin), "flows"_a, "Degrees.");
  m.def("rocc_region", rocc_region, "flows"_a, "AUTO_TUNE's divisor of the gains.");
  m.def(
      "parse_rate_bps", [](const std::string& text) { return parse_rate(text).bps(); }, "text"_a);
  m.def(
      "parse_duration_ps", [](const std::string& text) { return parse_duration(text).ps(); }, "text"_a);
  m.def(
      "parse_bytes", [](const std::string& text) { return parse_bytes(text).count(); }, "text"_a);
  m.def(
      "schema_tables", tables_of_schemas,
      "Tables of docs/reference/scenarios.md: (section, [(column, source)], [(key, values, range, text)]).");
  m.def("make_plan", plan_of, "scenario"_a, "label"_a, "seed"_a);
  m.def("make_plans", make_plans, "scenario"_a, "One plan per label and seed, label by label.");
}

}  // namespace rocelab::python
