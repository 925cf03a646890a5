// FlowList and FlowFile: flows that are given one by one, in the scenario or in a file of another simulator.
#pragma once

#include <array>
#include <string_view>

#include "emu/runner/workload_type.h"

namespace rocelab {

class ListedWorkload : public Workload {  // WorkloadSettings::flows are its flows
 public:
  void check(ConfigSection&, const WorkloadSettings&, const Topology&) const override {}
  void draw(FlowDraw& draw) const override;
  Bytes largest_flow(const WorkloadSettings& w) const override;
};

class FlowList final : public ListedWorkload {
 public:
  static constexpr std::string_view kName = "list";
  static constexpr WorkloadKeys kKeys{.hosts = false, .size = false};
  static constexpr std::array<KeyText, 1> kOwnKeys = {
      {{"flow", "required", "",
        "`[[workload.flow]]` entries with `src`, `dst`, `size`, `start`, `op`, a `stop` in place of the "
        "workload's, and `dscp` or `class` in place of the workload's"}}};
  void read(ConfigSection& section, WorkloadSettings& w, const WorkloadContext& context) override;
};

class FlowFile final : public ListedWorkload {
 public:
  static constexpr std::string_view kName = "file";
  static constexpr WorkloadKeys kKeys{.hosts = false, .size = false, .jitter = false};
  static constexpr std::array<std::string_view, 2> kRequired = {"file", "dialect"};
  static constexpr std::array<KeyText, 4> kOwnKeys = {
      {{"file", "required", "", "docs/reference/interchange.md"},
       {"dialect", "required", "`hpcc`, `conweave`, `ns3-rdma`, `htsim`, `goal`",
        "flow.txt of the first three, connection matrix of htsim, a schedule in GOAL"},
       {"epoch", "`2s`; htsim: `0s`", "", "the file's time that is experiment time 0"},
       {"packet_payload", "`1000B`", "> 0", "ns3-rdma counts packets"}}};
  void read(ConfigSection& section, WorkloadSettings& w, const WorkloadContext& context) override;
};

}  // namespace rocelab
