#include "emu/runner/workloads/all_to_all.h"

#include "emu/runner/workload_parts.h"

namespace rocelab {

void AllToAll::check(ConfigSection& section, const WorkloadSettings& w, const Topology& topology) const {
  check_pairs(section, w, topology);
}

void AllToAll::draw(FlowDraw& draw) const {
  for_each_pair(draw.workload(), draw.topology(),
                [&](std::uint32_t src, std::uint32_t dst) { draw.add(src, dst); });
}

}  // namespace rocelab
