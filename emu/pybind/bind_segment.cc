// The shared segment of a live run, as the runner looks at it.
#include <array>
#include <bit>
#include <optional>

#include "emu/des/des_run.h"
#include "emu/pybind/bindings.h"
#include "emu/runner/plan.h"
#include "lockstep/segment.h"
#include "lockstep/wall_clock.h"

namespace py = pybind11;
using namespace py::literals;
using rocelab::lockstep::RunState;
using rocelab::lockstep::Segment;
using rocelab::lockstep::VfState;

namespace rocelab::python {
namespace {

Segment create_segment(const RunPlan& plan, const std::string& path, const std::string& run_id,
                       const std::string& trace_dir, const std::string& pcap_dir,
                       std::optional<std::uint32_t> expected_participants, bool reserve,
                       const ScheduleFile& schedule) {
  if (plan.original) Schedule::open(schedule);  // for the line that it throws
  lockstep::SegmentPlan segment;
  static_cast<LiveSettings&>(segment) = plan.live;
  segment.world = plan.world;
  segment.run_id = run_id;
  segment.trace_dir = trace_dir;
  segment.pcap_dir = pcap_dir;
  if (expected_participants) segment.expected_participants = *expected_participants;
  segment.schedule = schedule.path;
  segment.schedule_key = schedule.key;
  segment.reserve = reserve;
  return Segment::create(path, segment);
}

const char* name_of(RunState state) {
  static constexpr const char* kNames[] = {"setup", "running", "stopped", "failed"};
  return kNames[static_cast<std::size_t>(state)];
}

const char* name_of(VfState state) {
  static constexpr const char* kNames[] = {"free", "claimed", "left", "dead"};
  return kNames[static_cast<std::size_t>(state)];
}

py::list vfs(const Segment& segment) {
  py::list list;
  const std::uint32_t per_host = segment.header().vfs_per_host;
  std::uint32_t index = 0;
  for (const lockstep::VfSlot& vf : segment.vfs()) {
    const py::bytes digest(reinterpret_cast<const char*>(vf.result.digest.data()), vf.result.digest.size());
    list.append(py::dict("host"_a = segment.hosts()[index / per_host].name, "vf"_a = index % per_host,
                         "pid"_a = vf.pid.load(), "state"_a = name_of(vf.state.load()),
                         "first_qpn"_a = vf.first_qpn, "promise_ps"_a = vf.promise_ps.load(),
                         "hold"_a = vf.hold.load(), "excluded"_a = vf.excluded.load(),
                         "counters"_a = counts(vf.result.counters), "cm"_a = counts(vf.result.cm_counters),
                         "digest"_a = digest, "records"_a = vf.result.records));
    ++index;
  }
  return list;
}

py::list ports(const Segment& segment) {
  py::list list;
  for (std::size_t i = 0; i < segment.ports().size(); ++i) {
    const PortEntry& port = segment.ports()[i];
    const PortResult& result = segment.port_results()[i];
    Counts all = counts(result.counters);
    add_link(all, "link_in_", result.link_in);
    add_link(all, "link_out_", result.link_out);
    list.append(py::dict("interface"_a = port.interface,
                         "switch"_a = segment.switches()[port.switch_index].name, "counters"_a = all));
  }
  return list;
}

std::string replay_problem(const Segment& segment, const std::string& original) {
  ReplayDifferences all;
  for (const lockstep::VfSlot& vf : segment.vfs()) all += vf.result.replay;
  std::uint64_t drops = 0;
  for (const PortResult& port : segment.port_results()) drops += port.counters.drops;
  return all.problem(original, drops);
}

// Where the clock stops next; None: nowhere. If time stands for the last stop it goes on.
void stop_at(const Segment& segment, std::optional<std::int64_t> at_ps) {
  lockstep::Header& header = segment.header();
  header.stop_ps.store(at_ps.value_or(Time::never().ps()));
  header.stop_due.store(0);
  lockstep::announce(header);
}

}  // namespace

Counts counts(const NicCounters& counters) {
  Counts result;
  const auto values = std::bit_cast<std::array<std::uint64_t, kNicCounterCount>>(counters);
  for (std::size_t i = 0; i < values.size(); ++i) result[kNicCounterNames[i]] = values[i];
  return result;
}

Counts counts(const cm::CmCounters& counters) {
  Counts result;
  const auto values = std::bit_cast<std::array<std::uint64_t, cm::kCmCounterCount>>(counters);
  for (std::size_t i = 0; i < values.size(); ++i) result[cm::kCmCounterNames[i]] = values[i];
  return result;
}

Counts counts(const SwitchPortCounters& counters) {
  Counts result;
  const auto values = values_of(counters);
  for (std::size_t i = 0; i < switch_port_counters(); ++i) result[switch_port_counter_name(i)] = values[i];
  return result;
}

void add_link(Counts& result, const std::string& prefix, const LinkCounters& c) {
  result[prefix + "lost_frames"] = c.lost_frames;
  result[prefix + "lost_data_frames"] = c.lost_data_frames;
  result[prefix + "corrupted_frames"] = c.corrupted_frames;
  result[prefix + "malformed_frames"] = c.malformed_frames;
  result[prefix + "undeliverable_frames"] = c.undeliverable_frames;
  result[prefix + "down_frames"] = c.down_frames;
}

void bind_segment(py::module_& m) {
  py::class_<Segment>(m, "Segment")
      .def_property_readonly("run_id", [](const Segment& s) { return std::string(s.header().run_id); })
      .def_property_readonly("state", [](const Segment& s) { return name_of(s.header().state.load()); })
      .def_property_readonly("now_ps", [](const Segment& s) { return s.header().committed_ps.load(); })
      .def_property_readonly("wall_ps", [](const Segment& s) { return lockstep::wall_time(s.header()).ps(); })
      .def_property_readonly("wall_slips", [](const Segment& s) { return s.header().wall_slips.load(); })
      .def_property_readonly("windows", [](const Segment& s) { return s.header().windows.load(); })
      .def_property_readonly("detaches", [](const Segment& s) { return s.header().detaches.load(); })
      .def_property_readonly("late_frames", [](const Segment& s) { return s.header().late_frames.load(); })
      .def_property_readonly("first_detach_ps",
                             [](const Segment& s) { return s.header().first_detach_ps.load(); })
      .def_property_readonly("last_detach_ps",
                             [](const Segment& s) { return s.header().last_detach_ps.load(); })
      .def_property_readonly("coordinator_pid",
                             [](const Segment& s) { return s.header().coordinator_pid.load(); })
      .def_property_readonly("error", [](const Segment& s) { return std::string(s.header().error); })
      .def_property_readonly("total_bytes", [](const Segment& s) { return s.header().total_bytes; })
      .def_property_readonly("stop_due", [](const Segment& s) { return s.header().stop_due.load() != 0; })
      .def("stop_at", stop_at, "at_ps"_a)
      .def("replay_problem", replay_problem, "original"_a,
           "Of a run that is over: why it is no replay of `original`; empty: it is one.")
      .def_property_readonly("vfs", vfs)
      .def_property_readonly("ports", ports);
  m.def("create_segment", create_segment, "plan"_a, "path"_a, "run_id"_a, "trace_dir"_a = "",
        "pcap_dir"_a = "", "expected_participants"_a = py::none(), "reserve"_a = false,
        "schedule"_a = ScheduleFile(),
        "Makes the run's shared memory, with `reserve` all of its pages; raises RuntimeError. `schedule`: "
        "of a plan with an original, what that one recorded.");
  m.def(
      "open_segment", [](const std::string& path) { return Segment::open(path); }, "path"_a);
}

}  // namespace rocelab::python
