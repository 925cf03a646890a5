// Multicast groups of UD QPs. As in Linux joining a group twice is joining once, and a QP that is a member
// cannot be destroyed. The `lid` has no meaning over Ethernet.
#include "base/wire/multicast.h"

#include <cerrno>
#include <cstring>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/real_verbs.h"

namespace rocelab::verbs {
namespace {

int change(const char* call, ibv_qp& qp, const ibv_gid& gid,
           Nic::GroupResult (Nic::*how)(Qpn, const GroupAddress&)) {
  Gid group{};
  std::memcpy(group.data(), gid.raw, group.size());
  if (!is_multicast(group)) return refused(call, EINVAL, "gid is of no multicast group");
  const Context& context = of(qp.context);
  return ask_nic(of(&qp), [&](Nic& nic, Time) {
    const Qpn qpn{qp.qp_num};
    const std::size_t before = nic.group_memberships();
    const Nic::GroupResult result = (nic.*how)(qpn, group);
    const bool joined = nic.group_memberships() > before;
    if (const int error = context.process->listen_to_groups(context.device->nic, nic.group_memberships());
        error != 0) {
      if (joined) nic.leave_group(qpn, group);
      return error;
    }
    if (result == Nic::GroupResult::kTooMany)
      return refused(call, ENOMEM, "the device's %zu groups are in use, or the group's %zu members",
                     Nic::kMaxGroups, Nic::kMaxGroupMembers);
    return result == Nic::GroupResult::kOk ? 0 : EINVAL;
  });
}

}  // namespace
}  // namespace rocelab::verbs

using namespace rocelab;
using namespace rocelab::verbs;

RL_EXPORT int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t lid) {
  if (!in_experiment()) return REAL(ibv_attach_mcast)(qp, gid, lid);
  return change("ibv_attach_mcast", *qp, *gid, &Nic::join_group);
}

RL_EXPORT int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t lid) {
  if (!in_experiment()) return REAL(ibv_detach_mcast)(qp, gid, lid);
  return change("ibv_detach_mcast", *qp, *gid, &Nic::leave_group);
}
