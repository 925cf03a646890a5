// DesRun: one run plan in virtual time, from its first event to its end, and what it leaves behind: the same
// records, counters, digests and files as a live run. The edge of emu/des: trace and capture files are opened
// here, and nowhere below.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/trace_hash.h"
#include "emu/des/engine.h"
#include "emu/des/frame_tap.h"
#include "emu/des/network.h"
#include "emu/des/recorder.h"
#include "emu/record/host_trace.h"
#include "emu/record/schedule.h"
#include "emu/record/switch_trace.h"
#include "emu/runner/plan.h"

namespace rocelab::des {

struct DesOptions {
  Driver driver = Driver::kWindows;
  bool trace = true;          // false: no records, no trace_hash, at no cost
  std::string trace_dir;      // event files; empty: none
  std::string pcap_dir;       // captures; empty: none
  Time stop = Time::never();  // the run is over here, however long the plan lets it go on
  bool record = false;        // for save_schedule()
  ScheduleFile schedule;  // of a plan with an original: that one's; no path: the original runs first, here
  // None of these changes a result. A run with an original, or one that is recorded, has one part.
  std::uint32_t threads = 1;  // 0: by the cores and the size of the run
  std::uint32_t parts = 0;    // at least so many are made, for fewer threads to run; 0: one a thread
  Engine::Clock clock = nullptr;
  const Partition* partition = nullptr;  // in place of one by expected work
  Peers* peers = nullptr;                // processes that have the other parts, and their results
};

// Of one flow, both ends.
struct FlowOutcome {
  std::uint32_t id = 0;
  Time posted = Time::never(), placed = Time::never(), cqe = Time::never();
  int status = 0;
  std::uint64_t bytes = 0;
  bool has_source = false;                // whose end is here; else `status` is the sink's
  bool stopped = false, settled = false;  // its source was, by its stop; its sink waits no longer
  std::uint64_t sent = 0;   // messages that its source has sent, of flows whose messages are counted
  app::Arrivals delivered;  // of these
  std::vector<std::uint32_t> src_qpns, dst_qpns;
};

class DesRun {
 public:
  // Throws std::runtime_error: the plan cannot be run, or a file cannot be made or read. The plan is copied.
  // A plan with an original and without its schedule runs that first, here, without traces.
  DesRun(RunPlan plan, const DesOptions& options);

  // At most so many rounds (or instants) of the engine. True: the run is over.
  bool advance(std::uint64_t steps);
  void flush();  // event files of switches have all records up to now(), for a reader that watches the run
  Time now() const { return engine_.now(); }
  std::uint64_t rounds() const { return engine_.steps(); }
  bool complete() const { return network_.programs_running() == 0; }  // every program came to its end
  std::size_t programs_running() const { return network_.programs_running(); }
  const Engine& engine() const { return engine_; }

  // --- when it is over
  const RunPlan& plan() const { return plan_; }  // without its routes
  const Network& network() const { return network_; }
  std::vector<FlowOutcome> flows() const;
  SwitchPortCounters port_counters(std::uint32_t port) const { return network_.port_counters(port, now()); }
  // Of hosts with records, then of every switch, as far as they are here; empty without trace.
  struct NodeDigest {
    std::size_t node;  // hosts, then switches
    Digest digest;
  };
  std::vector<NodeDigest> node_digests();
  std::vector<Digest> digests();
  std::uint64_t host_records() const;  // hashed
  // Of a run that was recorded, once. Throws std::runtime_error: not all that left has arrived, or it cannot
  // be written.
  Schedule save_schedule(const ScheduleFile& file) { return recorder_->save(file); }

 private:
  void open_traces();
  Sinks sinks() const;
  void finish();
  void check_replay() const;

  RunPlan plan_;  // without its routes once the network has compiled them
  const DesOptions options_;
  const Partition partition_;
  std::vector<std::unique_ptr<HostTrace>> host_traces_;      // null: of hosts elsewhere
  std::vector<std::unique_ptr<SwitchTrace>> switch_traces_;  // and so are these
  std::unique_ptr<FrameTap> tap_;
  std::unique_ptr<Recorder> recorder_;  // of one that is recorded
  std::optional<Schedule> schedule_;    // of a plan with an original
  std::unique_ptr<ScheduleReplay> replay_;
  Network network_;
  Engine engine_;
  Time stop_;
  bool over_ = false;
};

}  // namespace rocelab::des
