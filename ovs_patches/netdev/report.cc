#include "ovs_patches/netdev/report.h"

#include <cstdarg>
#include <cstdio>

namespace rocelab {
namespace {

__attribute__((format(printf, 2, 3))) void add(std::string& text, const char* format, ...) {
  char line[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(line, sizeof line, format, args);
  va_end(args);
  text += line;
}

std::string or_dash(Bytes b, bool meaningful) { return meaningful ? to_string(b) : "-"; }

std::string peer_of(const Fabric& fabric, const PortEntry& port) {
  const auto& segment = fabric.segment();
  if (port.peer_host != kNoPeer) return segment.hosts()[port.peer_host].name;
  return port.peer_port != kNoPeer ? segment.ports()[port.peer_port].interface : "-";
}

void show_ports(std::string& text, const Fabric& fabric, const SwitchEntry& entry) {
  add(text, "  %-15s %-15s %9s %8s %12s %12s %8s %8s %8s %8s\n", "port", "peer", "rate", "delay", "rx frames",
      "tx frames", "drops", "lossless", "marked", "lost");
  for (std::uint32_t i = entry.first_port; i < entry.first_port + entry.ports; ++i) {
    const PortEntry& port = fabric.segment().ports()[i];
    const PortResult& result = fabric.segment().port_results()[i];
    const SwitchPortCounters c = fabric.counters(i);
    add(text, "  %-15s %-15s %9s %8s %12lu %12lu %8lu %8lu %8lu %8lu\n", port.interface,
        peer_of(fabric, port).c_str(), to_string(port.config.rate).c_str(),
        to_string(port.config.delay).c_str(), c.rx_frames, c.tx_frames, c.drops, c.lossless_drops,
        c.ecn_marked, result.link_in.lost_frames + result.link_out.lost_frames);
  }
}

// Classes that never carried a frame and are not lossless say nothing.
bool worth_a_row(const ClassReport& row, const SwitchPortCounters& c) {
  const std::uint8_t tc = row.tc.value;
  return row.lossless || c.queue_peak_bytes[tc] > 0 || c.ingress_peak_bytes[tc] > 0;
}

void show_classes(std::string& text, const Fabric& fabric, const Switch& model, const SwitchEntry& entry) {
  add(text, "  %-15s %2s %-8s %8s %8s %8s %8s %8s %8s %8s %8s %-7s %7s %7s %10s\n", "port", "tc", "kind",
      "buffer", "headroom", "xoff", "xon", "limit", "queue", "peak", "ingress", "pause", "xoff tx", "xoff rx",
      "paused us");
  for (const ClassReport& row : model.describe()) {
    const std::uint32_t index = entry.first_port + row.port.value;
    const SwitchPortCounters c = fabric.counters(index);
    if (!worth_a_row(row, c)) continue;
    const std::uint8_t tc = row.tc.value;
    const std::string pause = std::string(model.is_paused(row.port, row.tc) ? "paused" : "") +
                              (model.is_pausing(row.port, row.tc) ? "!" : "");
    add(text, "  %-15s %2u %-8s %8s %8s %8s %8s %8s %8s %8s %8s %-7s %7lu %7lu %10.1f\n",
        fabric.segment().ports()[index].interface, unsigned{tc}, row.lossless ? "lossless" : "lossy",
        or_dash(row.buffer, row.lossless).c_str(), or_dash(row.headroom, row.lossless).c_str(),
        or_dash(row.xoff, row.lossless).c_str(), or_dash(row.xon, row.lossless).c_str(),
        or_dash(row.egress_limit, !row.lossless).c_str(),
        to_string(model.queue_bytes(row.port, row.tc)).c_str(),
        to_string(Bytes::from_count(static_cast<std::int64_t>(c.queue_peak_bytes[tc]))).c_str(),
        to_string(model.ingress_bytes(row.port, row.tc)).c_str(), pause.empty() ? "-" : pause.c_str(),
        c.xoff_sent[tc], c.xoff_received[tc], static_cast<double>(c.paused_ps[tc]) * 1e-6);
  }
}

void add_link(std::string& text, const char* name, const LinkCounters& c) {
  add(text,
      "\"%s\": {\"lost_frames\": %lu, \"lost_data_frames\": %lu, \"corrupted_frames\": %lu, "
      "\"malformed_frames\": %lu, \"undeliverable_frames\": %lu}",
      name, c.lost_frames, c.lost_data_frames, c.corrupted_frames, c.malformed_frames,
      c.undeliverable_frames);
}

void add_port(std::string& text, const Fabric& fabric, std::uint32_t index) {
  const PortResult& result = fabric.segment().port_results()[index];
  add(text, "\"%s\": {\"counters\": {", fabric.segment().ports()[index].interface);
  const auto values = values_of(fabric.counters(index));
  for (std::size_t i = 0; i < switch_port_counters(); ++i)
    add(text, "%s\"%s\": %lu", i > 0 ? ", " : "", switch_port_counter_name(i), values[i]);
  text += "}, ";
  add_link(text, "link_in", result.link_in);
  text += ", ";
  add_link(text, "link_out", result.link_out);
  text += "}";
}

}  // namespace

std::string show(Fabric& fabric, const std::string& name) {
  std::string text;
  for (std::size_t i = 0; i < fabric.switches(); ++i) {
    const SwitchEntry& entry = fabric.segment().switches()[i];
    if (!name.empty() && name != entry.name) continue;
    const Switch& model = fabric.model(i);
    add(text, "%s at %s: %lu frames wait\n", entry.name, to_string(fabric.now()).c_str(),
        model.queued_frames());
    show_ports(text, fabric, entry);
    show_classes(text, fabric, model, entry);
  }
  return text;
}

std::string counters_json(Fabric& fabric) {
  std::string text;
  add(text, "{\"time_ps\": %ld, \"switches\": {", fabric.now().ps());
  for (std::size_t i = 0; i < fabric.switches(); ++i) {
    const SwitchEntry& entry = fabric.segment().switches()[i];
    add(text, "%s\"%s\": {\"digest\": \"%s\", \"late_arrivals\": %lu, \"ports\": {", i > 0 ? ", " : "",
        entry.name, to_hex(fabric.trace(i).digest()).c_str(), fabric.late_arrivals(i));
    for (std::uint32_t port = 0; port < entry.ports; ++port) {
      if (port > 0) text += ", ";
      add_port(text, fabric, entry.first_port + port);
    }
    text += "}}";
  }
  return text + "}}";
}

}  // namespace rocelab
