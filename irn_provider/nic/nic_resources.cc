// Nic: protection and XRC domains, memory regions and windows, address handles, queue pairs. Completion
// queues and shared receive queues: nic_queues.cc.
#include "base/check.h"
#include "irn_provider/nic/nic.h"
#include "irn_provider/nic/nic_impl.h"

namespace rocelab {
namespace {

// IBTA 11.2.8.2: remote writes and atomics need local write.
bool is_allowed(std::uint32_t access) {
  const bool remote_writes = (access & (kAccessRemoteWrite | kAccessRemoteAtomic)) != 0;
  return !remote_writes || (access & kAccessLocalWrite) != 0;
}

}  // namespace

Pdn Nic::alloc_pd() {
  const auto handle = impl_->pds.add({});
  return Pdn{handle.value_or(0)};
}

bool Nic::free_pd(Pdn pd) {
  const auto* entry = impl_->pds.find(pd.value);
  return entry != nullptr && entry->users == 0 && impl_->pds.remove(pd.value);
}

Xrcdn Nic::alloc_xrcd() {
  const auto handle = impl_->xrcds.add({});
  return Xrcdn{handle.value_or(0)};
}

bool Nic::free_xrcd(Xrcdn xrcd) {
  const auto* entry = impl_->xrcds.find(xrcd.value);
  return entry != nullptr && entry->users == 0 && impl_->xrcds.remove(xrcd.value);
}

std::optional<RKey> Nic::reg_mr(Pdn pd, std::uint64_t addr, std::uint64_t length, std::uint64_t iova,
                                std::uint32_t access) {
  auto* domain = impl_->pds.find(pd.value);
  if (domain == nullptr || !is_allowed(access)) return std::nullopt;
  const auto key = impl_->regions.add(MemoryRegion{pd, addr, iova, length, access});
  if (key) ++domain->users;
  return key;
}

bool Nic::rereg_mr(RKey key, std::optional<Pdn> pd, std::optional<MrBounds> bounds,
                   std::optional<std::uint32_t> access) {
  const MemoryRegion* region = impl_->regions.find(key);
  if (region == nullptr || region->windows > 0) return false;
  const MrBounds b = bounds.value_or(MrBounds{region->addr, region->iova, region->length});
  const MemoryRegion changed{pd.value_or(region->pd), b.addr, b.iova, b.length,
                             access.value_or(region->access)};
  auto* domain = impl_->pds.find(changed.pd.value);
  auto* before = impl_->pds.find(region->pd.value);
  if (domain == nullptr || !is_allowed(changed.access) || !impl_->regions.change(key, changed)) return false;
  --before->users;
  ++domain->users;
  return true;
}

bool Nic::dereg_mr(RKey key) {
  const MemoryRegion* region = impl_->regions.find(key);
  if (region == nullptr || region->windows > 0) return false;
  --impl_->pds.find(region->pd.value)->users;
  return impl_->regions.remove(key);
}

bool Nic::mr_has_windows(RKey key) const {
  const MemoryRegion* region = impl_->regions.find(key);
  return region != nullptr && region->windows > 0;
}

std::optional<RKey> Nic::alloc_mw(Pdn pd, MwType type) {
  auto* domain = impl_->pds.find(pd.value);
  if (domain == nullptr) return std::nullopt;
  const auto key = impl_->windows.add(pd, type);
  if (key) ++domain->users;
  return key;
}

bool Nic::dealloc_mw(RKey key) {
  const MemoryWindow* window = impl_->windows.find(key);
  if (window == nullptr) return false;
  --impl_->pds.find(window->pd.value)->users;
  return impl_->windows.remove(key);
}

std::optional<Ahn> Nic::create_ah(Pdn pd, const PathAddress& path) {
  auto* domain = impl_->pds.find(pd.value);
  if (domain == nullptr) return std::nullopt;
  const auto handle = impl_->address_handles.add({pd, path});
  if (handle) ++domain->users;
  return handle ? std::optional(Ahn{*handle}) : std::nullopt;
}

bool Nic::ah_in_use(Ahn ah) const {
  return std::ranges::any_of(impl_->qps, [&](const auto& qp) { return qp != nullptr && qp->sends_by(ah); });
}

bool Nic::destroy_ah(Ahn ah) {
  const AddressHandle* handle = impl_->address_handles.find(ah.value);
  if (handle == nullptr) return false;
  --impl_->pds.find(handle->pd.value)->users;
  return impl_->address_handles.remove(ah.value);
}

std::optional<std::uint32_t> Nic::Impl::free_qp_slot() {
  if (qps.size() < config.max_qps) {
    qps.emplace_back();
    last_slot = static_cast<std::uint32_t>(qps.size() - 1);
  } else if (!free_slots.empty()) {
    last_slot = free_slots.take_front();
  } else {
    return std::nullopt;
  }
  return last_slot;
}

std::uint32_t Nic::next_qp() const { return impl_->last_slot ? *impl_->last_slot + 1 : impl_->first_slot; }

void Nic::set_first_qpn(std::uint32_t slot) {
  RL_CHECK(impl_->qps.empty());
  impl_->first_slot = slot % impl_->config.max_qps;
  impl_->qps.resize(impl_->first_slot);
  for (std::uint32_t earlier = 0; earlier < impl_->first_slot; ++earlier)
    impl_->free_slots.push_back(earlier);
}

// An XRC initiator does not receive and a target does not send, nor has it a domain of its own: what serves a
// message is its SRQ's.
bool Nic::Impl::has_what_its_type_needs(const QpInit& init) {
  const bool target = init.type == QpType::kXrcTgt, initiator = init.type == QpType::kXrcIni;
  const SharedReceiveQueue* srq = find(init.srq);
  if (init.srq.value != 0 && (srq == nullptr || srq->xrcd.value != 0 || target || initiator)) return false;
  if (target) return xrcds.find(init.xrcd.value) != nullptr;
  return pds.find(init.pd.value) != nullptr && find(init.send_cq) != nullptr &&
         (initiator || find(init.recv_cq) != nullptr);
}

void Nic::Impl::count_users(const QpInit& init, int change) {
  const auto add = [&](auto* of) {
    if (of != nullptr) of->users += static_cast<std::uint32_t>(change);
  };
  add(pds.find(init.pd.value));
  add(xrcds.find(init.xrcd.value));
  add(find(init.send_cq));
  add(find(init.recv_cq));
  add(find(init.srq));
}

std::optional<Qpn> Nic::create_qp(const QpInit& init) {
  if (!impl_->has_what_its_type_needs(init)) return std::nullopt;
  if (init.caps.max_send_sge > kMaxSge || init.caps.max_recv_sge > kMaxSge) return std::nullopt;
  if (init.gsi && (init.type != QpType::kUd || impl_->gsi_slot)) return std::nullopt;
  const auto slot = impl_->free_qp_slot();
  if (!slot) return std::nullopt;
  const Qpn qpn = init.gsi ? kGsiQpn : Qpn{impl_->first_qpn.value + *slot};
  if (init.gsi) impl_->gsi_slot = slot;
  impl_->qps[*slot] = std::make_unique<QueuePair>(impl_->services, qpn, init, impl_->find(init.send_cq),
                                                  impl_->find(init.recv_cq), impl_->find(init.srq));
  impl_->count_users(init, +1);
  impl_->slacks.forget(*slot);
  impl_->edge.forget(*slot);
  return qpn;
}

void Nic::Impl::note_peer(std::uint32_t slot) {
  if (!config.cc.needs().feedback) return;
  flow_of_slot.resize(qps.size());
  std::uint64_t& key = flow_of_slot[slot];
  if (const auto old = flows.find(key); old != flows.end() && old->second == slot) flows.erase(old);
  key = 0;
  if (!qps[slot]) return;
  const QpAttr& attr = qps[slot]->attr();
  if (attr.state < QpState::kRtr || attr.state == QpState::kErr) return;
  key = flow_key(attr.path.dst_node, attr.dest_qpn);
  flows[key] = slot;
}

bool Nic::destroy_qp(Qpn qpn) {
  QueuePair* qp = impl_->find(qpn);
  if (qp == nullptr) return false;
  const std::uint32_t slot = impl_->slot_of(*qp);
  impl_->count_users(qp->init(), -1);
  impl_->windows.forget(qpn);
  impl_->leave_groups(slot);
  impl_->scheduler.remove(slot);
  impl_->timers.remove(slot);
  if (impl_->pulled_qp == qp) impl_->pulled = nullptr, impl_->pulled_qp = nullptr;
  impl_->qps[slot].reset();
  if (qpn == kGsiQpn) impl_->gsi_slot.reset();
  impl_->note_peer(slot);
  impl_->free_slots.push_back(slot);
  return true;
}

bool Nic::modify_qp(Qpn qpn, const QpAttr& attr, Time now) {
  QueuePair* qp = impl_->find(qpn);
  if (qp == nullptr) return false;
  impl_->scheduler.remove(impl_->slot_of(*qp));  // its class may change
  const bool done = qp->modify(attr, now);
  if (impl_->paused_queues.has(bfc_queue_of(qpn))) [[unlikely]]
    qp->hold(true, now);  // congestion control may have begun anew
  impl_->note_peer(impl_->slot_of(*qp));
  impl_->touch(*qp, now);
  return done;
}

const QpAttr* Nic::query_qp(Qpn qpn) const {
  const QueuePair* qp = impl_->find(qpn);
  return qp != nullptr ? &qp->attr() : nullptr;
}

std::optional<QpProgress> Nic::progress_of(Qpn qpn) const {
  const QueuePair* qp = impl_->find(qpn);
  return qp != nullptr ? std::optional(qp->progress()) : std::nullopt;
}

}  // namespace rocelab
