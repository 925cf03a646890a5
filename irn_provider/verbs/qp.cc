// Queue pairs of types RC, UC and UD: creation, query, destruction. qp_modify.cc moves them through their
// states; qp_ex.cc has the extended ones.
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

struct QpTypeRow {
  ibv_qp_type verbs;
  QpType nic;
  bool sends, receives;  // has a send queue, a receive queue of its own or an SRQ
};
constexpr QpTypeRow kQpTypes[] = {
    {IBV_QPT_RC, QpType::kRc, true, true},
    {IBV_QPT_UC, QpType::kUc, true, true},
    {IBV_QPT_UD, QpType::kUd, true, true},
    {IBV_QPT_XRC_SEND, QpType::kXrcIni, true, false},
    {IBV_QPT_XRC_RECV, QpType::kXrcTgt, false, false},
};
const QpTypeRow* row_of(ibv_qp_type type) {
  for (const QpTypeRow& row : kQpTypes)
    if (row.verbs == type) return &row;
  return nullptr;
}

// 0 or EINVAL. Of the queues that it has.
int check(const ibv_qp_cap& cap, bool sends, bool receives) {
  const struct {
    const char* name;
    bool counts;
    std::uint32_t value, most;
  } limits[] = {{"max_send_wr", sends, cap.max_send_wr, kMaxQpWr},
                {"max_send_sge", sends, cap.max_send_sge, kMaxSge},
                {"max_recv_wr", receives, cap.max_recv_wr, kMaxQpWr},
                {"max_recv_sge", receives, cap.max_recv_sge, kMaxSge}};
  for (const auto& limit : limits)
    if (limit.counts && limit.value > limit.most)
      return refused("ibv_create_qp", EINVAL, "cap.%s is %u, and the device's limit is %u", limit.name,
                     limit.value, limit.most);
  if (!sends || cap.max_inline_data <= kMaxInline) return 0;
  // Programs look for the limit by trying (libfabric), since ibv_query_device has none.
  debug("ibv_create_qp: cap.max_inline_data is %u, and the device's limit is %u", cap.max_inline_data,
        kMaxInline);
  return EINVAL;
}

// 0, or why the device cannot make such a QP.
int check(const ibv_qp_init_attr& attr) {
  const QpTypeRow* type = row_of(attr.qp_type);
  if (type == nullptr) {
    debug("ibv_create_qp: RC, UC, UD and XRC are offered (type %d)", attr.qp_type);
    return EOPNOTSUPP;
  }
  const auto refuse = [](const char* why) { return refused("ibv_create_qp", EINVAL, "%s", why); };
  if (type->sends && attr.send_cq == nullptr) return refuse("send_cq is null");
  if (type->receives && attr.recv_cq == nullptr) return refuse("recv_cq is null");
  if ((type->sends && forged(of(attr.send_cq))) || (type->receives && forged(of(attr.recv_cq))) ||
      (attr.srq != nullptr && forged(of(attr.srq))))
    return ENOENT;
  if (attr.srq != nullptr && !type->receives) return refuse("a queue pair of this type takes no srq");
  if (attr.srq != nullptr && of(attr.srq).xrcd != nullptr) return refuse("srq is one of XRC");
  return check(attr.cap, type->sends, type->receives && attr.srq == nullptr);
}

// What the type does not have (a target's CQs, say) is not looked at, as the kernel does not.
QpInit to_init(ibv_pd* pd, const Xrcd* xrcd, const ibv_qp_init_attr& attr) {
  const QpTypeRow& type = *row_of(attr.qp_type);
  const bool own_receives = type.receives && attr.srq == nullptr;
  QpInit init;
  init.type = type.nic;
  if (xrcd != nullptr) init.xrcd = xrcd->xrcdn;
  if (type.sends) init.pd = of(pd).pdn, init.send_cq = of(attr.send_cq).cqn;
  if (type.receives) init.recv_cq = of(attr.recv_cq).cqn;
  init.caps = {.max_send_wr = type.sends ? attr.cap.max_send_wr : 0,
               .max_recv_wr = own_receives ? attr.cap.max_recv_wr : 0,
               .max_send_sge = type.sends ? attr.cap.max_send_sge : 0,
               .max_recv_sge = own_receives ? attr.cap.max_recv_sge : 0,
               .max_inline = type.sends ? attr.cap.max_inline_data : 0};
  if (attr.srq != nullptr) init.srq = of(attr.srq).srqn;
  init.sq_sig_all = attr.sq_sig_all != 0;
  return init;
}

