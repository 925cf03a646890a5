// For tests: a run to its end.
#pragma once

#include <string>
#include <vector>

#include "emu/des/des_run.h"
#include "emu/runner/metrics.h"
#include "emu/runner/scenario.h"

namespace rocelab::des {

// The first flow's outcome when the run is over.
inline FlowOutcome first_flow(DesRun& run) {
  while (!run.advance(1000)) {
  }
  return run.flows().at(0);
}

// A scenario's first label with seed 1, and what its flows have left behind.
struct FinishedRun {
  explicit FinishedRun(const std::string& text) {
    const Scenario scenario = parse_scenario(text, "test.toml");
    plan = make_plan(scenario, scenario.settings.front(), 1);
    DesRun run(plan, {});
    while (!run.advance(1000)) {
    }
    for (const FlowOutcome& flow : run.flows())
      records.push_back({flow.id, flow.posted, flow.placed, flow.cqe, flow.status});
    complete = run.complete();
  }
  RunPlan plan;
  std::vector<FlowRecord> records;
  bool complete = false;
};

}  // namespace rocelab::des
