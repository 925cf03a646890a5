// The parts of the scenario schema, one function a part; scenario.cc puts them together. Each asks its
// section for every key it knows and calls finish(). docs/scenarios.md describes the same keys for people.
#pragma once

#include <filesystem>
#include <vector>

#include "emu/runner/config_section.h"
#include "emu/runner/scenario.h"

namespace rocelab {

Topology read_topology(ConfigSection section);
void read_faults(std::vector<ConfigSection> sections, Topology& topology);
SwitchConfig read_switch(ConfigSection section, bool pfc);
NicSettings read_nic(ConfigSection section, ConfigSection irn, TransportMode mode, bool pfc);
TimerSettings read_timers(ConfigSection section, bool pfc);
EngineSettings read_engine(ConfigSection section);
// `folder`: of the scenario; files named in it are relative to it.
std::vector<WorkloadSettings> read_workloads(std::vector<ConfigSection> sections, const Topology& topology,
                                             const std::filesystem::path& folder);

}  // namespace rocelab
