// Sessions of verbs calls: what creates, changes and destroys objects.
#include <cerrno>

#include "tests/fuzz/verbs/verbs_session.h"

namespace rocelab::fuzz {

void VerbsSession::create() {
  errno = 0;
  switch (byte() % 8) {
    case 0:
      return create_cq();
    case 1:
      return create_srq();
    case 2: {
      if (ahs_.size() >= kObjects) return;
      ibv_ah_attr attr{};
      attr.is_global = 1;
      attr.port_num = static_cast<std::uint8_t>(byte() < 250 ? 1 : 2);
      attr.grh.sgid_index = static_cast<std::uint8_t>(byte() < 250 ? 1 : byte());
      ibv_query_gid(context_, 1, 1, &attr.grh.dgid);
      return keep(ahs_, ibv_create_ah(byte() < 250 ? pd_ : other_pd_, &attr));
    }
    default:
      return create_qp();
  }
}

void VerbsSession::create_cq() {
  if (cqs_.size() >= kObjects) return;
  const std::uint8_t how = byte();
  const int entries = byte() < 240 ? 1 + byte() : static_cast<int>(word()) - 300;
  if ((how & 1) == 0)
    return keep(cqs_, ibv_create_cq(context_, entries, nullptr, (how & 2) != 0 ? channel_ : nullptr, 0));
  ibv_cq_init_attr_ex attr{};
  attr.cqe = static_cast<std::uint32_t>(entries);
  attr.channel = (how & 2) != 0 ? channel_ : nullptr;
  attr.wc_flags =
      how < 250 ? std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP : word();
  ibv_cq_ex* made = ibv_create_cq_ex(context_, &attr);
  keep(cqs_, made != nullptr ? ibv_cq_ex_to_cq(made) : nullptr);
  if (made != nullptr) extended_.insert(ibv_cq_ex_to_cq(made));
}

void VerbsSession::create_srq() {
  if (srqs_.size() >= kObjects) return;
  ibv_srq_init_attr init{};
  init.attr.max_wr = byte();
  init.attr.max_sge = 1 + byte() % 18u;
  init.attr.srq_limit = byte() < 200 ? 0 : byte();
  const std::uint8_t how = byte();
  if (how >= 216 && how < 240) return create_xrc_srq(init.attr);
  keep(srqs_, ibv_create_srq(how < 240 ? pd_ : other_pd_, &init));
}

void VerbsSession::create_xrc_srq(const ibv_srq_attr& attr) {
  ibv_srq_init_attr_ex init{};
  init.attr = attr;
  init.comp_mask =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  init.srq_type = IBV_SRQT_XRC;
  init.pd = byte() < 240 ? pd_ : other_pd_;
  init.xrcd = byte() < 240 ? xrcd_ : other_xrcd_;
  init.cq = pick(cqs_);
  keep(srqs_, ibv_create_srq_ex(context_, &init));
}

// Of one of them, or of none.
std::uint32_t VerbsSession::srq_number() {
  std::uint32_t number = word();
  if (ibv_srq* srq = pick(srqs_)) {
    const int error = ibv_get_srq_num(srq, &number);
    if (error != 0 && error != EOPNOTSUPP) complain("an SRQ neither has a number nor none");
  }
  return number;
}

void VerbsSession::create_xrc_qp(ibv_qp_init_attr_ex init) {
  init.qp_type = (byte() & 1) != 0 ? IBV_QPT_XRC_SEND : IBV_QPT_XRC_RECV;
  init.xrcd = byte() < 240 ? xrcd_ : other_xrcd_;
  init.pd = pd_;
  const bool target = init.qp_type == IBV_QPT_XRC_RECV;
  init.comp_mask = target ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD;
  if (byte() < 16) init.comp_mask = byte() % 8u;
  if (!target && byte() < 128) {
    init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.send_ops_flags = 0x3ff;
  }
  keep(qps_, ibv_create_qp_ex(context_, &init));
}

// Another handle of a queue pair; only XRC targets give one.
void VerbsSession::open_qp() {
  ibv_qp* qp = pick(qps_);
  ibv_qp_open_attr attr{};
  attr.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  attr.qp_num = qp != nullptr ? qp->qp_num : word();
  attr.xrcd = byte() < 240 ? xrcd_ : other_xrcd_;
  attr.qp_type = byte() < 240 ? IBV_QPT_XRC_RECV : IBV_QPT_RC;
  keep(qps_, ibv_open_qp(context_, &attr));
}

void VerbsSession::create_qp() {
  if (qps_.size() >= kObjects) return;
  constexpr ibv_qp_type kTypes[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RC};
  const std::uint8_t how = byte();
  if (how == 250) return open_qp();
  ibv_qp_init_attr_ex init{};
  init.send_cq = pick(cqs_);
  init.recv_cq = pick(cqs_);
  init.srq = (how & 1) != 0 ? pick(srqs_) : nullptr;
  init.qp_type = how < 250 ? kTypes[how >> 1 & 3] : IBV_QPT_RAW_PACKET;
  init.cap = {.max_send_wr = byte() % 20u,
              .max_recv_wr = byte() % 20u,
              .max_send_sge = byte() % 18u,
              .max_recv_sge = byte() % 18u,
              .max_inline_data = byte()};
  init.sq_sig_all = (how & 8) != 0;
  if (how >= 224 && how < 250) return create_xrc_qp(init);
  ibv_pd* const pd = (how & 96) == 96 ? parent_ : pd_;  // the same domain
  if ((how & 16) == 0) return keep(qps_, ibv_create_qp(pd, reinterpret_cast<ibv_qp_init_attr*>(&init)));
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.pd = pd;
  init.send_ops_flags = IBV_QP_EX_WITH_SEND;
  if (init.qp_type == IBV_QPT_RC) init.send_ops_flags = 0x3ff;  // all that RC has
  if (byte() < 32) init.send_ops_flags = word();
  keep(qps_, ibv_create_qp_ex(context_, &init));
}

// Also what is in use: it says so, and stays.
void VerbsSession::destroy() {
  const auto end = [&](auto& objects, auto&& call) {
    if (objects.empty()) return;
    const auto at = objects.begin() + byte() % static_cast<int>(objects.size());
    take_events();  // an object waits until its events are acknowledged
    const int error = call(*at);
    took(error);
    if (error != 0 && error != EBUSY) complain("an object is neither destroyed nor in use");
    if (error == 0) objects.erase(at);
  };
  switch (byte() % 4) {
    case 0:
      return end(cqs_, [&](ibv_cq* cq) {
        const int error = ibv_destroy_cq(cq);
        if (error == 0) extended_.erase(cq);
        return error;
      });
    case 1:
      return end(srqs_, ibv_destroy_srq);
    case 2:
      return end(ahs_, ibv_destroy_ah);
    default:
      return end(qps_, ibv_destroy_qp);
  }
}

void VerbsSession::change() {
  const std::uint8_t how = byte(), what = how % 8;
  if (how >= 240) return change_memory(how);
  if (what == 0) {
    if (ibv_cq* cq = pick(cqs_)) took(ibv_resize_cq(cq, static_cast<int>(byte()) - 2));
  } else if (what == 1) {
    ibv_srq_attr attr{.max_wr = byte(), .max_sge = 0, .srq_limit = byte() % 8u};
    if (ibv_srq* srq = pick(srqs_)) took(ibv_modify_srq(srq, &attr, byte() % 5));
  } else if (what == 2) {
    if (ibv_cq* cq = pick(cqs_)) took(ibv_req_notify_cq(cq, byte() & 1));
  } else if (what < 6) {
    connect();
  } else if (ibv_qp* qp = pick(qps_)) {
    if (qp->state == IBV_QPS_RTS && how >= 64)
      drain(qp);
    else
      modify_qp(qp);
  }
}

// Two queue pairs of a type, an XRC initiator and a target, or one with itself, all the way up, in whatever
// state they are.
void VerbsSession::connect() {
  ibv_qp* ends[2] = {pick(qps_), pick(qps_)};
  if (ends[0] == nullptr || ends[1] == nullptr) return;
  const bool xrc = ends[0]->qp_type == IBV_QPT_XRC_SEND && ends[1]->qp_type == IBV_QPT_XRC_RECV;
  if (ends[0]->qp_type != ends[1]->qp_type && !xrc) return;
  for (const ibv_qp_state to : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS})
    for (int i = 0; i < 2; ++i) {
      int mask = 0;
      ibv_qp_attr attr = attributes(ends[i], to, mask);
      attr.dest_qp_num = ends[1 - i]->qp_num;
      attr.path_mtu = IBV_MTU_256;
      attr.qp_access_flags = 15;
      took(ibv_modify_qp(ends[i], &attr, mask));
    }
}

