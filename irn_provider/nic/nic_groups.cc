// Nic: multicast groups and what arrives for them. Source: IBTA Vol 1, 10.5.2; the NIC makes a copy for each
// member.
#include <algorithm>

#include "irn_provider/nic/nic.h"
#include "irn_provider/nic/nic_impl.h"

namespace rocelab {

Nic::GroupResult Nic::join_group(Qpn qpn, const GroupAddress& group) {
  const QueuePair* qp = impl_->find(qpn);
  if (qp == nullptr || qp->init().type != QpType::kUd || qp->init().gsi) return GroupResult::kBadQp;
  if (!impl_->groups.contains(group) && impl_->groups.size() >= kMaxGroups) return GroupResult::kTooMany;
  std::vector<std::uint32_t>& members = impl_->groups[group];
  const std::uint32_t slot = impl_->slot_of(*qp);
  if (std::ranges::find(members, slot) != members.end()) return GroupResult::kOk;
  if (members.size() >= kMaxGroupMembers) return GroupResult::kTooMany;
  members.push_back(slot);
  return GroupResult::kOk;
}

Nic::GroupResult Nic::leave_group(Qpn qpn, const GroupAddress& group) {
  const QueuePair* qp = impl_->find(qpn);
  if (qp == nullptr) return GroupResult::kBadQp;
  const auto found = impl_->groups.find(group);
  if (found == impl_->groups.end() || std::erase(found->second, impl_->slot_of(*qp)) == 0)
    return GroupResult::kNoMember;
  if (found->second.empty()) impl_->groups.erase(found);
  return GroupResult::kOk;
}

std::size_t Nic::groups_of(Qpn qpn) const {
  const QueuePair* qp = impl_->find(qpn);
  if (qp == nullptr) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(impl_->groups, [&](const auto& group) {
    return std::ranges::find(group.second, impl_->slot_of(*qp)) != group.second.end();
  }));
}

std::size_t Nic::group_memberships() const {
  std::size_t sum = 0;
  for (const auto& [group, members] : impl_->groups) sum += members.size();
  return sum;
}

void Nic::Impl::leave_groups(std::uint32_t slot) {
  for (auto group = groups.begin(); group != groups.end();) {
    std::erase(group->second, slot);
    group = group->second.empty() ? groups.erase(group) : std::next(group);
  }
}

// A member whose state, transport or Q_Key does not fit misses its copy; the others have theirs.
void Nic::Impl::on_group(const Packet& packet, const OpcodeInfo& info, Time now) {
  const auto group = groups.find(group_of(packet));
  if (group == groups.end()) return drop(packet, NicDropReason::kNotInGroup, now);
  accept(packet, now);
  for (const std::uint32_t slot : group->second) {
    QueuePair& qp = *qps[slot];
    if (info.transport != TransportClass::kUd) {
      drop(packet, NicDropReason::kWrongMode, now);
    } else if (!qp.accepts(info.role)) {
      drop(packet, NicDropReason::kWrongState, now);
    } else {
      qp.on_packet(packet, info, now);
      touch(qp, now);
    }
  }
}

}  // namespace rocelab
