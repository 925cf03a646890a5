// Ucma: multicast groups of datagram services. As Linux over RoCE v2: the group's GID is the IP address
// itself, no subnet manager is asked and the join succeeds at once; librdmacm then attaches the QP
// (multicast.cc). Nothing is said on the network: switches flood groups to all hosts.
#include <netinet/in.h>

#include <cerrno>
#include <cstring>

#include "base/wire/multicast.h"
#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/rdma_cm/ucma.h"

namespace rocelab::verbs {
namespace {

constexpr std::uint8_t kHopLimit = 64;

}  // namespace

int Ucma::join(Caller& c, const Membership& wanted, const std::optional<cm::Address>& address,
               rdma_ucm_create_id_resp& out) {
  int error = 0;
  UcmaId* id = find(c, wanted.id, error);
  if (id == nullptr) return error;
  if (!address || !is_multicast(gid_of(*address))) {
    debug("rdma_cm: the address to join is of no multicast group");
    return EINVAL;
  }
  if (id->space != cm::PortSpace::kUdp || !id->has_device || id->local.ip_version != address->ip_version) {
    debug("rdma_cm: join with an identifier of RDMA_PS_UDP that is bound to this host's address");
    return EINVAL;
  }
  Membership membership = wanted;
  membership.group = gid_of(*address);
  out.id = next_id_++;
  memberships_[out.id] = membership;
  UcmaEvent event = event_of(*id, kMulticastJoin, 0);
  event.membership = event.response.id = out.id;
  event.response.uid = wanted.uid;
  rdma_ucm_ud_param& ud = event.response.param.ud;
  ud.qp_num = kMulticastQpn.value;
  ud.qkey = kUdpQkey;
  ud.ah_attr.is_global = 1;
  ud.ah_attr.port_num = kPorts;
  std::memcpy(ud.ah_attr.grh.dgid, membership.group.data(), membership.group.size());
  ud.ah_attr.grh.sgid_index = address->ip_version == 4 ? 1 : 0;
  ud.ah_attr.grh.hop_limit = kHopLimit;
  ud.ah_attr.grh.traffic_class = id->tos;
  push(c.file, event);
  return 0;
}

int Ucma::join_ip(Caller& c, const rdma_ucm_join_ip_mcast& cmd, rdma_ucm_create_id_resp& out) {
  return join(c, {.id = cmd.id, .uid = cmd.uid}, address_of(cmd.addr), out);
}

int Ucma::join_address(Caller& c, const rdma_ucm_join_mcast& cmd, rdma_ucm_create_id_resp& out) {
  sockaddr_in6 address{};
  const std::size_t least = cmd.addr.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (cmd.addr_size < least || cmd.addr_size > sizeof cmd.addr) return EINVAL;
  if (cmd.join_flags != RDMA_MC_JOIN_FLAG_FULLMEMBER &&
      cmd.join_flags != RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER)
    return EINVAL;
  std::memcpy(&address, &cmd.addr, sizeof address);
  return join(c, {.id = cmd.id, .uid = cmd.uid}, address_of(address), out);
}

int Ucma::leave(Caller& c, const rdma_ucm_destroy_id& cmd, rdma_ucm_destroy_id_resp& out) {
  const auto found = memberships_.find(cmd.id);
  if (found == memberships_.end()) return ENOENT;
  const auto id = ids_.find(found->second.id);
  if (id == ids_.end() || id->second->file != &c.file) return EINVAL;
  std::erase_if(c.file.ready, [&](const UcmaEvent& event) {
    const bool its = event.membership == cmd.id;
    if (its) c.file.events.take();
    return its;
  });
  out.events_reported = found->second.events_reported;
  memberships_.erase(found);
  return 0;
}

}  // namespace rocelab::verbs
