#include "emu/des/des_run.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace rocelab::des {
namespace {

// A recorder hears of packets in the order in which nodes run.
Partition partition_of(const RunPlan& plan, const DesOptions& options) {
  if (options.partition != nullptr) return *options.partition;
  const std::uint32_t parts = std::max(options.threads, options.parts);
  const bool recorded = options.record || plan.original;
  if (options.peers == nullptr)
    return recorded || options.driver == Driver::kGlobalOrder ? Partition{} : make_partition(plan, parts);
  if (recorded) throw std::runtime_error("a replay is recorded in one process: start it without mpirun");
  return make_partition(plan, options.peers->ranks() * parts, *options.peers);
}

DesOptions with_threads(DesOptions options, const RunPlan& plan) {
  if (options.threads == 0) options.threads = options.peers != nullptr ? 1 : threads_for(plan, Crew::cores());
  return options;
}

Schedule schedule_of(const RunPlan& original, const DesOptions& replay) {
  if (!replay.schedule.path.empty()) return Schedule::open(replay.schedule);
  DesOptions options;
  options.driver = replay.driver;
  options.trace = false;
  options.record = true;
  DesRun run(original, options);
  while (!run.advance(1 << 16)) {
  }
  return run.save_schedule({});
}

}  // namespace

DesRun::DesRun(RunPlan plan, const DesOptions& options)
    : plan_(std::move(plan)),
      options_(with_threads(options, plan_)),
      partition_(partition_of(plan_, options_)),
      recorder_(options_.record ? std::make_unique<Recorder>(plan_) : nullptr),
      schedule_(plan_.original ? std::optional(schedule_of(*plan_.original, options_)) : std::nullopt),
      replay_(schedule_ ? std::make_unique<ScheduleReplay>(*schedule_) : nullptr),
      network_(plan_, (open_traces(), sinks()), partition_),
      engine_(network_, options.driver, options_.threads, options.clock),
      stop_(std::min(options.stop, Time::zero() + plan_.settings.engine.limit)) {
  plan_.routes = std::vector<Route>();  // the network has compiled them; with many switches they are large
}

void DesRun::open_traces() {
  if (!options_.pcap_dir.empty()) tap_ = std::make_unique<FrameTap>(plan_, options_.pcap_dir, partition_);
  if (!options_.trace) return;
  const std::string& folder = options_.trace_dir;
  std::size_t node = 0;
  for (const HostEntry& host : plan_.world.hosts)
    host_traces_.push_back(
        !partition_.is_here(node++)
            ? nullptr
            : std::make_unique<HostTrace>(folder.empty() ? "" : folder + "/" + host.name + ".0.events",
                                          plan_.settings.engine.sample_interval));
  for (const SwitchEntry& entry : plan_.world.switches)
    switch_traces_.push_back(!partition_.is_here(node++) ? nullptr
                                                         : std::make_unique<SwitchTrace>(folder, entry.name));
}

Sinks DesRun::sinks() const {
  Sinks sinks;
  for (std::uint32_t h = 0; (recorder_ || replay_) && h < plan_.world.hosts.size(); ++h)
    sinks.replay.push_back(recorder_ ? recorder_->port(h) : replay_.get());
  sinks.peers = options_.peers;
  for (const auto& trace : host_traces_) sinks.hosts.push_back(trace.get());
  for (const auto& trace : switch_traces_) sinks.switches.push_back(trace.get());
  sinks.tap = tap_.get();
  return sinks;
}

bool DesRun::advance(std::uint64_t steps) {
  for (; steps > 0 && !over_; --steps) {
    if (!engine_.step(stop_)) {
      over_ = true;
      finish();
    } else if (network_.any_failed()) {
      stop_ = std::min(stop_, network_.given_up_since() + kLinger);
    } else if (network_.programs_running() == 0) {
      stop_ = std::min(stop_, network_.programs_over_since() + kLinger);
    }
    if (tap_) tap_->commit(engine_.now());
  }
  return over_;
}

void DesRun::flush() {
  for (const auto& trace : switch_traces_)
    if (trace) trace->flush();
}

void DesRun::finish() {
  network_.settle(stop_);
  for (const auto& trace : host_traces_)
    if (trace) trace->flush();
  for (const auto& trace : switch_traces_) {
    if (!trace) continue;
    trace->save();
    if (trace->failed()) throw std::runtime_error("an event file could not be written: is the disk full?");
  }
  if (replay_) check_replay();
  if (tap_ && tap_->failed()) throw std::runtime_error("a capture could not be written: is the disk full?");
}

// Mittal, 5.1.1.
void DesRun::check_replay() const {
  std::uint64_t drops = 0;
  for (std::uint32_t p = 0; p < plan_.world.ports.size(); ++p) drops += port_counters(p).drops;
  const std::string problem = replay_->differences().problem(plan_.original->label, drops);
  if (!problem.empty()) throw std::runtime_error(problem);
}

std::vector<FlowOutcome> DesRun::flows() const {
  std::vector<FlowOutcome> flows(plan_.flows.size());
  std::vector<int> sink_status(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i) flows[i].id = plan_.flows[i].id;
  for (std::uint32_t h = 0; h < plan_.world.hosts.size(); ++h) {
    if (!network_.takes_part(h)) continue;
    for (const FlowProgram::Transfer& t : network_.host(h).program().transfers()) {
      FlowOutcome& flow = flows[t.flow_index];
      if (t.script.is_requester()) {
        flow.posted = t.record.posted;
        flow.cqe = t.record.cqe;
        if (t.script.flow().numbered()) flow.sent = t.script.done();
      }
      flow.has_source |= t.script.is_source();
      (t.script.is_source() ? flow.stopped : flow.settled) = t.record.timed_out;
      (t.script.is_source() ? flow.status : sink_status[t.flow_index]) = t.record.status;
      if (!t.script.is_source()) {
        flow.placed = t.record.placed;
        flow.bytes = t.record.bytes;
        flow.delivered = t.script.arrivals();
      }
      for (const Endpoint& end : t.local)
        (t.script.is_source() ? flow.src_qpns : flow.dst_qpns).push_back(end.qpn.value);
    }
  }
  for (std::size_t i = 0; i < flows.size(); ++i)
    if (flows[i].status == 0) flows[i].status = sink_status[i];
  return flows;
}

std::vector<DesRun::NodeDigest> DesRun::node_digests() {
  std::vector<NodeDigest> digests;
  for (std::size_t h = 0; h < host_traces_.size(); ++h)
    if (host_traces_[h] && host_traces_[h]->records() > 0) digests.push_back({h, host_traces_[h]->digest()});
  for (std::size_t s = 0; s < switch_traces_.size(); ++s)
    if (switch_traces_[s]) digests.push_back({host_traces_.size() + s, switch_traces_[s]->digest()});
  return digests;
}

std::vector<Digest> DesRun::digests() {
  std::vector<Digest> digests;
  for (const NodeDigest& of : node_digests()) digests.push_back(of.digest);
  return digests;
}

std::uint64_t DesRun::host_records() const {
  std::uint64_t records = 0;
  for (const auto& trace : host_traces_) records += trace ? trace->records() : 0;
  return records;
}

}  // namespace rocelab::des