// Mostly the next state on the way up, with the attributes that it needs.
void VerbsSession::modify_qp(ibv_qp* qp) {
  const std::uint8_t how = byte();
  ibv_qp_state to = static_cast<ibv_qp_state>(how % 7);
  if (how >= 32 && qp->state < IBV_QPS_RTS) to = static_cast<ibv_qp_state>(qp->state + 1);
  if (how >= 32 && qp->state == IBV_QPS_ERR) to = IBV_QPS_RESET;
  int mask = 0;
  ibv_qp_attr attr = attributes(qp, to, mask);
  if (how % 32 == 31) mask ^= 1 << byte() % 21;
  took(ibv_modify_qp(qp, &attr, mask));
  ibv_qp_init_attr init{};
  if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) != 0 || attr.qp_state != qp->state)
    complain("a queue pair's state is not what the last call left");
}

// Through SQD and back, whether it is drained or not.
void VerbsSession::drain(ibv_qp* qp) {
  for (const ibv_qp_state to : {IBV_QPS_SQD, IBV_QPS_SQD, IBV_QPS_RTS}) {
    int mask = 0;
    ibv_qp_attr attr = attributes(qp, to, mask);
    const int error = ibv_modify_qp(qp, &attr, mask);
    took(error);
    if (error == 0 && (mask & IBV_QP_AV) != 0) ++counts_.moved;
  }
}

