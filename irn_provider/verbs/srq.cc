// Shared receive queues.
#include <algorithm>
#include <cerrno>
#include <memory>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/real_verbs.h"
#include "irn_provider/verbs/translate.h"

namespace rocelab::verbs {
namespace {

// As the kernel's providers refuse them: an empty queue, or more than the device reports. The limit means
// nothing yet (ibv_create_srq(3)). 0 or EINVAL.
int check(const ibv_srq_attr& attr) {
  if (attr.max_wr >= 1 && attr.max_wr <= kMaxSrqWr && attr.max_sge <= kMaxSge) return 0;
  return refused("ibv_create_srq", EINVAL, "max_wr is %u and max_sge %u; 1 to %u and 0 to %d can be had",
                 attr.max_wr, attr.max_sge, kMaxSrqWr, kMaxSge);
}

// Under the lock. The limit is checked against the size that the queue has afterwards, and nothing changes
// when either is refused.
int modify(Nic& nic, Srqn srqn, const ibv_srq_attr& attr, int mask) {
  constexpr int kMask = IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT;
  const SrqAttr* current = nic.query_srq(srqn);
  if (current == nullptr || (mask & ~kMask) != 0) return EINVAL;
  const bool resizes = (mask & IBV_SRQ_MAX_WR) != 0, arms = (mask & IBV_SRQ_LIMIT) != 0;
  const std::uint32_t max_wr = resizes ? attr.max_wr : current->max_wr;
  const std::uint32_t limit = arms ? attr.srq_limit : current->limit;
  if (max_wr < 1 || max_wr > kMaxSrqWr || limit > max_wr)
    return refused("ibv_modify_srq", EINVAL,
                   "max_wr is %u and srq_limit %u; 1 to %u and at most max_wr can be had", max_wr, limit,
                   kMaxSrqWr);
  if (resizes && !nic.resize_srq(srqn, max_wr))
    return refused("ibv_modify_srq", EINVAL, "it holds more receives than %u", max_wr);
  if (arms) nic.arm_srq(srqn, limit);
  return 0;
}

int post_one(Nic& nic, Srq& srq, const ibv_recv_wr& wr) {
  RecvWqe wqe;
  if (const int error = to_wqe(wr, kMaxSge, wqe); error != 0)
    return refused("ibv_post_srq_recv", error, "num_sge is %d; 0 to %d can be had", wr.num_sge, kMaxSge);
  const PostResult result = nic.post_srq_recv(srq.srqn, wqe);
  if (result == PostResult::kOk) return 0;
  return refused("ibv_post_srq_recv", to_errno(result), "%s", reason_of(result));
}

ibv_srq* refuse(int error) {
  errno = error;
  return nullptr;
}

// `xrcd` and `cq`: of an XRC SRQ, else null. `wanted` becomes what the SRQ has, as far as the man page says.
ibv_srq* create_srq(ibv_pd* pd, ibv_srq_attr& wanted, void* srq_context, Xrcd* xrcd, Cq* cq) {
  if (inherited(pd->context)) return refuse(ENODEV);
  if (forged(of(pd)) || (cq != nullptr && forged(*cq))) return refuse(ENOENT);
  if (const int error = check(wanted); error != 0) return refuse(error);
  auto srq = std::make_unique<Srq>();
  const SrqAttr attr{wanted.max_wr, std::max(wanted.max_sge, 1u), 0};
  const std::optional<Srqn> srqn = with_nic(pd->context, [&](Nic& nic, Time) {
    const auto made = xrcd != nullptr ? nic.create_xrc_srq(of(pd).pdn, attr, xrcd->xrcdn, cq->cqn)
                                      : nic.create_srq(of(pd).pdn, attr);
    if (!made) return made;
    registry(pd->context).srqs[made->value] = srq.get();
    if (xrcd != nullptr) ++xrcd->users;
    of(pd->context).context_objects.srqs.add(*srq);
    return made;
  });
  if (!srqn)
    return refused("ibv_create_srq", ENOMEM, "none of the device's %u shared receive queues is left",
                   Nic::kMaxSrqs),
           nullptr;
  wanted.max_sge = attr.max_sge;
  srq->srqn = *srqn;
  srq->xrcd = xrcd;
  srq->base.context = pd->context;
  srq->base.srq_context = srq_context;
  srq->base.pd = pd;
  srq->base.handle = srqn->value;
  pthread_mutex_init(&srq->base.mutex, nullptr);
  pthread_cond_init(&srq->base.cond, nullptr);
  return &srq.release()->base;
}

}  // namespace

// Plain ones come here only with attributes that only others have (verbs.h).
ibv_srq* create_srq_ex(ibv_context* /*context*/, ibv_srq_init_attr_ex* attr) {
  constexpr unsigned kXrcMask = unsigned{IBV_SRQ_INIT_ATTR_TYPE} | unsigned{IBV_SRQ_INIT_ATTR_PD} |
                                unsigned{IBV_SRQ_INIT_ATTR_XRCD} | unsigned{IBV_SRQ_INIT_ATTR_CQ};
  const bool xrc = (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 && attr->srq_type == IBV_SRQT_XRC;
  if (!xrc || (attr->comp_mask & ~kXrcMask) != 0) return refuse(unsupported("create_srq_ex: other than XRC"));
  if (attr->comp_mask != kXrcMask || attr->pd == nullptr || attr->xrcd == nullptr || attr->cq == nullptr)
    return refuse(EINVAL);
  return create_srq(attr->pd, attr->attr, attr->srq_context, &of(attr->xrcd), &of(attr->cq));
}

// As libibverbs' providers: only XRC SRQs have a number that peers may know.
int get_srq_num(ibv_srq* srq, std::uint32_t* number) {
  if (of(srq).xrcd == nullptr) return answer(unsupported("get_srq_num of an SRQ that is not XRC"));
  *number = of(srq).srqn.value;
  return 0;
}

int post_srq_recv(ibv_srq* base, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  libc::end_spin();
  if (inherited(base->context)) {
    if (bad != nullptr) *bad = wr;
    return answer(ENODEV);
  }
  return ask_nic(base->context, [&](Nic& nic, Time) {
    for (; wr != nullptr; wr = wr->next) {
      const int error = post_one(nic, of(base), *wr);
      if (error == 0) continue;
      if (bad != nullptr) *bad = wr;
      return error;
    }
    return 0;
  });
}

bool end(Nic& nic, Srq& srq) {
  if (!nic.destroy_srq(srq.srqn)) return false;
  registry(srq.base.context).srqs.erase(srq.srqn.value);
  if (srq.xrcd != nullptr) --srq.xrcd->users;
  forget_events(srq.base.context, [&](const ibv_async_event& e) { return tells_of(e, srq.base); });
  return true;
}

}  // namespace rocelab::verbs

using namespace rocelab;
using namespace rocelab::verbs;

RL_EXPORT ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* init) {
  if (!in_experiment()) return REAL(ibv_create_srq)(pd, init);
  return create_srq(pd, init->attr, init->srq_context, nullptr, nullptr);
}

