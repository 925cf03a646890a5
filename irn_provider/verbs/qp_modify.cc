// ibv_modify_qp: checks the move and its attributes (qp_attr_table.h, limits.h), finds the peer's MAC, and
// hands the NIC the whole set of attributes.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/wire/multicast.h"
#include "emu/world/host_identity.h"
#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/qp_attr_table.h"
#include "irn_provider/verbs/rdma_cm/ucma.h"
#include "irn_provider/verbs/real_verbs.h"
#include "irn_provider/verbs/translate.h"

namespace rocelab::verbs {

namespace {

constexpr std::uint8_t kHopLimit = 64;  // Linux sets the route's, whatever the program wrote
// Other rights are taken and without effect, as by Linux and its drivers: libdaploscm says that its QPs bind
// windows, which they may in any case, and programs of later libraries that they flush.
constexpr unsigned kAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

// One attribute whose bit is in the mask must hold what the device can do: its value is from `least` to
// `most`.
struct Check {
  int bit;
  const char* name;
  std::uint32_t (*value)(const ibv_qp_attr&);
  std::uint32_t least, most;  // most: kActiveMtu stands for the port's
};
constexpr std::uint32_t kActiveMtu = UINT32_MAX;
#define ATTRIBUTE(bit, member, least, most)                                                              \
  {                                                                                                      \
    bit, #member, [](const ibv_qp_attr& a) { return static_cast<std::uint32_t>(a.member); }, least, most \
  }
constexpr Check kChecks[] = {
    ATTRIBUTE(IBV_QP_PORT, port_num, kPorts, kPorts),
    ATTRIBUTE(IBV_QP_PKEY_INDEX, pkey_index, 0, kPkeys - 1),
    {IBV_QP_PATH_MTU, "path_mtu, in bytes,", [](const ibv_qp_attr& a) { return mtu_bytes(a.path_mtu); }, 256,
     kActiveMtu},
    ATTRIBUTE(IBV_QP_DEST_QPN, dest_qp_num, 0, kMaxQpn),
    ATTRIBUTE(IBV_QP_RQ_PSN, rq_psn, 0, kMaxPsn),
    ATTRIBUTE(IBV_QP_SQ_PSN, sq_psn, 0, kMaxPsn),
    ATTRIBUTE(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic, 0, kMaxRdAtomic),
    ATTRIBUTE(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, 0, kMaxRdAtomic),
    ATTRIBUTE(IBV_QP_MIN_RNR_TIMER, min_rnr_timer, 0, kMaxRnrTimerCode),
    ATTRIBUTE(IBV_QP_TIMEOUT, timeout, 0, kMaxTimeoutCode),
    ATTRIBUTE(IBV_QP_RETRY_CNT, retry_cnt, 0, kMaxRetry),
    ATTRIBUTE(IBV_QP_RNR_RETRY, rnr_retry, 0, kMaxRetry),
    ATTRIBUTE(IBV_QP_PATH_MIG_STATE, path_mig_state, IBV_MIG_MIGRATED, IBV_MIG_MIGRATED),
};
#undef ATTRIBUTE

// 0 or EINVAL.
int check_attributes(const ibv_qp_attr& attr, int mask, const NicConfig& nic) {
  for (const Check& check : kChecks) {
    if ((mask & check.bit) == 0) continue;
    const bool mtu = check.most == kActiveMtu;
    const std::uint32_t value = check.value(attr), most = mtu ? nic.active_mtu : check.most;
    if (value >= check.least && value <= most) continue;
    return refused("ibv_modify_qp", EINVAL, "%s is %u; %u to %u can be had%s", check.name, value, check.least,
                   most, mtu ? " (the port's active_mtu; nic.path_mtu of the scenario)" : "");
  }
  if ((mask & IBV_QP_ALT_PATH) != 0)
    return refused("ibv_modify_qp", EINVAL, "alt_ah_attr: there are no alternate paths");
  return 0;
}

}  // namespace

void reach(LiveProcess& process, const ibv_ah_attr& ah) {
  KeepsErrno keeps;
  real::RuntimeScope scope;
  Gid gid{};
  std::memcpy(gid.data(), ah.grh.dgid.raw, gid.size());
  if (ah.is_global != 0 && !is_multicast(gid)) process.reach(gid);
}

bool resolve(const char* call, const Context& context, const ibv_ah_attr& ah, std::uint32_t local_qpn,
             std::uint32_t remote_qpn, PathAddress& path) {
  const auto refuse = [&](const char* why) { return refused(call, EINVAL, "ah_attr: %s", why), false; };
  if (ah.is_global == 0)
    return refuse(
        "is_global is 0, an address by LID, and RoCE has none: set it and grh, with GID index 1 for IPv4 "
        "(ibv_rc_pingpong -g 1, ib_write_bw -x 1)");
  if (ah.port_num != kPorts) return refuse("port_num is not 1: the device has one port");
  if (ah.grh.sgid_index >= gids_of(context.device->host))
    return refuse("grh.sgid_index is beyond the GID table (0: link-local IPv6, 1: IPv4, 2: IPv6)");
  std::memcpy(path.dst_gid.data(), ah.grh.dgid.raw, path.dst_gid.size());
  path.src_gid = gid_of(context.device->host, ah.grh.sgid_index);
  const std::optional<PathEnd> peer = is_multicast(path.dst_gid)
                                          ? PathEnd{multicast_mac(path.dst_gid), kNoNode}
                                          : context.process->find_peer(context.device->nic, path.dst_gid);
  if (!peer)
    return refuse(
        "grh.dgid belongs to no host here, or the host answers no ARP, or no link leads from this NIC "
        "to it");
  if (is_ipv4_mapped(path.src_gid) != is_ipv4_mapped(path.dst_gid))
    return refuse(
        "grh.sgid_index and grh.dgid are one IPv4 and one IPv6: both ends take the same GID index (0 and "
        "2: IPv6, 1: IPv4)");
  path.dst_mac = peer->mac;
  path.dst_node = peer->node;
  path.src_gid_index = ah.grh.sgid_index;
  path.traffic_class = ah.grh.traffic_class;
  path.hop_limit = kHopLimit;
  path.udp_src_port = udp_source_port(ah.grh.flow_label, local_qpn, remote_qpn, path.src_gid, path.dst_gid);
  return true;
}

namespace {

// Overwrites in `to` what the mask names.
void merge(const ibv_qp_attr& from, int mask, QpAttr& to) {
  const auto has = [mask](int bit) { return (mask & bit) != 0; };
  if (has(IBV_QP_ACCESS_FLAGS)) to.access_flags = from.qp_access_flags & kAccess;
  if (has(IBV_QP_QKEY)) to.qkey = from.qkey;
  if (has(IBV_QP_PATH_MTU)) to.path_mtu = mtu_bytes(from.path_mtu);
  if (has(IBV_QP_DEST_QPN)) to.dest_qpn = Qpn{from.dest_qp_num};
  if (has(IBV_QP_RQ_PSN)) to.rq_psn = from.rq_psn;
  if (has(IBV_QP_SQ_PSN)) to.sq_psn = from.sq_psn;
  if (has(IBV_QP_TIMEOUT)) to.timeout = from.timeout;
  if (has(IBV_QP_RETRY_CNT)) to.retry_cnt = from.retry_cnt;
  if (has(IBV_QP_RNR_RETRY)) to.rnr_retry = from.rnr_retry;
  if (has(IBV_QP_MIN_RNR_TIMER)) to.min_rnr_timer = from.min_rnr_timer;
  if (has(IBV_QP_MAX_QP_RD_ATOMIC)) to.max_rd_atomic = from.max_rd_atomic;
  if (has(IBV_QP_MAX_DEST_RD_ATOMIC)) to.max_dest_rd_atomic = from.max_dest_rd_atomic;
  to.notify_drained = has(IBV_QP_EN_SQD_ASYNC_NOTIFY) && from.en_sqd_async_notify != 0;
}

// 0 or EINVAL.
int check_move(ibv_qp_type type, const ibv_qp_attr& attr, int mask, ibv_qp_state current, ibv_qp_state next) {
  if ((mask & IBV_QP_CUR_STATE) != 0 && attr.cur_qp_state != current)
    return refused("ibv_modify_qp", EINVAL, "cur_qp_state is %s, but the queue pair is in %s",
                   name_of(attr.cur_qp_state), name_of(current));
  if (mask_allowed(type, current, next, mask)) return 0;
  return refused("ibv_modify_qp", EINVAL, "%s", why_not_allowed(type, current, next, mask).c_str());
}

// Where rdma_cm made the connection the two ends have agreed on its mode, and on RC3; otherwise both are the
// NIC's.
void take_agreement(QpAttr& attr) {
  const Ucma* ucma = Ucma::opened();
  const auto agreed = ucma != nullptr ? ucma->agreed(attr.path.dst_gid, attr.dest_qpn) : std::nullopt;
  attr.plain_roce = agreed && (*agreed & kEceIrn) == 0;
  attr.without_rc3 = agreed && (*agreed & kEceRc3) == 0;
}

// Under the lock. 0 or EINVAL.
int modify(Nic& nic, Time now, Qp& qp, const ibv_qp_attr& attr, int mask) {
  const Qpn qpn{qp.base.qp_num};
  const QpAttr* current = nic.query_qp(qpn);
  if (current == nullptr) return EINVAL;
  const auto state = static_cast<ibv_qp_state>(current->state);
  const ibv_qp_state next = (mask & IBV_QP_STATE) != 0 ? attr.qp_state : state;
  const Context& context = of(qp.base.context);
  if (const int error = check_move(qp.base.qp_type, attr, mask, state, next); error != 0) return error;
  if (const int error = check_attributes(attr, mask, context.device->host.nic); error != 0) return error;
  QpAttr merged = *current;
  merge(attr, mask, merged);
  merged.state = static_cast<QpState>(next);  // same order
  if (qp.init.type == QpType::kUd) merged.path_mtu = context.device->host.nic.active_mtu;
  if ((mask & IBV_QP_AV) != 0) {
    if (!resolve("ibv_modify_qp", context, attr.ah_attr, qpn.value, merged.dest_qpn.value, merged.path))
      return EINVAL;
    if (is_multicast(merged.path.dst_gid))
      return refused("ibv_modify_qp", EINVAL, "ah_attr: a connection cannot go to a multicast group");
    qp.path->ah = attr.ah_attr;
    qp.path->ah.grh.hop_limit = kHopLimit;
    if (next == IBV_QPS_RTR) take_agreement(merged);
  }
  if (!nic.modify_qp(qpn, merged, now))
    return refused("ibv_modify_qp", EINVAL, "the device does not take these attributes together");
  if ((mask & IBV_QP_PORT) != 0) qp.path->port = attr.port_num;
  if (next == IBV_QPS_RESET) qp.path->ah = {};
  qp.base.state = next;
  return 0;
}

bool ends_connection(const ibv_qp_attr& attr, int mask) {
  return (mask & IBV_QP_STATE) != 0 && (attr.qp_state == IBV_QPS_RESET || attr.qp_state == IBV_QPS_ERR);
}

}  // namespace

void linger(LiveProcess& process) {
  KeepsErrno keeps;
  real::RuntimeScope scope;
  process.drain_output(kPeerClosed);
}

bool is_connected(const ibv_qp& qp) {
  return qp.state == IBV_QPS_RTR || qp.state == IBV_QPS_RTS || qp.state == IBV_QPS_SQD;
}

void notify_peer_on_close(ibv_qp& qp) {
  if (is_connected(qp) && !inherited(qp.context) && !of(&qp).closes_at_once) linger(*of(qp.context).process);
}

}  // namespace rocelab::verbs

using namespace rocelab;
using namespace rocelab::verbs;

RL_EXPORT int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  if (!in_experiment()) return REAL(ibv_modify_qp)(qp, attr, mask);
  if (ends_connection(*attr, mask)) notify_peer_on_close(*qp);
  if ((mask & IBV_QP_AV) != 0 && !inherited(qp->context)) reach(*of(qp->context).process, attr->ah_attr);
  const int heeded = heeded_mask(qp->qp_type, mask);
  return ask_nic(of(qp), [&](Nic& nic, Time now) { return modify(nic, now, of(qp), *attr, heeded); });
}
