// Ucma: connections and datagram services.
#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>

#include "emu/world/host_identity.h"
#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/rdma_cm/ucma.h"
#include "irn_provider/verbs/translate.h"

namespace rocelab::verbs {
namespace {

constexpr unsigned kMaxBacklog = 1'024;  // as Linux ucma

bool is_datagram(const UcmaId& id) { return id.space == cm::PortSpace::kUdp; }

std::span<const std::uint8_t> private_data(const rdma_ucm_conn_param& p) {
  return {p.private_data, p.private_data_len};
}

std::uint8_t mtu_of(const HostEntry& host) {
  return static_cast<std::uint8_t>(mtu_code(host.nic.active_mtu));
}

void fill_address(const HostEntry& host, const cm::QpSettings& s, ib_uverbs_ah_attr& ah) {
  ah.is_global = 1;
  ah.port_num = kPorts;
  std::copy(s.remote_gid.begin(), s.remote_gid.end(), ah.grh.dgid);
  ah.grh.flow_label = s.flow_label;
  ah.grh.sgid_index = static_cast<std::uint8_t>(index_of(host, s.local_gid));
  ah.grh.hop_limit = s.hop_limit;
  ah.grh.traffic_class = s.traffic_class;
}

// Masks and values are those of Linux's ib_cm_init_qp_attr().
void fill_init(const UcmaId& id, const cm::QpSettings* s, ib_uverbs_qp_attr& a) {
  a.qp_attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  a.port_num = kPorts;
  if (is_datagram(id)) {
    a.qp_attr_mask |= IBV_QP_QKEY;
    a.qkey = id.qkey != 0 ? id.qkey : kUdpQkey;
    return;
  }
  a.qp_attr_mask |= IBV_QP_ACCESS_FLAGS;
  if (s == nullptr) return;
  a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  if (s->responder_resources > 0) a.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
}

void fill_rtr(const HostEntry& host, const UcmaId& id, const cm::QpSettings& s, ib_uverbs_qp_attr& a) {
  a.qp_attr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  fill_address(host, s, a.ah_attr);
  a.path_mtu = s.mtu;
  a.dest_qp_num = s.remote_qpn.value;
  a.rq_psn = s.receive_psn;
  if (id.qp_type != IBV_QPT_RC) return;
  a.qp_attr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  a.max_dest_rd_atomic = std::min(s.responder_resources, kMaxRdAtomic);
  a.min_rnr_timer = 0;
}

void fill_rts(const UcmaId& id, const cm::QpSettings& s, ib_uverbs_qp_attr& a) {
  a.qp_attr_mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  a.sq_psn = s.send_psn;
  if (id.qp_type != IBV_QPT_RC) return;
  a.qp_attr_mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  a.timeout = id.ack_timeout != 0 ? id.ack_timeout : s.ack_timeout;
  a.retry_cnt = s.retry_count;
  a.rnr_retry = s.rnr_retry_count;
  a.max_rd_atomic = std::min(s.initiator_depth, kMaxRdAtomic);
}

// As Linux, cma_match_private_data().
cm::Destination listened_for(const PortOwner& port) {
  if (!is_any(port.address)) return {port.address.ip_version, port.address.ip};
  if (port.family_only) return {port.address.ip_version, std::nullopt};
  return {};
}

}  // namespace

int Ucma::listen(Caller& c, const rdma_ucm_listen& cmd) {
  int error = 0;
  UcmaId* id = find(c, cmd.id, error);
  if (id == nullptr) return error;
  if (id->listening || id->connecting || id->has_remote) return EINVAL;
  if (!id->bound && (error = bind(*id, {})) != 0) return error;
  if ((error = ports_.listen(id->port)) != 0) return error;
  id->listening = true;
  const bool sane = cmd.backlog > 0 && cmd.backlog <= kMaxBacklog;
  const auto listen_at = [&](std::size_t nic) {
    const cm::Handle handle = ports_of_nics_[nic]->manager.listen(
        cm::service_id(id->space, id->local.port), sane ? cmd.backlog : kMaxBacklog, listened_for(id->port));
    by_handle_[{nic, handle.value}] = id->number;
    return handle;
  };
  id->handle = listen_at(id->nic);
  for (std::size_t nic = 1; !id->has_device && nic < process_.nics(); ++nic)
    id->elsewhere.push_back(listen_at(nic));
  return 0;
}

cm::ConnectParams Ucma::connect_params(const UcmaId& id, const rdma_ucm_connect& cmd) const {
  const rdma_ucm_conn_param& from = cmd.conn_param;
  cm::ConnectParams p;
  p.service = id.qp_type == IBV_QPT_UC ? cm::Service::kUc : cm::Service::kRc;
  p.local_gid = id.local_gid;
  p.remote_gid = id.remote_gid;
  p.local = id.local;
  p.remote = id.remote;
  p.space = id.space;
  p.qpn = Qpn{from.qp_num & kMaxQpn};
  p.mtu = mtu_of(host(id));
  p.traffic_class = id.tos;
  p.responder_resources = from.responder_resources;
  p.initiator_depth = from.initiator_depth;
  p.retry_count = std::min(from.retry_count, kMaxRetry);
  p.rnr_retry_count = std::min(from.rnr_retry_count, kMaxRetry);
  p.ack_timeout = id.ack_timeout;
  p.flow_control = from.flow_control != 0;
  p.srq = from.srq != 0;
  p.ece = {cmd.ece.vendor_id, cmd.ece.attr_mod};
  if (const std::uint32_t own = ece_options(host(id)); p.ece.vendor_id == 0 && own != 0)
    p.ece = {kEceVendor, own};
  p.private_data = private_data(from);
  return p;
}

int Ucma::connect(Caller& c, const rdma_ucm_connect& cmd) {
  int error = 0;
  UcmaId* id = find(c, cmd.id, error);
  if (id == nullptr) return error;
  if (cmd.conn_param.valid == 0 || !id->has_route || id->connecting) return EINVAL;
  const cm::ConnectParams p = connect_params(*id, cmd);
  if (is_datagram(*id)) {
    id->handle = manager(*id).resolve(p, c.now);
  } else {
    id->handle = manager(*id).connect(p, c.now);
  }
  if (id->handle.value == 0) return EINVAL;
  id->connecting = true;
  by_handle_[{id->nic, id->handle.value}] = id->number;
  settle(c.now);
  return 0;
}

int Ucma::accept(Caller& c, const rdma_ucm_accept& cmd) {
  int error = 0;
  UcmaId* id = find(c, cmd.id, error);
  if (id == nullptr) return error;
  bool done = false;
  if (cmd.conn_param.valid != 0) {  // a request
    const rdma_ucm_conn_param& from = cmd.conn_param;
    cm::AcceptParams p;
    p.qpn = Qpn{from.qp_num & kMaxQpn};
    p.responder_resources = from.responder_resources;
    p.initiator_depth = from.initiator_depth;
    p.rnr_retry_count = std::min(from.rnr_retry_count, kMaxRetry);
    p.flow_control = from.flow_control != 0;
    p.srq = from.srq != 0;
    p.qkey = from.qkey != 0 ? from.qkey : kUdpQkey;
    p.ece = {cmd.ece.vendor_id, cmd.ece.attr_mod};
    if (p.ece.vendor_id == 0 && id->agreed.value_or(0) != 0) p.ece = {kEceVendor, *id->agreed};
    p.private_data = private_data(from);
    done = manager(*id).accept(id->handle, p, c.now);
    if (done) id->uid = cmd.uid;
  } else {  // a reply
    done = manager(*id).establish(id->handle, c.now);
  }
  settle(c.now);
  return done ? 0 : EINVAL;
}

int Ucma::reject(Caller& c, const rdma_ucm_reject& cmd) {
  int error = 0;
  UcmaId* id = find(c, cmd.id, error);
  if (id == nullptr) return error;
  const bool vendor = cmd.reason == static_cast<std::uint8_t>(cm::RejReason::kVendorOption);
  if (cmd.reason != 0 && !vendor && cmd.reason != static_cast<std::uint8_t>(cm::RejReason::kConsumer))
    return EINVAL;
  const bool done =
      manager(*id).reject(id->handle, vendor ? cm::RejReason::kVendorOption : cm::RejReason::kConsumer,
                          {cmd.private_data, cmd.private_data_len}, c.now);
  settle(c.now);
  return done ? 0 : EINVAL;
}

// Also of a connection that the peer has ended already: the answer to its DREQ.
int Ucma::disconnect(Caller& c, const rdma_ucm_disconnect& cmd) {
  int error = 0;
  UcmaId* id = find(c, cmd.id, error);
  if (id == nullptr) return error;
  if (id->handle.value == 0 || id->listening) return EINVAL;
  manager(*id).disconnect(id->handle, c.now);
  settle(c.now);
  return 0;
}

int Ucma::notify(Caller& c, const rdma_ucm_notify& cmd) {
  int error = 0;
  UcmaId* id = find(c, cmd.id, error);
  if (id == nullptr) return error;
  if (cmd.event != IBV_EVENT_COMM_EST || !manager(*id).established(id->handle)) return EINVAL;
  settle(c.now);
  return 0;
}

int Ucma::init_qp_attr(Caller& c, const rdma_ucm_init_qp_attr& cmd, ib_uverbs_qp_attr& out) {
  int error = 0;
  const UcmaId* id = find(c, cmd.id, error);
  if (id == nullptr) return error;
  if (!id->has_device) return EINVAL;
  const cm::QpSettings* settings = id->handle.value != 0 ? manager(*id).settings(id->handle) : nullptr;
  out.qp_state = cmd.qp_state;
  if (cmd.qp_state == IBV_QPS_INIT) {
    fill_init(*id, settings, out);
    return 0;
  }
  if (settings == nullptr || is_datagram(*id)) return EINVAL;
  if (cmd.qp_state == IBV_QPS_RTR) {
    fill_rtr(host(*id), *id, *settings, out);
  } else if (cmd.qp_state == IBV_QPS_RTS) {
    fill_rts(*id, *settings, out);
  } else {
    return EINVAL;
  }
  return 0;
}

}  // namespace rocelab::verbs
