#include "verbs_app/common/rdma.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace rocelab::app {
namespace {

constexpr std::uint8_t kPort = 1;
constexpr std::uint8_t kMinRnrTimer = 12;  // 0.64 ms
constexpr std::uint8_t kRdAtomic = 16;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

[[noreturn]] void fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + std::strerror(error));
}

template <class T>
T* need(T* object, const std::string& what) {
  if (object == nullptr) fail(what, errno);
  return object;
}

ibv_context* open_device(const std::string& name) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  if (list == nullptr) fail("ibv_get_device_list", errno);
  ibv_context* context = nullptr;
  bool found = false;
  for (int i = 0; i < count && !found; ++i) {
    if (!name.empty() && name != ibv_get_device_name(list[i])) continue;
    found = true;
    context = ibv_open_device(list[i]);
  }
  const int error = errno;
  ibv_free_device_list(list);
  if (!found) throw std::runtime_error(name.empty() ? "no RDMA device" : "no RDMA device '" + name + "'");
  if (context == nullptr) fail("ibv_open_device", error);
  return context;
}

ibv_mtu mtu_code(int bytes) {
  for (int code = IBV_MTU_256; code <= IBV_MTU_4096; ++code)
    if (128 << code == bytes) return static_cast<ibv_mtu>(code);
  throw std::runtime_error("a path MTU is 256, 512, 1024, 2048 or 4096 bytes, not " + std::to_string(bytes));
}

int device_rd_atomic(ibv_context* context) {
  ibv_device_attr attr{};
  if (const int error = ibv_query_device(context, &attr); error != 0) fail("ibv_query_device", error);
  return attr.max_qp_rd_atom;
}

}  // namespace

Rdma::Rdma(const std::string& device, const PathOptions& path, int cq_entries)
    : path_(path),
      context_(open_device(device)),
      pd_(need(ibv_alloc_pd(context_.get()), "ibv_alloc_pd")),
      channel_(need(ibv_create_comp_channel(context_.get()), "ibv_create_comp_channel")),
      cq_(need(ibv_create_cq(context_.get(), cq_entries, nullptr, channel_.get(), 0),
               "ibv_create_cq with " + std::to_string(cq_entries) + " entries")) {
  ibv_port_attr port{};
  if (const int error = ibv_query_port(context_.get(), kPort, &port); error != 0)
    fail("ibv_query_port", error);
  lid_ = port.lid;
  if (ibv_query_gid(context_.get(), kPort, path.gid_index, &gid_) != 0)
    fail("ibv_query_gid for index " + std::to_string(path.gid_index), errno);
}

void Rdma::register_memory(void* addr, std::size_t length) {
  mr_.reset(need(ibv_reg_mr(pd_.get(), addr, length, kAccess),
                 "ibv_reg_mr of " + std::to_string(length) + " bytes"));
}

OwnedQp Rdma::create_qp(const QueueDepths& depths, ibv_qp_type type) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq_.get();
  init.cap = {.max_send_wr = static_cast<std::uint32_t>(std::max(depths.send, 1)),
              .max_recv_wr = static_cast<std::uint32_t>(std::max(depths.recv, 1)),
              .max_send_sge = static_cast<std::uint32_t>(depths.send_sge),
              .max_recv_sge = static_cast<std::uint32_t>(depths.recv_sge),
              .max_inline_data = static_cast<std::uint32_t>(depths.inline_bytes)};
  init.qp_type = type;
  OwnedQp qp(need(ibv_create_qp(pd_.get(), &init), "ibv_create_qp"));
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = kPort;
  attr.qp_access_flags = kAccess;
  attr.qkey = kQkey;
  const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                   (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
  if (const int error = ibv_modify_qp(qp.get(), &attr, mask); error != 0) fail("QP to INIT", error);
  return qp;
}

Endpoint Rdma::endpoint(const ibv_qp& qp, std::uint32_t psn) const {
  Endpoint e;
  e.qpn = qp.qp_num;
  e.psn = psn & 0xffffff;
  e.lid = lid_;
  std::memcpy(e.gid, gid_.raw, sizeof e.gid);
  return e;
}

ibv_ah_attr Rdma::address(const Endpoint& remote, std::optional<std::uint8_t> traffic_class) const {
  ibv_ah_attr attr{};
  attr.is_global = 1;
  attr.dlid = remote.lid;
  attr.port_num = kPort;
  std::memcpy(attr.grh.dgid.raw, remote.gid, sizeof remote.gid);
  attr.grh.sgid_index = static_cast<std::uint8_t>(path_.gid_index);
  attr.grh.hop_limit = 64;
  attr.grh.traffic_class = traffic_class.value_or(static_cast<std::uint8_t>(path_.traffic_class));
  return attr;
}

OwnedAh Rdma::create_ah(const Endpoint& remote, std::optional<std::uint8_t> traffic_class) {
  ibv_ah_attr attr = address(remote, traffic_class);
  return OwnedAh(need(ibv_create_ah(pd_.get(), &attr), "ibv_create_ah"));
}

void Rdma::connect(ibv_qp& qp, const Endpoint& local, const Endpoint& remote,
                   std::optional<std::uint8_t> traffic_class) {
  const auto rd_atomic =
      static_cast<std::uint8_t>(std::min<int>(kRdAtomic, device_rd_atomic(context_.get())));
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = mtu_code(path_.mtu);
  attr.dest_qp_num = remote.qpn;
  attr.rq_psn = remote.psn;
  attr.max_dest_rd_atomic = rd_atomic;
  attr.min_rnr_timer = kMinRnrTimer;
  attr.ah_attr = address(remote, traffic_class);
  int mask = IBV_QP_STATE;
  if (qp.qp_type != IBV_QPT_UD) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (qp.qp_type == IBV_QPT_RC) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (const int error = ibv_modify_qp(&qp, &attr, mask); error != 0)
    fail("QP to RTR (path MTU " + std::to_string(path_.mtu) + ", GID index " +
             std::to_string(path_.gid_index) + ")",
         error);
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = static_cast<std::uint8_t>(path_.timeout);
  attr.retry_cnt = static_cast<std::uint8_t>(path_.retry_count);
  attr.rnr_retry = static_cast<std::uint8_t>(path_.rnr_retry);
  attr.sq_psn = local.psn;
  attr.max_rd_atomic = rd_atomic;
  mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (qp.qp_type == IBV_QPT_RC)
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  if (const int error = ibv_modify_qp(&qp, &attr, mask); error != 0) fail("QP to RTS", error);
}

void Rdma::drain(ibv_qp& qp) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_SQD;
  if (const int error = ibv_modify_qp(&qp, &attr, IBV_QP_STATE); error != 0) fail("QP to SQD", error);
}

}  // namespace rocelab::app
