// RoceHeaders: the InfiniBand transport headers of one packet, as host values: BTH and those extension
// headers that its opcode has. Which fields mean something is asked of the opcode table (base/wire/opcode.h);
// the others stay zero, so that == compares packets. Reading and writing bytes: base/wire/roce_packet.h.
// Source: IBTA Vol 1, chapter 9; the IRN class: base/wire/irn.h.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/psn.h"

namespace rocelab {

inline constexpr std::uint16_t kDefaultPkey = 0xffff;

struct RoceHeaders {
  // BTH (IBTA 9.2)
  std::uint8_t opcode = 0;
  bool solicited = false;
  bool mig_req = true;
  bool ack_req = false;
  bool fecn = false;
  bool becn = false;
  std::uint8_t pad = 0;  // 0..3 bytes that fill the payload to a multiple of 4
  std::uint8_t transport_version = 0;
  std::uint8_t syndrome = 0;   // AETH
  std::uint8_t shim_hops = 0;  // Escape's hops in the shim slot before the BTH; 0: no shim (base/wire/etf.h)
  std::uint16_t pkey = kDefaultPkey;
  Qpn dest;
  Psn psn;
  std::uint8_t telemetry_hops =
      0;              // of INT in the shim slot (base/wire/telemetry.h, PacketPool::telemetry())
  bool ipv6 = false;  // at switches: between link-local addresses, by which Escape's tokens name the flow
  bool has_gids : 1 = false;   // at NICs: it came as bytes, between the ends that PacketPool::gids_of() tells
  bool has_slack : 1 = false;  // in the shim slot (base/slack.h, PacketPool::slack())
  bool has_hop_times : 1 = false;  // beside it (base/hop_times.h, PacketPool::hop_times())
  bool has_rcp : 1 = false;        // in the shim slot, and here in `compare` (base/rcp.h)
  bool has_bfc : 1 = false;        // in the shim slot, and here in `bfc_queue` (base/bfc.h)
  std::uint8_t dscp = 0;           // of the IP header: what each node takes the class from (base/class_map.h)
  // RETH; AtomicETH shares va and rkey. ACK_BLOCKS keep their blocks in va, swap_or_add and compare
  // (irn_blocks_of(), base/wire/roce_packet.h)
  std::uint64_t va = 0;
  RKey rkey;
  std::uint32_t dma_length = 0;
  std::uint64_t swap_or_add = 0;  // AtomicETH; AtomicAckETH keeps the original value here
  std::uint64_t compare = 0;      // AtomicETH
  Msn msn;                        // AETH
  std::uint32_t imm = 0;          // ImmDt, host order; IETH keeps the invalidated rkey here, FETH its word
  std::uint32_t qkey = 0;         // DETH
  Qpn src_qpn;                    // DETH; XRCETH keeps the number of the XRC SRQ here
  // IRN class (base/wire/irn.h)
  std::uint32_t wqe_sn = 0;  // recv_WQE_SN or read_WQE_SN, 24 bits
  std::uint32_t offset = 0;  // SEND: packets since the message's first, 24 bits
  Psn sack;                  // (read) NACK and ACK_BLOCKS: PSN of the packet that triggered it
  // BFC (base/bfc.h): the queue that the frame left at the upstream end of its link; and while a switch holds
  // it, its queue there, and whether it is counted as a reason for a pause.
  std::uint8_t bfc_queue = 0, bfc_joined = 0;
  bool bfc_pauses = false;

  friend bool operator==(const RoceHeaders&, const RoceHeaders&) = default;
};

}  // namespace rocelab
