// The faults of a link, done to frames that are packets without bytes. A frame that is damaged goes on as
// kDamagedBit says and is dropped by the NIC at its end for its ICRC; which bit was flipped is forgotten
// (DEVIATIONS.md). PFC frames are not passed in: they cross unharmed.
#pragma once

#include "base/packet.h"
#include "base/wire/controls.h"
#include "base/wire/opcode.h"
#include "base/wire/shim_parts.h"
#include "base/wire/udp.h"
#include "emu/link/link_direction.h"

namespace rocelab::des {

// Packet::frame_slot of a frame in flight: its UDP source port, and whether it is damaged.
inline constexpr std::uint32_t kDamagedBit = 1u << 16;
inline std::uint16_t udp_src_port_of(const Packet& packet) {
  return static_cast<std::uint16_t>(packet.frame_slot);
}

// The next frame, in the order of the link. False: it is lost.
[[gnu::cold]] inline bool cross(LinkDirection& link, Packet& packet) {
  const FaultVerdict verdict = link.cross(packet.payload_length > 0, [&] {
    constexpr std::uint32_t kIcrc = 4;
    return is_feedback(packet.kind)
               ? static_cast<std::uint32_t>(transport_of(packet).bytes)
               : static_cast<std::uint32_t>(UdpHeader::kSize) + opcode_info(packet.roce.opcode).header_bytes +
                     packet.payload_length + packet.roce.pad + kIcrc + shim_bytes_of(packet);
  });
  if (verdict.kind == FaultVerdict::Kind::kCorrupt) packet.frame_slot |= kDamagedBit;
  return verdict.kind != FaultVerdict::Kind::kDrop;
}

}  // namespace rocelab::des
