// Runs in virtual time: a plan in, records, counters and digests out.
#include <string>
#include <utility>

#include "emu/des/des_run.h"
#include "emu/pybind/bindings.h"

namespace py = pybind11;
using namespace py::literals;
using rocelab::des::DesOptions;
using rocelab::des::DesRun;

namespace rocelab::python {
namespace {

std::unique_ptr<DesRun> make_run(const RunPlan& plan, bool trace, const std::string& trace_dir,
                                 const std::string& pcap_dir, bool global_order, const py::object& stop_ps,
                                 std::uint32_t threads, des::Peers* peers, bool record,
                                 const ScheduleFile& schedule) {
  DesOptions options;
  options.driver = global_order ? des::Driver::kGlobalOrder : des::Driver::kWindows;
  options.trace = trace;
  options.trace_dir = trace_dir;
  options.pcap_dir = pcap_dir;
  options.stop = time_of(stop_ps);
  options.threads = threads;
  options.peers = peers;
  options.record = record;
  options.schedule = schedule;
  return std::make_unique<DesRun>(plan, options);
}

py::list flows(const DesRun& run) {
  py::list list;
  for (const des::FlowOutcome& f : run.flows())
    list.append(py::dict(
        "id"_a = f.id, "posted_ps"_a = to_python(f.posted), "placed_ps"_a = to_python(f.placed),
        "cqe_ps"_a = to_python(f.cqe), "status"_a = f.status, "bytes"_a = f.bytes, "stopped"_a = f.stopped,
        "settled"_a = f.settled, "sent"_a = f.sent, "delivered"_a = f.delivered.messages,
        "latency_sum_ps"_a = f.delivered.latency_sum_ns * 1'000,
        "latency_max_ps"_a = f.delivered.latency_max_ns * 1'000,
        "last_ps"_a =
            to_python(f.delivered.last_ns < 0 ? Time::never() : Time::from_ps(f.delivered.last_ns * 1'000)),
        "has_source"_a = f.has_source, "src_qpns"_a = py::tuple(py::cast(f.src_qpns)),
        "dst_qpns"_a = py::tuple(py::cast(f.dst_qpns))));
  return list;
}

py::dict hosts(const DesRun& run) {
  py::dict result;
  for (std::uint32_t h = 0; h < run.plan().world.hosts.size(); ++h)
    if (run.network().takes_part(h))
      result[run.plan().world.hosts[h].name] = counts(run.network().host(h).nic().counters());
  return result;
}

py::dict ports(const DesRun& run) {
  py::dict result;
  for (std::uint32_t p = 0; p < run.plan().world.ports.size(); ++p) {
    Counts all = counts(run.port_counters(p));
    add_link(all, "link_in_", run.network().link_in(p));
    add_link(all, "link_out_", run.network().link_out(p));
    result[run.plan().world.ports[p].interface] = all;
  }
  return result;
}

// JSON by switch, of those that have policies.
py::dict policies(const DesRun& run) {
  py::dict result;
  const std::size_t hosts = run.plan().world.hosts.size();
  for (std::uint32_t s = 0; s < run.plan().world.switches.size(); ++s) {
    if (!run.network().is_here(hosts + s)) continue;
    if (const SwitchPolicy* policy = run.network().switch_model(s).policy())
      result[run.plan().world.switches[s].name] = policy_json(*policy);
  }
  return result;
}

py::dict node_digests(DesRun& run) {
  py::dict by_node;
  for (const auto& [node, digest] : run.node_digests())
    by_node[py::int_(node)] = py::bytes(reinterpret_cast<const char*>(digest.data()), digest.size());
  return by_node;
}

py::tuple digests(DesRun& run) { return py::tuple(node_digests(run).attr("values")()); }

}  // namespace

void bind_des(py::module_& m) {
  py::class_<des::Peers>(m, "Peers");  // _rocelab_mpi has some
  py::class_<ScheduleFile>(m, "ScheduleFile")
      .def(py::init([](std::string path, std::string key) {
             return ScheduleFile{std::move(path), std::move(key)};
           }),
           "path"_a = "", "key"_a = "", "A recorded schedule, and the key of the run of which it must be.");
  py::class_<DesRun>(m, "DesRun")
      .def(py::init(&make_run), "plan"_a, "trace"_a = true, "trace_dir"_a = "", "pcap_dir"_a = "",
           "global_order"_a = false, "stop_ps"_a = py::none(), "threads"_a = 1, "peers"_a = nullptr,
           "record"_a = false, "schedule"_a = ScheduleFile(), py::keep_alive<1, 8>(),
           "`global_order`: by the slow oracle instead of windows. `stop_ps`: ends there, before "
           "engine.limit. `threads`: 0: by the cores and the size of the run. `peers`: processes that have "
           "other parts of it, and their results. `record`: for save_schedule(). `schedule`: of a plan with "
           "an original, what that one recorded; without it the original runs first.")
      .def("advance", &DesRun::advance, "steps"_a, py::call_guard<py::gil_scoped_release>(),
           "At most so many rounds; True when the run is over.")
      .def(
          "save_schedule", [](DesRun& run, const ScheduleFile& file) { run.save_schedule(file); }, "file"_a,
          "Of a run that is over and was recorded, once; raises RuntimeError.")
      .def("flush", &DesRun::flush, "Event files of switches have all records up to now_ps.")
      .def_property_readonly("now_ps", [](const DesRun& run) { return run.now().ps(); })
      .def_property_readonly("rounds", &DesRun::rounds)
      .def_property_readonly("threads", [](const DesRun& run) { return run.engine().threads(); })
      .def_property_readonly("complete", &DesRun::complete)
      .def_property_readonly("programs_running", &DesRun::programs_running)
      .def_property_readonly("late_frames", [](const DesRun& run) { return run.network().late_arrivals(); })
      .def_property_readonly("records", &DesRun::host_records)
      .def_property_readonly("flows", flows)
      .def_property_readonly("hosts", hosts)
      .def_property_readonly("ports", ports)
      .def_property_readonly("policies", policies, "By switch, as JSON (emu/world/switch_policies.h).")
      .def_property_readonly("node_digests", node_digests, "By node: hosts with records, then every switch.")
      .def_property_readonly("digests", digests);
}

}  // namespace rocelab::python
