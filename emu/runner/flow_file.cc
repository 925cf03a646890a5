#include "emu/runner/flow_file.h"

#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "emu/runner/routing.h"

namespace rocelab {

std::string flow_lines(const RunPlan& plan) {
  std::string text = "# " + plan.scenario + ", " + plan.label + ", seed " + std::to_string(plan.seed) +
                     "\n# id src dst op size message_size start_ns qps label after dscp\n";
  for (const Flow& flow : plan.flows) {
    char start[40];
    std::snprintf(start, sizeof start, "%lld.%03lld", static_cast<long long>(flow.start.ps() / 1000),
                  static_cast<long long>(flow.start.ps() % 1000));
    text += std::to_string(flow.id) + " " + plan.world.hosts[flow.src].name + " " +
            plan.world.hosts[flow.dst].name + " " + to_string(flow.op) + " " +
            std::to_string(flow.size.count()) + " " + std::to_string(flow.message_size.count()) + " " +
            start + " " + std::to_string(flow.qps) + " " + flow.group;
    if (flow.after_count > 0) text += " " + std::to_string(flow.after_count);
    for (std::size_t i = 0; i < flow.after.size(); ++i)
      text += (i == 0 ? "/" : ",") + std::to_string(flow.after[i]);
    if (flow.dscp) text += " dscp=" + std::to_string(*flow.dscp);
    text += "\n";
  }
  return text;
}

std::string host_lines(const RunPlan& plan) {
  std::string text;
  for (const HostEntry& host : plan.world.hosts)
    text += std::string(host.name) + " " + ipv4_text(host.ipv4) + "\n";
  return text;
}

void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::trunc);
  out << text;
  out.close();
  if (!out) throw std::runtime_error(file.string() + ": cannot be written");
}

}  // namespace rocelab