ibv_qp_attr VerbsSession::attributes(ibv_qp* qp, ibv_qp_state to, int& mask) {
  ibv_qp* peer = pick(qps_);
  const bool ud = qp->qp_type == IBV_QPT_UD, rc = qp->qp_type == IBV_QPT_RC;
  const bool initiator = qp->qp_type == IBV_QPT_XRC_SEND, target = qp->qp_type == IBV_QPT_XRC_RECV;
  ibv_qp_attr a{};
  a.qp_state = to;
  a.port_num = 1;
  a.qkey = 0x77;
  a.qp_access_flags = byte() < 200 ? 15 : byte();
  a.path_mtu = byte() < 200 ? IBV_MTU_256 : static_cast<ibv_mtu>(byte() % 8);
  a.dest_qp_num = peer->qp_num;
  a.rq_psn = a.sq_psn = 0xfffffe;
  a.max_rd_atomic = a.max_dest_rd_atomic = 2;
  a.timeout = 4, a.retry_cnt = 2, a.rnr_retry = 2, a.min_rnr_timer = 1;  // sessions come to rest soon
  a.ah_attr.is_global = 1;
  a.ah_attr.port_num = 1;
  a.ah_attr.grh.sgid_index = 1;
  ibv_query_gid(context_, 1, 1, &a.ah_attr.grh.dgid);
  mask = IBV_QP_STATE;
  if (to == IBV_QPS_INIT) mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
  if (to == IBV_QPS_RTR && !ud) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (to == IBV_QPS_RTR && (rc || target)) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (to == IBV_QPS_RTS && qp->state == IBV_QPS_RTR) mask |= IBV_QP_SQ_PSN;
  if (to == IBV_QPS_RTS && qp->state == IBV_QPS_RTR && target) mask |= IBV_QP_TIMEOUT;
  if (to == IBV_QPS_RTS && qp->state == IBV_QPS_RTR && (rc || initiator))
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  if (to == IBV_QPS_SQD && qp->state == IBV_QPS_RTS)
    a.en_sqd_async_notify = 1, mask |= IBV_QP_EN_SQD_ASYNC_NOTIFY;
  if (to == IBV_QPS_SQD && qp->state == IBV_QPS_SQD && !ud) change_drained(a, mask, rc);
  return a;
}

// A path of either family, with or without a traffic class, and another number of READs.
void VerbsSession::change_drained(ibv_qp_attr& a, int& mask, bool rc) {
  const std::uint8_t how = byte();
  if ((how & 1) != 0) {
    mask |= IBV_QP_AV;
    a.ah_attr.grh.sgid_index = how >> 1 & 1;
    a.ah_attr.grh.traffic_class = (how & 4) != 0 ? how : 0;
    ibv_query_gid(context_, 1, how >> 1 & 1, &a.ah_attr.grh.dgid);
  }
  if (!rc || (how & 8) == 0) return;
  mask |= IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC;
  a.max_rd_atomic = how >> 4 & 7, a.max_dest_rd_atomic = how >> 5;
}

}  // namespace rocelab::fuzz
