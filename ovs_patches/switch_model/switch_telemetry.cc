// INT in the switch: what a port says in the data frames that leave through it. Source: HPCC, SIGCOMM
// 2019, 4.1: rate, time, bytes sent and queue length "when a packet traverses a switch", at its departure;
// the format is base/wire/telemetry.h. A frame grows on the wire only: buffers count it as it was stored. An
// escaping frame is stamped, too (a switch left out would be another path to its sender, and its bytes would
// be missing); the queue that it tells of is the one that it went past.
#include <algorithm>

#include "base/wire/switch_shim.h"
#include "base/wire_clock.h"
#include "ovs_patches/switch_model/switch_path.h"

namespace rocelab {

void Switch::Impl::stamp(PortId port_id, Port& port, Packet& packet, Time now) {
  std::uint8_t& hops = packet.roce.telemetry_hops;
  const bool escapes = packet.kind == PacketKind::kEscaping;
  const std::uint32_t grown =
      packet.frame_length + SwitchShim::bytes(hops + 1u, escapes) - shim_bytes_of(packet);
  const std::int64_t most =
      config.longest_frame().count() + SwitchShim::bytes(0, escapes);  // what drivers have room for
  if ((escapes || packet.kind == PacketKind::kData) && packet.payload_length > 0 &&
      hops < Telemetry::kMaxHops && grown <= most) {
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
    hops = telemetry.hops;
    packet.frame_length = grown;
  }
  port.sent += wire_bytes(packet.frame());
}

}  // namespace rocelab
