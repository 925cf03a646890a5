#include "ovs_patches/switch_model/mechanisms/telemetry.h"

#include <algorithm>

#include "base/wire/shim_parts.h"
#include "base/wire_clock.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

std::string TelemetryMechanism::problem_in(const Params&, const SwitchConfig&,
                                           std::span<const PortConfig> ports) {
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (!telemetry_rate_code(ports[i].rate))
      return "port " + std::to_string(i) + ": rate " + to_string(ports[i].rate) +
             " has no code in HPCC's telemetry (base/wire/telemetry.h)";
  return {};
}

void TelemetryMechanism::on_transmit(PortId egress, Packet& packet, Time now) {
  const PortConfig& port = actions_.port(egress);
  std::uint8_t& hops = packet.roce.telemetry_hops;
  const bool escapes = packet.kind == PacketKind::kEscaping;
  const std::uint32_t own = Telemetry::shim_bytes(hops);
  const std::uint32_t grown = packet.frame_length + Telemetry::shim_bytes(hops + 1u) - own;
  const std::int64_t most = actions_.config().longest_frame().count() + shim_bytes_of(packet) -
                            own;  // what drivers have room for: other parts come on top
  if ((escapes || packet.kind == PacketKind::kData) && packet.payload_length > 0 &&
      hops < Telemetry::kMaxHops && grown <= most) {
    Telemetry& telemetry = PacketPool::telemetry(packet);
    if (hops == 0) telemetry = {};
    constexpr std::int64_t kPsPerNs = 1000, kMostQueue = (1 << TelemetryHop::kQueueBits) - 1;
    const std::int64_t queue = actions_.queued(egress, packet.tc).count() / TelemetryHop::kQueueUnit;
    TelemetryHop hop;
    hop.rate_code = telemetry_rate_code(port.rate).value_or(0);  // problem_of() refuses others
    hop.time = static_cast<std::uint32_t>(now.ps() / kPsPerNs) & ((1u << TelemetryHop::kTimeBits) - 1);
    hop.sent = static_cast<std::uint32_t>(sent_[egress.value].count() / TelemetryHop::kBytesUnit) &
               ((1u << TelemetryHop::kBytesBits) - 1);
    hop.queue = static_cast<std::uint32_t>(std::min(queue, kMostQueue));
    telemetry.push(static_cast<std::uint16_t>(port.cp_address), hop);
    hops = telemetry.hops;
    counters_[egress.value].added += grown - packet.frame_length;
    packet.frame_length = grown;
  }
  if (packet.payload_length > 0) counters_[egress.value].bytes += Telemetry::shim_bytes(hops);
  sent_[egress.value] += wire_bytes(packet.frame());
}

}  // namespace rocelab
