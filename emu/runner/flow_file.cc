#include "emu/runner/flow_file.h"

#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "emu/runner/routing.h"

namespace rocelab {

namespace {

// Nanoseconds with three decimals.
std::string ns_text(std::int64_t ps) {
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(ps / 1000),
                static_cast<long long>(ps % 1000));
  return text;
}

std::string stream_text(const StreamSettings& stream) {
  if (stream.rate.bps() == 0) return "";
  const std::string rate = " rate=" + std::to_string(stream.rate.bps());
  return stream.off.ps() == 0 ? rate
                              : rate + " on=" + ns_text(stream.on.ps()) + " off=" + ns_text(stream.off.ps());
}

std::string service_text(const Flow& flow, std::uint32_t path_mtu) {
  if (flow.service == FlowService::kRc) return "";
  const std::string text = std::string(" service=") + to_string(flow.service);
  return flow.service == FlowService::kUd ? text + " datagram=" + std::to_string(path_mtu) : text;
}

std::string stop_text(const Flow& flow) {
  const std::string stop = flow.stop.is_never() ? "" : " stop=" + ns_text(flow.stop.ps());
  const bool waits = !flow.stop.is_never() || flow.service != FlowService::kRc;
  return waits ? stop + " settle=" + std::to_string(flow.settle.ps() / 1000) : stop;
}

}  // namespace

std::string flow_lines(const RunPlan& plan) {
  std::string text = "# " + plan.scenario + ", " + plan.label + ", seed " + std::to_string(plan.seed) +
                     "\n# id src dst op size message_size start_ns qps label after dscp\n";
  const NicConfig& nic = plan.settings.nic.config;
  for (const Flow& flow : plan.flows) {
    text += std::to_string(flow.id) + " " + plan.world.hosts[flow.src].name + " " +
            plan.world.hosts[flow.dst].name + " " + to_string(flow.op) + " " +
            std::to_string(flow.size.count()) + " " + std::to_string(flow.message_size.count()) + " " +
            ns_text(flow.start.ps()) + " " + std::to_string(flow.qps) + " " + flow.group;
    if (flow.after_count > 0) text += " " + std::to_string(flow.after_count);
    for (std::size_t i = 0; i < flow.after.size(); ++i) {
      text += (i == 0 ? "/" : ",") + std::to_string(flow.after[i].flow);
      if (const Duration delay = flow.after[i].delay; delay.ps() > 0)
        text += "+" + std::to_string((delay.ps() + 999) / 1000);
    }
    if (flow.queue_pairs == QueuePairs::kPerFlow)
      text += " connect=" + ns_text(flow.connect.ps()) + " settle=" + std::to_string(flow.settle.ps() / 1000);
    if (flow.connection != 0) text += " connection=" + std::to_string(flow.connection);
    if (flow.dscp) text += " dscp=" + std::to_string(*flow.dscp);
    text += stream_text(flow.stream) + service_text(flow, nic.active_mtu) + stop_text(flow) + "\n";
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
