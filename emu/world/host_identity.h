// A host as RDMA sees it: GUID and GIDs, made from the MAC and the addresses that the scenario gave it, and
// the way back from a GID to a host. As Linux does it: GUID = EUI-64 of the MAC; GID 0 = fe80::EUI-64, GID 1
// = ::ffff:a.b.c.d, GID 2 = the other IPv6 address, if the host has one; all RoCE v2.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/wire/frame.h"
#include "emu/world/world.h"

namespace rocelab {

using Guid = std::array<std::uint8_t, 8>;
using Mac = std::array<std::uint8_t, 6>;

// Where GIDs of each kind are in a host's table.
inline constexpr int kLinkLocalGid = 0, kIpv4Gid = 1, kIpv6Gid = 2;

// Of a host of a scenario: fd00::a.b.c.d, a unique local address (RFC 4193) that names the IPv4 one.
std::array<std::uint8_t, 16> ipv6_of(std::uint32_t ipv4);

Guid guid_of(const Mac& mac);                         // RFC 4291, appendix A
int gids_of(const HostEntry& host);                   // how many: 2 or 3
Gid gid_of(const HostEntry& host, int index);         // index < gids_of(host)
int index_of(const HostEntry& host, const Gid& gid);  // -1: the host has no such GID

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

}  // namespace rocelab
