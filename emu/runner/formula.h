// Closed formulas of an idle network: how long a flow takes alone, a ping-pong takes, and how many packets
// fill the longest path. Exact to the picosecond: each frame with all its headers (the last WRITE of a queue
// pair has an immediate, as the traffic program posts it), store and forward at every hop, window and ACKs
// included. docs/reference/metrics.md writes them out.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "emu/runner/routing.h"
#include "irn_provider/transport/nic_config.h"

namespace rocelab {

struct FlowShape {
  TransportMode mode = TransportMode::kRoce;
  FlowOp op = FlowOp::kWrite;
  Bytes size, message_size;  // message_size zero: one message
  std::uint32_t qps = 1;
  std::uint32_t path_mtu = 1024;
  std::uint32_t bdp_cap = 0;  // packets in flight per QP; 0 = no limit
  bool numbered = false;      // every message has an immediate; every datagram
  FlowService service = FlowService::kRc;
  Bytes shim{};  // that the NIC puts into every frame: slack
};

// Ethernet header to ICRC, without VLAN, over IPv4.
Bytes largest_data_frame(TransportMode mode, std::uint32_t path_mtu);
Bytes ack_frame(TransportMode mode);

std::uint64_t data_packets(const FlowShape& shape);
// All data frames of the flow with FCS, preamble and gap.
Bytes wire_bytes_of(const FlowShape& shape);

// From the post of its work requests to the arrival of its last data packet, alone on `path` from source to
// sink and on `back` from sink to source, where ACKs go and, of a READ, the requests: the sink of a READ
// posts.
Duration fct_alone(const FlowShape& shape, const Path& path, const Path& back);
// One iteration of a ping-pong: a SEND of `size` there and one back.
Duration ping_pong(TransportMode mode, Bytes size, std::uint32_t path_mtu, std::uint32_t bdp_cap,
                   const Path& path, const Path& back);

// A full data frame there and its ACK back, each with `shim`.
Duration round_trip(TransportMode mode, std::uint32_t path_mtu, const Path& path, const Path& back,
                    Bytes shim = {});
inline constexpr std::uint32_t kMostBdpCap = 1 << 20;  // IRN's bitmaps are as long
// ceil(round trip x rate of the path's slowest link / wire MTU): docs/explanation/architecture.md. 2^32 - 1
// stands for more, too.
std::uint32_t bdp_packets(TransportMode mode, std::uint32_t path_mtu, const Path& path, const Path& back,
                          Bytes shim = {});

}  // namespace rocelab
