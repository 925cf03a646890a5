// What a switch shows: lengths, states, counters, the report of its thresholds.
#include "base/check.h"
#include "ovs_patches/switch_model/switch_core.h"

namespace rocelab {

std::size_t Switch::ports() const { return core_->ports.size(); }
const PortConfig& Switch::port(PortId port) const { return core_->at(port).config; }
const SwitchConfig& Switch::config() const { return core_->config; }
Bytes Switch::shared_pool_used() const { return core_->buffer.pool_used(); }
std::uint64_t Switch::queued_frames() const {
  return core_->queues.frames() + core_->mechanisms.held_frames();
}

Bytes Switch::queue_bytes(PortId egress, Tc tc) const {
  RL_CHECK(egress.value < ports() && tc.value < kTrafficClasses);
  return core_->queues.bytes(egress, tc);
}

Bytes Switch::ingress_bytes(PortId ingress, Tc tc) const {
  RL_CHECK(ingress.value < ports() && tc.value < kTrafficClasses);
  return core_->buffer.held(ingress, tc);
}

bool Switch::is_paused(PortId egress, Tc tc) const {
  return (core_->at(egress).pauses.paused() & bit_of(tc)) != 0;
}
bool Switch::is_pausing(PortId ingress, Tc tc) const { return core_->at(ingress).requests.asks(tc); }

SwitchPortCounters Switch::counters(PortId port_id, Time now) const {
  const SwitchCore::Port& port = core_->at(port_id);
  SwitchPortCounters counters = port.counters;
  for (std::size_t kind = 0; kind < static_cast<std::size_t>(SentKind::k_escape_token); ++kind) {
    counters.tx_frames += counters.sent[kind].frames;
    counters.tx_bytes += counters.sent[kind].bytes;
  }
  for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc) {
    counters.queue_peak_bytes[tc] =
        static_cast<std::uint64_t>(core_->queues.peak_bytes(port_id, Tc{tc}).count());
    counters.ingress_peak_bytes[tc] = static_cast<std::uint64_t>(core_->buffer.peak(port_id, Tc{tc}).count());
    counters.longest_pause_ps[tc] = static_cast<std::uint64_t>(port.pauses.longest_pause(Tc{tc}, now).ps());
    counters.paused_ps[tc] = static_cast<std::uint64_t>(port.pauses.paused_time(Tc{tc}, now).ps());
  }
  core_->mechanisms.write_counters(port_id, counters.of_mechanisms.data());
  return counters;
}

std::vector<ClassReport> Switch::describe() const {
  std::vector<ClassReport> rows;
  for (std::uint16_t port = 0; port < ports(); ++port) {
    for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc) {
      const ClassConfig& c = core_->config.classes[tc];
      ClassReport row;
      row.port = PortId{port};
      row.tc = Tc{tc};
      row.lossless = core_->lossless(row.tc);
      row.ecn = c.ecn;
      row.selection = c.selection;
      row.weight = c.weight;
      if (row.lossless) {
        const PfcThresholds& t = core_->buffer.thresholds(PortId{port});
        row.buffer = t.xoff + t.headroom;
        row.headroom = t.headroom;
        row.xoff = t.xoff;
        row.xon = t.xon;
        row.quanta = core_->config.pfc.quanta;
      } else {
        row.egress_limit =
            core_->config.input_buffered ? core_->config.input_buffer : core_->config.egress_limit;
      }
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace rocelab
