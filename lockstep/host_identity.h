// A host as RDMA sees it: GUID and GIDs, made from the MAC and IPv4 address that the scenario gave it, and
// the way back from a GID to a host. As Linux does it: GUID = EUI-64 of the MAC; GID 0 = fe80::EUI-64, GID 1
// = ::ffff:a.b.c.d, both RoCE v2.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/wire/frame.h"
#include "lockstep/segment.h"

namespace rocelab::lockstep {

using Guid = std::array<std::uint8_t, 8>;
using Mac = std::array<std::uint8_t, 6>;

inline constexpr int kGids = 2;

Guid guid_of(const Mac& mac);                  // RFC 4291, appendix A
Gid gid_of(const HostEntry& host, int index);  // index < kGids

// The host that owns `gid`; null: none in this run.
const HostEntry* find_host(std::span<const HostEntry> hosts, const Gid& gid);

// UDP source port of a QP's packets: constant for the connection, so that ECMP keeps it on one path.
// With a flow label, that of Linux (rdma_flow_label_to_udp_sport). Without one, 0xC000 | 14 bits of a hash
// over both QPNs and both GIDs: switches here hash the port alone, and QPNs of different hosts are alike. No
// seed enters.
std::uint16_t udp_source_port(std::uint32_t flow_label, std::uint32_t local_qpn, std::uint32_t remote_qpn,
                              const Gid& local, const Gid& remote);

// Of a switch port, for the PFC frames that it sends: locally administered; the port's place in the run.
Mac mac_of(const PortEntry& port);

}  // namespace rocelab::lockstep
