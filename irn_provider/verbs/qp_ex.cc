// Extended queue pairs: ibv_create_qp_ex and the ibv_wr_* calls that build work requests one by one. What is
// built between wr_start and wr_complete is kept here and goes to the NIC at wr_complete, all of it or
// nothing.
//
// Between wr_start and wr_complete or wr_abort the send queue is the calling thread's, as with other
// providers; a thread that finds it taken lets time pass, because the one that has it may be parked.
#include <arpa/inet.h>

#include <cerrno>
#include <cstring>

#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/translate.h"

namespace rocelab::verbs {
namespace {

constexpr std::uint64_t kUdOps = std::uint64_t{IBV_QP_EX_WITH_SEND} | IBV_QP_EX_WITH_SEND_WITH_IMM;
constexpr std::uint64_t kUcOps = kUdOps | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                 IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
constexpr std::uint64_t kRcOps = kUcOps | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV;

Qp& of(ibv_qp_ex* qp) { return verbs::of(&qp->qp_base); }

// `why`: outlives the batch.
void fail(Qp& qp, int error, const char* why) {
  if (qp.builder.error == 0) qp.builder.error = error, qp.builder.why = why;
}

// A new request of the batch, with what the program has set in wr_id and wr_flags.
SendWqe& begin(ibv_qp_ex* base, WrOpcode opcode) {
  Qp& qp = of(base);
  SendWqe& wqe = qp.builder.wqes.emplace_back();
  wqe.wr_id = base->wr_id;
  wqe.opcode = opcode;
  wqe.signaled = qp.init.sq_sig_all || (base->wr_flags & IBV_SEND_SIGNALED) != 0;
  wqe.solicited = (base->wr_flags & IBV_SEND_SOLICITED) != 0;
  wqe.fence = (base->wr_flags & IBV_SEND_FENCE) != 0;
  return wqe;
}

SendWqe& begin(ibv_qp_ex* base, WrOpcode opcode, std::uint32_t rkey, std::uint64_t remote_addr) {
  SendWqe& wqe = begin(base, opcode);
  wqe.rkey = RKey{rkey};
  wqe.remote_addr = remote_addr;
  return wqe;
}

void refuse(ibv_qp_ex* base, const char* what) { fail(of(base), unsupported(what), what); }

// The request that data is set for; null, and the batch fails: there is none.
SendWqe* last(ibv_qp_ex* base) {
  Qp& qp = of(base);
  if (qp.builder.wqes.empty()) return fail(qp, EINVAL, "data is set before there is a request"), nullptr;
  return &qp.builder.wqes.back();
}

void set_sge_list(ibv_qp_ex* base, std::size_t count, const ibv_sge* list) {
  SendWqe* wqe = last(base);
  if (wqe == nullptr) return;
  if (count > kMaxSge) return fail(of(base), EINVAL, "more SGEs than max_sge");
  wqe->inline_data = false;
  wqe->num_sge = static_cast<std::uint8_t>(count);
  for (std::size_t i = 0; i < count; ++i)
    wqe->sge[i] = {.addr = list[i].addr, .length = list[i].length, .lkey = RKey{list[i].lkey}};
}

void set_sge(ibv_qp_ex* base, std::uint32_t lkey, std::uint64_t addr, std::uint32_t length) {
  const ibv_sge one{.addr = addr, .length = length, .lkey = lkey};
  set_sge_list(base, 1, &one);
}

// The bytes are copied now: the program may change them before wr_complete. Until then the entry's address is
// the offset in the batch's bytes.
void set_inline_data_list(ibv_qp_ex* base, std::size_t count, const ibv_data_buf* list) {
  SendWqe* wqe = last(base);
  if (wqe == nullptr) return;
  Qp& qp = of(base);
  std::size_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (list[i].length > qp.init.caps.max_inline - total)
      return fail(qp, EINVAL, "more inline data than max_inline_data");
    total += list[i].length;
  }
  std::vector<std::byte>& bytes = qp.builder.inline_bytes;
  wqe->inline_data = true;
  wqe->num_sge = total > 0 ? 1 : 0;
  wqe->sge[0] = {.addr = bytes.size(), .length = static_cast<std::uint32_t>(total), .lkey = RKey{}};
  for (std::size_t i = 0; i < count; ++i) {
    const auto* from = static_cast<const std::byte*>(list[i].addr);
    bytes.insert(bytes.end(), from, from + list[i].length);
  }
}

void set_inline_data(ibv_qp_ex* base, void* addr, std::size_t length) {
  const ibv_data_buf one{.addr = addr, .length = length};
  set_inline_data_list(base, 1, &one);
}

void set_ud_addr(ibv_qp_ex* base, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
  SendWqe* wqe = last(base);
  if (wqe == nullptr) return;
  if (ah == nullptr) return fail(of(base), EINVAL, "the address handle is null");
  wqe->ah = verbs::of(ah).ahn;
  wqe->remote_qpn = Qpn{qpn & kMaxQpn};
  wqe->remote_qkey = qkey;
}

void set_xrc_srqn(ibv_qp_ex* base, std::uint32_t srqn) {
  if (SendWqe* wqe = last(base)) wqe->remote_srqn = Srqn{srqn & kMaxSrqn};
}

void release(Qp& qp) {
  qp.builder.wqes.clear();
  qp.builder.inline_bytes.clear();
  qp.builder.error = 0;
  qp.builder.busy.clear(std::memory_order_release);
}

void wr_start(ibv_qp_ex* base) {
  libc::end_spin();
  while (of(base).builder.busy.test_and_set(std::memory_order_acquire)) {
    KeepsErrno keeps;
    real::RuntimeScope scope;
    verbs::of(base->qp_base.context).process->park_poll();
  }
}

void wr_abort(ibv_qp_ex* base) { release(of(base)); }

// Under the lock. 0: all are posted; else none is.
int post_all(Nic& nic, Time now, Qp& qp) {
  const Qpn qpn{qp.base.qp_num};
  Builder& batch = qp.builder;
  if (batch.error != 0) return refused("ibv_wr_complete", batch.error, "%s", batch.why);
  if (const PostResult result = nic.check_sends(qpn, batch.wqes); result != PostResult::kOk)
    return refused("ibv_wr_complete", to_errno(result), "%s", reason_of(result));
  for (SendWqe& wqe : batch.wqes) {
    if (wqe.inline_data) {
      std::byte* slot = inline_slot(qp);
      if (wqe.num_sge > 0) std::memcpy(slot, batch.inline_bytes.data() + wqe.sge[0].addr, wqe.sge[0].length);
      wqe.sge[0].addr = reinterpret_cast<std::uintptr_t>(slot);
    }
    RL_CHECK(nic.post_send(qpn, wqe, now) == PostResult::kOk);
    ++qp.inline_ring.accepted;
  }
  return 0;
}

int wr_complete(ibv_qp_ex* base) {
  Qp& qp = of(base);
  const int error = ask_nic(qp.base.context, [&](Nic& nic, Time now) { return post_all(nic, now, qp); });
  release(qp);
  return error;
}

void set_functions(ibv_qp_ex& qp) {
  qp.wr_start = wr_start;
  qp.wr_complete = wr_complete;
  qp.wr_abort = wr_abort;
  qp.wr_send = [](ibv_qp_ex* q) { begin(q, WrOpcode::kSend); };
  qp.wr_send_imm = [](ibv_qp_ex* q, __be32 imm) { begin(q, WrOpcode::kSendImm).imm = ntohl(imm); };
  qp.wr_rdma_write = [](ibv_qp_ex* q, std::uint32_t rkey, std::uint64_t addr) {
    begin(q, WrOpcode::kWrite, rkey, addr);
  };
  qp.wr_rdma_write_imm = [](ibv_qp_ex* q, std::uint32_t rkey, std::uint64_t addr, __be32 imm) {
    begin(q, WrOpcode::kWriteImm, rkey, addr).imm = ntohl(imm);
  };
  qp.wr_rdma_read = [](ibv_qp_ex* q, std::uint32_t rkey, std::uint64_t addr) {
    begin(q, WrOpcode::kRead, rkey, addr);
  };
  qp.wr_atomic_cmp_swp = [](ibv_qp_ex* q, std::uint32_t rkey, std::uint64_t addr, std::uint64_t compare,
                            std::uint64_t swap) {
    SendWqe& wqe = begin(q, WrOpcode::kCompareSwap, rkey, addr);
    wqe.compare_add = compare, wqe.swap = swap;
  };
  qp.wr_atomic_fetch_add = [](ibv_qp_ex* q, std::uint32_t rkey, std::uint64_t addr, std::uint64_t add) {
    begin(q, WrOpcode::kFetchAdd, rkey, addr).compare_add = add;
  };
  qp.wr_set_sge = set_sge;
  qp.wr_set_sge_list = set_sge_list;
  qp.wr_set_inline_data = set_inline_data;
  qp.wr_set_inline_data_list = set_inline_data_list;
  qp.wr_set_ud_addr = set_ud_addr;
  qp.wr_send_inv = [](ibv_qp_ex* q, std::uint32_t rkey) { begin(q, WrOpcode::kSendInvalidate).imm = rkey; };
  qp.wr_local_inv = [](ibv_qp_ex* q, std::uint32_t rkey) { begin(q, WrOpcode::kLocalInvalidate).imm = rkey; };
  qp.wr_bind_mw = [](ibv_qp_ex* q, ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info* info) {
    SendWqe& wqe = begin(q, WrOpcode::kBindMw);
    if (mw == nullptr || mw->type != IBV_MW_TYPE_2) return fail(of(q), EINVAL, "no window of type 2");
    if (const int error = to_bind(mw, rkey, *info, wqe); error != 0)
      fail(of(q), error, "what is to be bound");
  };
  qp.wr_send_tso = [](ibv_qp_ex* q, void*, std::uint16_t, std::uint16_t) { refuse(q, "wr_send_tso"); };
  qp.wr_set_xrc_srqn = set_xrc_srqn;
  qp.wr_atomic_write = [](ibv_qp_ex* q, std::uint32_t, std::uint64_t, const void*) {
    refuse(q, "wr_atomic_write");
  };
}

std::uint64_t offered_ops(ibv_qp_type type) {
  if (type == IBV_QPT_XRC_RECV) return 0;  // sends nothing
  return type == IBV_QPT_UD ? kUdOps : type == IBV_QPT_UC ? kUcOps : kRcOps;
}

int check(const ibv_qp_init_attr_ex& attr) {
  const bool target = attr.qp_type == IBV_QPT_XRC_RECV;
  constexpr unsigned kMask = unsigned{IBV_QP_INIT_ATTR_PD} | unsigned{IBV_QP_INIT_ATTR_XRCD} |
                             unsigned{IBV_QP_INIT_ATTR_SEND_OPS_FLAGS} |
                             unsigned{IBV_QP_INIT_ATTR_CREATE_FLAGS};
  if ((attr.comp_mask & ~kMask) != 0) return unsupported("create_qp_ex: these attributes");
  const bool has_pd = (attr.comp_mask & IBV_QP_INIT_ATTR_PD) != 0 && attr.pd != nullptr;
  const bool has_xrcd = (attr.comp_mask & IBV_QP_INIT_ATTR_XRCD) != 0 && attr.xrcd != nullptr;
  if (target ? !has_xrcd : !has_pd) return EINVAL;
  if ((attr.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && attr.create_flags != 0)
    return unsupported("create_qp_ex: create_flags");
  const bool builds = (attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  if (builds && (attr.send_ops_flags & ~offered_ops(attr.qp_type)) != 0)
    return unsupported("create_qp_ex: these send_ops_flags");
  return 0;
}

}  // namespace

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attr) {
  if (const int error = check(*attr); error != 0) {
    errno = error;
    return nullptr;
  }
  // ibv_qp_init_attr is the beginning of ibv_qp_init_attr_ex, as verbs.h itself relies on.
  const bool target = attr->qp_type == IBV_QPT_XRC_RECV;
  ibv_pd* pd = (attr->comp_mask & IBV_QP_INIT_ATTR_PD) != 0 ? attr->pd : nullptr;
  ibv_qp* qp = create_qp(context, pd, target ? &verbs::of(attr->xrcd) : nullptr,
                         *reinterpret_cast<ibv_qp_init_attr*>(attr));
  if (qp != nullptr && (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0)
    set_functions(verbs::of(qp).ex);
  return qp;
}

}  // namespace rocelab::verbs
