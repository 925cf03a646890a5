// PacketEdge: frames' bytes to packets and back, at the edge of one NIC: what a driver's rings or sockets
// carry on one side, what the state machines see on the other. No I/O. Payload is gathered straight from the
// program's memory; a received packet refers to the frame's bytes.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "base/packet.h"
#include "base/trace.h"
#include "base/wire/control.h"
#include "base/wire/local_frame.h"
#include "irn_provider/nic/nic.h"
#include "lockstep/segment.h"

namespace rocelab {

class PacketEdge final : ControlNodes {
 public:
  // All of them outlive it.
  PacketEdge(const HostEntry& host, PacketPool& pool, TraceSink& trace)
      : host_(host), pool_(pool), trace_(trace) {}

  // Where a congestion point's feedback may name flows to (RoCC).
  void know_node(std::uint32_t ipv4, NodeId node) { nodes_by_ipv4_.emplace(ipv4, node); }

  // Untrusted bytes from the Ethernet header on, as a frame of `kind` (what the link says); they stay as long
  // as the packet. A datagram's headers become its GRH in place. Null: not a good frame; counted, traced at
  // `when`.
  PacketRef parse(std::span<std::byte> frame, PacketKind kind, Time when);

  // The same for a frame that its sender can still change, `shared`: `copy`, as long, holds its headers,
  // which are read there. The payload is read where it lies; a datagram's goes into the copy, behind its GRH.
  // An ICRC is not looked at.
  PacketRef parse_shared(std::span<std::byte> copy, std::span<const std::byte> shared, Time when);

  // The frame of a packet just pulled from `nic`: packet.frame_length bytes of `out` (RL_CHECK: it has them);
  // `ip_id`: of its IPv4 header.
  // False: the program's memory is gone; send nothing.
  bool write(const Nic& nic, const Packet& packet, std::span<std::byte> out, std::uint16_t ip_id = 0,
             Icrc icrc = Icrc::kPresent) const;

  const NicCounters& counters() const { return counters_; }  // of frames that never became packets

 private:
  NodeId node_of(std::uint32_t ipv4) const override;
  PacketRef parse_control(std::span<const std::byte> frame, PacketKind kind, Time when);
  PacketRef parse_roce(std::span<std::byte> frame, IcrcCheck check, Time when, FrameLayout& layout);
  std::uint32_t take_shim(std::span<std::byte> frame, Packet& packet) const;
  PacketRef bad_frame(std::size_t length, FrameError why, Time when);
  FrameAddress address_of(const Nic& nic, const Packet& packet, std::uint16_t ip_id) const;

  const HostEntry& host_;
  PacketPool& pool_;
  TraceSink& trace_;
  NicCounters counters_;
  std::unordered_map<std::uint32_t, NodeId> nodes_by_ipv4_;  // looked up, never walked
};

}  // namespace rocelab