void fill_query(const Qp& qp, const QpAttr& nic, const QpProgress& progress, ibv_qp_attr& a) {
  a = {};
  a.qp_state = a.cur_qp_state = static_cast<ibv_qp_state>(nic.state);  // same order
  a.path_mtu = mtu_code(nic.path_mtu);
  a.path_mig_state = IBV_MIG_MIGRATED;
  a.qkey = nic.qkey;
  a.rq_psn = progress.rq_psn;  // the present ones, as from Linux rxe
  a.sq_psn = progress.sq_psn;
  a.sq_draining = progress.sq_draining ? 1 : 0;
  a.dest_qp_num = nic.dest_qpn.value;
  a.qp_access_flags = nic.access_flags;
  const QpCaps& caps = qp.init.caps;
  a.cap = {.max_send_wr = caps.max_send_wr,
           .max_recv_wr = caps.max_recv_wr,
           .max_send_sge = caps.max_send_sge,
           .max_recv_sge = caps.max_recv_sge,
           .max_inline_data = caps.max_inline};
  a.ah_attr = qp.path->ah;
  a.max_rd_atomic = nic.max_rd_atomic;
  a.max_dest_rd_atomic = nic.max_dest_rd_atomic;
  a.min_rnr_timer = nic.min_rnr_timer;
  a.port_num = qp.path->port;
  a.timeout = nic.timeout;
  a.retry_cnt = nic.retry_cnt;
  a.rnr_retry = nic.rnr_retry;
}

}  // namespace

void init_qp(Qp& qp, ibv_context* context, Qpn qpn, ibv_qp_type type, void* qp_context) {
  ibv_qp& base = qp.base;
  base.context = context;
  base.qp_context = qp_context;
  base.handle = base.qp_num = qpn.value;
  qp.qpn = qpn;
  base.state = IBV_QPS_RESET;
  base.qp_type = type;
  pthread_mutex_init(&base.mutex, nullptr);
  pthread_cond_init(&base.cond, nullptr);
}

ibv_qp* create_qp(ibv_context* context, ibv_pd* pd, Xrcd* xrcd, const ibv_qp_init_attr& attr) {
  const bool unknown = pd != nullptr && forged(verbs::of(pd));
  if (const int error = inherited(context) ? ENODEV : unknown ? ENOENT : check(attr); error != 0) {
    errno = error;
    return nullptr;
  }
  auto qp = std::make_unique<Qp>();
  qp->init = to_init(pd, xrcd, attr);
  qp->xrcd = xrcd;
  const std::optional<Qpn> qpn = with_nic(context, [&](Nic& nic, Time) {
    const auto made = nic.create_qp(qp->init);
    if (made) registry(context).qps[made->value] = {qp.get()};
    if (made && xrcd != nullptr) ++xrcd->users;
    if (made) verbs::of(context).context_objects.qps.add(*qp);
    return made;
  });
  if (!qpn) {
    refused("ibv_create_qp", ENOMEM,
            "none of the device's %u queue pairs is left (nic.max_qps of a scenario), or a CQ, SRQ or PD is "
            "not its own",
            verbs::of(context).device->host.nic.max_qps);
    return nullptr;
  }
  init_qp(*qp, context, *qpn, attr.qp_type, attr.qp_context);
  ibv_qp& base = qp->base;
  base.pd = pd;
  base.send_cq = attr.send_cq;
  base.recv_cq = attr.recv_cq;
  base.srq = attr.srq;
  return &qp.release()->base;
}

