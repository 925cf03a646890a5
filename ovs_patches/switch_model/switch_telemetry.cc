// INT in the switch: what a port says in the data frames that leave through it. Source: HPCC, SIGCOMM
// 2019, 4.1: rate, time, bytes sent and queue length "when a packet traverses a switch", at its departure;
// the format is base/wire/telemetry.h. A frame grows on the wire only: buffers count it as it was stored.
#include <algorithm>

#include "base/wire/telemetry.h"
#include "base/wire_clock.h"
#include "ovs_patches/switch_model/switch_path.h"

namespace rocelab {

void Switch::Impl::stamp(PortId port_id, Port& port, Packet& packet, Time now) {
  std::uint8_t& hops = packet.roce.telemetry_hops;
  if (packet.kind == PacketKind::kData && packet.payload_length > 0 && hops < Telemetry::kMaxHops) {
    Telemetry& telemetry = PacketPool::telemetry(packet);
    if (hops == 0) telemetry = {};
    constexpr std::int64_t kPsPerNs = 1000, kMostQueue = (1 << TelemetryHop::kQueueBits) - 1;
    const std::int64_t queue = queues.bytes(port_id, packet.tc).count() / TelemetryHop::kQueueUnit;
    TelemetryHop hop;
    hop.rate_code = telemetry_rate_code(port.config.rate).value_or(0);  // problem_of() refuses others
    hop.time = static_cast<std::uint32_t>(now.ps() / kPsPerNs) & ((1u << TelemetryHop::kTimeBits) - 1);
    hop.sent = static_cast<std::uint32_t>(port.sent.count() / TelemetryHop::kBytesUnit) &
               ((1u << TelemetryHop::kBytesBits) - 1);
    hop.queue = static_cast<std::uint32_t>(std::min(queue, kMostQueue));
    telemetry.push(static_cast<std::uint16_t>(port.config.cp_address), hop);
    packet.frame_length += Telemetry::shim_bytes(telemetry.hops) - Telemetry::shim_bytes(hops);
    hops = telemetry.hops;
  }
  port.sent += wire_bytes(packet.frame());
}

}  // namespace rocelab