RL_EXPORT int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) {
  if (!in_experiment()) return REAL(ibv_modify_srq)(srq, attr, mask);
  return ask_nic(of(srq), [&](Nic& nic, Time) { return modify(nic, of(srq).srqn, *attr, mask); });
}

RL_EXPORT int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attr) {
  if (!in_experiment()) return REAL(ibv_query_srq)(srq, attr);
  return ask_nic(of(srq), [&](Nic& nic, Time) {
    const SrqAttr* current = nic.query_srq(of(srq).srqn);
    if (current == nullptr) return EINVAL;
    *attr = {.max_wr = current->max_wr, .max_sge = current->max_sge, .srq_limit = current->limit};
    return 0;
  });
}

RL_EXPORT int ibv_destroy_srq(ibv_srq* srq) {
  if (!in_experiment()) return REAL(ibv_destroy_srq)(srq);
  if (forged(of(srq))) return answer(ENOENT);
  const bool destroyed = end_in_nic(srq->context, [&](Nic& nic, Time) {
    if (!end(nic, of(srq))) return false;
    of(srq->context).context_objects.srqs.remove(of(srq));
    return true;
  });
  if (!destroyed) return refused("ibv_destroy_srq", EBUSY, "queue pairs still use it");
  wait_for_acks(srq->mutex, srq->cond, [&] { return srq->events_completed == of(srq).events_fetched; });
  pthread_cond_destroy(&srq->cond);
  pthread_mutex_destroy(&srq->mutex);
  delete &of(srq);
  return 0;
}
