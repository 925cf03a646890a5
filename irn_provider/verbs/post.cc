// Posting work requests. A chain goes to the NIC under one lock; the first request that is refused ends it
// and is handed back.
#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/translate.h"

namespace rocelab::verbs {

std::byte* inline_slot(Qp& qp) {
  const std::size_t slots = qp.init.caps.max_send_wr + std::size_t{1};
  const std::size_t size = qp.init.caps.max_inline;
  InlineRing& ring = qp.inline_ring;
  if (ring.bytes == nullptr) ring.bytes = std::make_unique<std::byte[]>(slots * size);
  return ring.bytes.get() + ring.accepted % slots * size;
}

int post(Nic& nic, Time now, Qp& qp, const SendWqe& wqe) {
  const PostResult result = nic.post_send(Qpn{qp.base.qp_num}, wqe, now);
  if (result != PostResult::kOk) return refused("ibv_post_send", to_errno(result), "%s", reason_of(result));
  ++qp.inline_ring.accepted;
  return 0;
}

namespace {

int post_one(Nic& nic, Time now, Qp& qp, const ibv_send_wr& wr) {
  SendWqe wqe;
  if (const int error = to_wqe(wr, qp.init, wqe); error != 0)
    return refused("ibv_post_send", error,
                   "opcode %d with send_flags 0x%x and num_sge %d; the queue pair has max_send_sge %u and "
                   "max_inline_data %u",
                   wr.opcode, wr.send_flags, wr.num_sge, qp.init.caps.max_send_sge, qp.init.caps.max_inline);
  if (qp.init.type == QpType::kUd) {
    if (wr.wr.ud.ah == nullptr) return refused("ibv_post_send", EINVAL, "wr.ud.ah is null");
    wqe.ah = of(wr.wr.ud.ah).ahn;
    wqe.remote_qpn = Qpn{wr.wr.ud.remote_qpn & kMaxQpn};
    wqe.remote_qkey = wr.wr.ud.remote_qkey;
  }
  if (qp.init.type == QpType::kXrcIni) wqe.remote_srqn = Srqn{wr.qp_type.xrc.remote_srqn & kMaxSrqn};
  if (wqe.inline_data) copy_inline(wqe, inline_slot(qp));
  return post(nic, now, qp, wqe);
}

int post_one(Nic& nic, Time now, Qp& qp, const ibv_recv_wr& wr) {
  RecvWqe wqe;
  if (const int error = to_wqe(wr, qp.init.caps.max_recv_sge, wqe); error != 0)
    return refused("ibv_post_recv", error, "num_sge is %d; the queue pair has max_recv_sge %u", wr.num_sge,
                   qp.init.caps.max_recv_sge);
  const PostResult result = nic.post_recv(Qpn{qp.base.qp_num}, wqe, now);
  if (result == PostResult::kOk) return 0;
  return refused("ibv_post_recv", to_errno(result), "%s", reason_of(result));
}

template <class Wr>
int post_chain(const char* call, ibv_qp* qp, Wr* wr, Wr** bad) {
  libc::end_spin();
  if (inherited(qp->context)) {
    if (bad != nullptr) *bad = wr;
    return refused(call, ENODEV, "the queue pair is of the process that has forked this one");
  }
  return ask_nic(qp->context, [&](Nic& nic, Time now) {
    for (; wr != nullptr; wr = wr->next) {
      const int error = post_one(nic, now, of(qp), *wr);
      if (error == 0) continue;
      if (bad != nullptr) *bad = wr;
      return error;
    }
    return 0;
  });
}

}  // namespace

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  return post_chain("ibv_post_send", qp, wr, bad);
}
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  return post_chain("ibv_post_recv", qp, wr, bad);
}

}  // namespace rocelab::verbs
