// Ucma: addresses. Hosts are looked up in the run's own table: resolution takes no experiment time and needs
// neither ARP nor the kernel's routes.
#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/wire/multicast.h"
#include "emu/world/host_identity.h"
#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/rdma_cm/ucma.h"
#include "irn_provider/verbs/translate.h"

namespace rocelab::verbs {
namespace {

constexpr std::uint8_t kExactly = 2, kHopLimit = 64, kLifetime = 18;  // as Linux: IB_SA_EQ, 1.07 s

bool is_link_local(const cm::Address& a) {
  return a.ip_version == 6 && a.ip[0] == 0xfe && (a.ip[1] & 0xc0) == 0x80;
}

// The host's own one, from which it speaks to `peer` (RFC 6724, rule 2: of the same scope).
cm::Address own_address(const HostEntry& host, const cm::Address& peer) {
  const bool ipv4 = peer.ip_version == 4, link_local = is_link_local(peer);
  const bool other = !link_local && gids_of(host) > kIpv6Gid;
  const Gid gid = gid_of(host, ipv4 ? kIpv4Gid : other ? kIpv6Gid : kLinkLocalGid);
  cm::Address a{peer.ip_version, {}, 0};
  std::copy(ipv4 ? gid.begin() + 12 : gid.begin(), gid.end(), ipv4 ? a.ip.begin() + 12 : a.ip.begin());
  return a;
}

bool is_own(const HostEntry& host, const cm::Address& address) {
  return index_of(host, gid_of(address)) >= 0;
}

std::uint8_t rate_code(Rate rate) {  // as ibv_rate; the next lower one that exists
  constexpr struct {
    std::int64_t gbps;
    std::uint8_t code;
  } kRates[] = {{400, 21}, {200, 20}, {100, 16}, {56, 12}, {40, 7}, {25, 15}, {20, 6}, {10, 3}, {5, 5}};
  for (const auto& r : kRates)
    if (rate.bps() >= r.gbps * 1'000'000'000) return r.code;
  return 2;
}

}  // namespace

std::optional<cm::Address> address_of(const sockaddr_in6& from) {
  cm::Address a;
  if (from.sin6_family == AF_INET6) {
    a.ip_version = 6;
    std::memcpy(a.ip.data(), &from.sin6_addr, a.ip.size());
    a.port = ntohs(from.sin6_port);
    return a;
  }
  if (from.sin6_family != AF_INET) return std::nullopt;
  sockaddr_in v4{};
  std::memcpy(&v4, &from, sizeof v4);
  std::memcpy(a.ip.data() + 12, &v4.sin_addr, 4);
  a.port = ntohs(v4.sin_port);
  return a;
}

sockaddr_in6 sockaddr_of(const cm::Address& address) {
  sockaddr_in6 out{};
  if (address.ip_version == 6) {
    out.sin6_family = AF_INET6;
    std::memcpy(&out.sin6_addr, address.ip.data(), address.ip.size());
    out.sin6_port = htons(address.port);
    return out;
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  std::memcpy(&v4.sin_addr, address.ip.data() + 12, 4);
  v4.sin_port = htons(address.port);
  std::memcpy(&out, &v4, sizeof v4);
  return out;
}

Gid gid_of(const cm::Address& a) {
  if (a.ip_version == 4) return ipv4_mapped({a.ip[12], a.ip[13], a.ip[14], a.ip[15]});
  Gid gid{};
  std::copy(a.ip.begin(), a.ip.end(), gid.begin());
  return gid;
}

std::optional<std::size_t> Ucma::own_nic(const cm::Address& address) const {
  for (std::size_t nic = 0; nic < process_.nics(); ++nic)
    if (is_own(process_.host(nic), address)) return nic;
  return std::nullopt;
}

// The port, and with an address the device. 0 or an errno.
int Ucma::bind(UcmaId& id, const cm::Address& address) {
  if (id.bound) return EINVAL;
  const std::optional<std::size_t> own = own_nic(address);
  if (!is_any(address) && !own) return EADDRNOTAVAIL;
  id.port.space = id.space;
  id.port.address = address;
  id.port.family_only = id.family_only.value_or(address.ip_version == 4);  // net.ipv6.bindv6only is 0
  if (const int error = ports_.bind(id.port); error != 0) return error;
  id.bound = true;
  id.local = id.port.address;
  id.has_device = own.has_value();
  id.nic = own.value_or(0);
  id.local_gid = gid_of(address);
  return 0;
}

int Ucma::bind_ip(Caller& c, const rdma_ucm_bind_ip& cmd) {
  int error = 0;
  UcmaId* id = find(c, cmd.id, error);
  if (id == nullptr) return error;
  const auto address = address_of(cmd.addr);
  return address ? bind(*id, *address) : EAFNOSUPPORT;
}

// The source of an active identifier: what the program says, else the host's own address for that peer.
bool Ucma::take_source(UcmaId& id, const cm::Address& source, const cm::Address& peer, int& error) {
  error = id.bound ? 0 : bind(id, source);
  if (error != 0) return false;
  const std::uint16_t port = id.local.port;
  if (is_any(id.local)) {
    id.nic = process_.nic_towards(gid_of(peer));
    id.local = own_address(host(id), peer);
  }
  id.local.port = port;
  id.port.address = id.local;
  id.local_gid = gid_of(id.local);
  return id.has_device = true;
}

int Ucma::resolve_ip(Caller& c, const rdma_ucm_resolve_ip& cmd) {
  int error = 0;
  UcmaId* id = find(c, cmd.id, error);
  if (id == nullptr) return error;
  const auto destination = address_of(cmd.dst_addr);
  if (!destination) return EAFNOSUPPORT;
  // As Linux: an identifier is resolved once, unless that failed, and not to the other family than it is
  // bound to.
  if (id->connecting || id->listening || id->has_remote) return EINVAL;
  if (id->bound && id->local.ip_version != destination->ip_version) return EINVAL;
  cm::Address source = address_of(cmd.src_addr).value_or(cm::Address{destination->ip_version, {}, 0});
  if (source.ip_version != destination->ip_version) return EINVAL;
  if (!take_source(*id, source, *destination, error)) return error;
  id->remote = *destination;
  if (is_any(id->remote)) {  // the host itself
    id->remote = id->local;
    id->remote.port = destination->port;
  }
  id->remote_gid = gid_of(id->remote);
  id->has_remote = is_multicast(id->remote_gid) || process_.find_peer(id->nic, id->remote_gid).has_value();
  if (id->has_remote) {
    tell(*id, kAddrResolved, 0);
  } else {
    explain("rdma_resolve_addr", EHOSTUNREACH,
            "the address belongs to no host here, or the host answers no ARP, or no link leads there");
    tell(*id, kAddrError, -EHOSTUNREACH);
  }
  return 0;
}

int Ucma::resolve_route(Caller& c, const rdma_ucm_resolve_route& cmd) {
  int error = 0;
  UcmaId* id = find(c, cmd.id, error);
  if (id == nullptr) return error;
  if (!id->has_remote || id->has_route || id->connecting) return EINVAL;
  id->has_route = true;
  tell(*id, kRouteResolved, 0);
  return 0;
}

int Ucma::query_route(Caller& c, const rdma_ucm_query& cmd, rdma_ucm_query_route_resp& out) {
  int error = 0;
  const UcmaId* id = find(c, cmd.id, error);
  if (id == nullptr) return error;
  out.src_addr = sockaddr_of(id->local);
  if (id->has_remote) out.dst_addr = sockaddr_of(id->remote);
  out.ibdev_index = 0xffffffff;  // what ibv_get_device_index says, too
  if (!id->has_device) return 0;
  const Guid guid = guid_of(host(*id).mac);
  std::memcpy(&out.node_guid, guid.data(), sizeof out.node_guid);
  out.port_num = kPorts;
  ib_user_path_rec& path = out.ib_route[0];
  std::copy(id->local_gid.begin(), id->local_gid.end(), path.sgid);
  if (id->has_remote) std::copy(id->remote_gid.begin(), id->remote_gid.end(), path.dgid);
  path.pkey = kPkey;
  if (!id->has_route) return 0;
  out.num_paths = 1;
  const cm::QpSettings* settings = id->handle.value != 0 ? manager(*id).settings(id->handle) : nullptr;
  path.flow_label = settings != nullptr ? htonl(settings->flow_label) : 0;
  path.reversible = 1;
  path.mtu = mtu_code(host(*id).nic.active_mtu);
  path.hop_limit = kHopLimit;
  path.traffic_class = id->tos;
  path.numb_path = 1;
  path.mtu_selector = path.rate_selector = path.packet_life_time_selector = kExactly;
  path.rate = rate_code(host(*id).nic.link_rate);
  path.packet_life_time = kLifetime;
  return 0;
}

}  // namespace rocelab::verbs