bool end(Nic& nic, Qp& qp) {
  ibv_qp& base = qp.base;
  std::vector<Qp*>& handles = registry(base.context).qps[base.qp_num];
  if (handles.size() == 1 && !nic.destroy_qp(Qpn{base.qp_num})) return false;
  std::erase(handles, &qp);
  if (handles.empty()) registry(base.context).qps.erase(base.qp_num);
  if (qp.xrcd != nullptr) --qp.xrcd->users;
  forget_events(base.context, [&](const ibv_async_event& e) { return tells_of(e, base); });
  return true;
}

}  // namespace rocelab::verbs

using namespace rocelab;
using namespace rocelab::verbs;

RL_EXPORT ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
  if (!in_experiment()) return REAL(ibv_create_qp)(pd, attr);
  if (attr->qp_type == IBV_QPT_XRC_RECV) {
    refused("ibv_create_qp", EINVAL, "an XRC target needs its domain (ibv_create_qp_ex)");
    return nullptr;
  }
  return create_qp(pd->context, pd, nullptr, *attr);
}

RL_EXPORT int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask, ibv_qp_init_attr* init) {
  if (!in_experiment()) return REAL(ibv_query_qp)(qp, attr, mask, init);
  const int error = ask_nic(of(qp), [&](Nic& nic, Time) {
    const QpAttr* nic_attr = nic.query_qp(Qpn{qp->qp_num});
    if (nic_attr != nullptr) fill_query(of(qp), *nic_attr, *nic.progress_of(Qpn{qp->qp_num}), *attr);
    return nic_attr != nullptr ? 0 : EINVAL;
  });
  if (error != 0) return error;
  qp->state = attr->qp_state;
  if (init == nullptr) return 0;
  *init = {};
  init->qp_context = qp->qp_context;
  init->send_cq = qp->send_cq;
  init->recv_cq = qp->recv_cq;
  init->srq = qp->srq;
  init->cap = attr->cap;
  init->qp_type = qp->qp_type;
  init->sq_sig_all = of(qp).init.sq_sig_all ? 1 : 0;
  return 0;
}

RL_EXPORT int ibv_destroy_qp(ibv_qp* qp) {
  if (!in_experiment()) return REAL(ibv_destroy_qp)(qp);
  if (forged(of(qp))) return answer(ENOENT);
  notify_peer_on_close(*qp);
  const bool destroyed = end_in_nic(qp->context, [&](Nic& nic, Time) {
    if (nic.groups_of(Qpn{qp->qp_num}) != 0 || !end(nic, of(qp))) return false;  // to be detached first
    of(qp->context).context_objects.qps.remove(of(qp));
    return true;
  });
  if (!destroyed) return refused("ibv_destroy_qp", EBUSY, "it is still attached to multicast groups");
  wait_for_acks(qp->mutex, qp->cond, [&] { return qp->events_completed == of(qp).events_fetched; });
  pthread_cond_destroy(&qp->cond);
  pthread_mutex_destroy(&qp->mutex);
  delete &of(qp);
  return 0;
}

// Not of libibverbs: as Nic::announce_flow(), for traffic programs whose flows are many datagrams. 0, or
// EINVAL.
RL_EXPORT int rocelab_announce_flow(ibv_qp* qp, std::uint32_t packets) {
  if (!in_experiment() || qp == nullptr) return EINVAL;
  return ask_nic(of(qp), [&](Nic& nic, Time) {
    nic.announce_flow(Qpn{qp->qp_num}, packets);
    return 0;
  });
}

// Not of libibverbs: the program knows that the peer needs no answer of this QP any more, so that no time has
// to pass before its connection ends (kPeerClosed). 0, or EINVAL.
RL_EXPORT int rocelab_close_at_once(ibv_qp* qp) {
  if (!in_experiment() || qp == nullptr) return EINVAL;
  of(qp).closes_at_once = true;
  return 0;
}

// Null, as libibverbs answers, for a QP that was created without send_ops_flags.
RL_EXPORT ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  if (!in_experiment()) return REAL(ibv_qp_to_qp_ex)(qp);
  return of(qp).ex.wr_start != nullptr ? &of(qp).ex : nullptr;
}

// IRN places packets as they come: nothing is promised about the order within a message.
RL_EXPORT int ibv_query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode opcode, std::uint32_t flags) {
  if (!in_experiment()) return REAL(ibv_query_qp_data_in_order)(qp, opcode, flags);
  return 0;
}
