// Nic: completion queues, shared receive queues, asynchronous events.
#include "irn_provider/nic/nic.h"
#include "irn_provider/nic/nic_impl.h"

namespace rocelab {

CompletionQueue* Nic::Impl::find(Cqn cq) {
  auto* entry = cqs.find(cq.value);
  return entry != nullptr ? entry->get() : nullptr;
}

SharedReceiveQueue* Nic::Impl::find(Srqn srq) {
  auto* entry = srqs.find(srq.value);
  return entry != nullptr ? entry->get() : nullptr;
}

// --- completion queues

std::optional<Cqn> Nic::create_cq(std::uint32_t entries) {
  if (entries == 0) return std::nullopt;
  const auto handle = impl_->cqs.add(std::make_unique<CompletionQueue>(entries));
  if (!handle) return std::nullopt;
  return impl_->find(Cqn{*handle})->number = Cqn{*handle};
}

bool Nic::destroy_cq(Cqn cq) {
  const CompletionQueue* entry = impl_->find(cq);
  return entry != nullptr && entry->users == 0 && impl_->cqs.remove(cq.value);
}

bool Nic::resize_cq(Cqn cq, std::uint32_t entries) {
  CompletionQueue* entry = impl_->find(cq);
  return entry != nullptr && entries > 0 && entry->resize(entries);
}

std::optional<Cqe> Nic::poll_cq(Cqn cq) {
  CompletionQueue* entry = impl_->find(cq);
  return entry != nullptr ? entry->poll() : std::nullopt;
}

std::size_t Nic::cq_depth(Cqn cq) const {
  const CompletionQueue* entry = impl_->find(cq);
  return entry != nullptr ? entry->depth() : 0;
}

bool Nic::cq_overrun(Cqn cq) const {
  const CompletionQueue* entry = impl_->find(cq);
  return entry != nullptr && entry->overrun();
}

std::uint64_t Nic::cq_made(Cqn cq) const {
  const CompletionQueue* entry = impl_->find(cq);
  return entry != nullptr ? entry->made() : 0;
}

std::uint64_t Nic::cq_last_solicited(Cqn cq) const {
  const CompletionQueue* entry = impl_->find(cq);
  return entry != nullptr ? entry->last_solicited() : 0;
}

// --- shared receive queues

std::optional<Srqn> Nic::create_srq(Pdn pd, const SrqAttr& attr) {
  auto* domain = impl_->pds.find(pd.value);
  if (domain == nullptr || attr.max_sge > kMaxSge) return std::nullopt;
  const auto handle = impl_->srqs.add(std::make_unique<SharedReceiveQueue>(impl_->events, pd, attr));
  if (!handle) return std::nullopt;
  ++domain->users;
  return impl_->find(Srqn{*handle})->number = Srqn{*handle};
}

std::optional<Srqn> Nic::create_xrc_srq(Pdn pd, const SrqAttr& attr, Xrcdn xrcd, Cqn cq) {
  auto* domain = impl_->pds.find(pd.value);
  auto* xrc_domain = impl_->xrcds.find(xrcd.value);
  CompletionQueue* completions = impl_->find(cq);
  if (domain == nullptr || xrc_domain == nullptr || completions == nullptr || attr.max_sge > kMaxSge)
    return std::nullopt;
  const auto handle =
      impl_->srqs.add(std::make_unique<SharedReceiveQueue>(impl_->events, pd, attr, xrcd, completions));
  if (!handle) return std::nullopt;
  ++domain->users, ++xrc_domain->users, ++completions->users;
  return impl_->find(Srqn{*handle})->number = Srqn{*handle};
}

bool Nic::destroy_srq(Srqn srq) {
  const SharedReceiveQueue* entry = impl_->find(srq);
  if (entry == nullptr || entry->users > 0) return false;
  --impl_->pds.find(entry->pd.value)->users;
  if (entry->xrcd.value != 0) {
    --impl_->xrcds.find(entry->xrcd.value)->users, --entry->cq->users;
    for (const auto& qp : impl_->qps)
      if (qp) qp->on_srq_destroyed(*entry);
  }
  return impl_->srqs.remove(srq.value);
}

bool Nic::resize_srq(Srqn srq, std::uint32_t max_wr) {
  SharedReceiveQueue* entry = impl_->find(srq);
  return entry != nullptr && entry->resize(max_wr);
}

bool Nic::arm_srq(Srqn srq, std::uint32_t limit) {
  SharedReceiveQueue* entry = impl_->find(srq);
  if (entry == nullptr) return false;
  entry->arm(limit);
  return true;
}

const SrqAttr* Nic::query_srq(Srqn srq) const {
  const SharedReceiveQueue* entry = impl_->find(srq);
  return entry != nullptr ? &entry->attr() : nullptr;
}

PostResult Nic::post_srq_recv(Srqn srq, const RecvWqe& wqe) {
  SharedReceiveQueue* entry = impl_->find(srq);
  return entry != nullptr ? entry->post(wqe) : PostResult::kBadHandle;
}

// --- asynchronous events

std::optional<AsyncEvent> Nic::poll_event() { return impl_->events.take(); }

}  // namespace rocelab
