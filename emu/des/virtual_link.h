// VirtualLink: one direction of a link where frames are packets without bytes: the scenario's faults, with
// the verdicts (emu/port/fault_port.h) and the counters of the live engine's links. A frame that a fault
// damages goes on as kDamagedBit says and is dropped by the NIC at its end for its ICRC; which bit was
// flipped is forgotten (DEVIATIONS.md). PFC frames are not passed in: they cross unharmed.
#pragma once

#include "base/packet.h"
#include "base/rng.h"
#include "base/wire/controls.h"
#include "base/wire/opcode.h"
#include "base/wire/shim_parts.h"
#include "base/wire/udp.h"
#include "emu/port/fault_port.h"
#include "emu/port/link_counters.h"

namespace rocelab::des {

// Packet::frame_slot of a frame in flight: its UDP source port, and whether it is damaged.
inline constexpr std::uint32_t kDamagedBit = 1u << 16;
inline std::uint16_t udp_src_port_of(const Packet& packet) {
  return static_cast<std::uint16_t>(packet.frame_slot);
}

class VirtualLink {
 public:
  // `rng`: this direction's own stream.
  VirtualLink(const FaultConfig& config, Rng rng)
      : faults_(config, rng), corrupts_(config.corrupt_rate > 0) {}

  // The next frame, in the order of the link. False: it is lost.
  bool cross(Packet& packet);
  // A link without faults need not be asked.
  static bool has_faults(const FaultConfig& config) {
    return config.drop_rate > 0 || config.corrupt_rate > 0 || config.listed > 0;
  }
  const LinkCounters& counters() const { return counters_; }
  LinkCounters& counters() { return counters_; }

 private:
  FaultPort faults_;
  bool corrupts_;
  LinkCounters counters_;
};

inline bool VirtualLink::cross(Packet& packet) {
  constexpr std::uint32_t kIcrc = 4;
  const std::uint32_t behind_ip =
      is_feedback(packet.kind)
          ? static_cast<std::uint32_t>(transport_of(packet).bytes)
          : static_cast<std::uint32_t>(UdpHeader::kSize) + opcode_info(packet.roce.opcode).header_bytes +
                packet.payload_length + packet.roce.pad + kIcrc + shim_bytes_of(packet);
  const FaultVerdict verdict = faults_.on_frame(packet.payload_length > 0, corrupts_ ? behind_ip : 0);
  if (verdict.kind == FaultVerdict::Kind::kCorrupt) packet.frame_slot |= kDamagedBit;
  return count_fault(counters_, verdict.kind, packet.payload_length > 0);
}

}  // namespace rocelab::des
