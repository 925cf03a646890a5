#include "tests/probes/verbs/loopback.h"

#include <arpa/inet.h>

namespace rocelab::probe {
namespace {
constexpr int kAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
constexpr std::size_t kMemory = 1 << 16;
}  // namespace

ibv_context* open_device() {
  ibv_device** list = ibv_get_device_list(nullptr);
  ibv_context* context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  return context;
}

ibv_qp_attr init_attr() {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = kAccess;
  return attr;
}

ibv_qp_attr rtr_attr(const ibv_gid& gid, std::uint32_t qpn) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = qpn;
  attr.rq_psn = 0xfffff0;
  attr.max_dest_rd_atomic = 1;
  attr.min_rnr_timer = 12;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.dgid = gid;
  attr.ah_attr.grh.sgid_index = 1;
  return attr;
}

ibv_qp_attr rts_attr() {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 14;
  attr.retry_cnt = 7;
  attr.rnr_retry = 7;
  attr.sq_psn = 0xfffff0;
  attr.max_rd_atomic = 1;
  return attr;
}

void ready_for_datagrams(ibv_qp* qp, std::uint32_t qkey) {
  ASSERT_NE(qp, nullptr);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT, attr.port_num = 1, attr.qkey = qkey;
  EXPECT_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
  attr.qp_state = IBV_QPS_RTR;
  EXPECT_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
  attr.qp_state = IBV_QPS_RTS;
  EXPECT_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

Loopback::Loopback(const LoopbackOptions& options)
    : context(open_device()),
      pd(ibv_alloc_pd(context)),
      channel(ibv_create_comp_channel(context)),
      send_cq(ibv_create_cq(context, options.cq_entries, nullptr, nullptr, 0)),
      recv_cq(ibv_create_cq(context, options.cq_entries, this, channel, 0)),
      memory(kMemory),
      mr(ibv_reg_mr(pd, memory.data(), memory.size(), kAccess)) {
  ibv_qp_init_attr init{};
  init.send_cq = send_cq;
  init.recv_cq = recv_cq;
  init.cap = options.cap;
  init.qp_type = IBV_QPT_RC;
  init.sq_sig_all = options.sq_sig_all ? 1 : 0;
  a = ibv_create_qp(pd, &init);
  b = ibv_create_qp(pd, &init);
}

Loopback::~Loopback() {
  EXPECT_EQ(ibv_destroy_qp(a), 0);
  EXPECT_EQ(ibv_destroy_qp(b), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_destroy_cq(send_cq), 0);
  EXPECT_EQ(ibv_destroy_cq(recv_cq), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

void Loopback::connect() {
  connect_to(a, b->qp_num);
  connect_to(b, a->qp_num);
}

void Loopback::connect_to(ibv_qp* qp, std::uint32_t peer) {
  ibv_gid gid{};
  ASSERT_EQ(ibv_query_gid(context, 1, 1, &gid), 0);
  ibv_qp_attr attr = init_attr();
  ASSERT_EQ(ibv_modify_qp(qp, &attr, kInitMask), 0);
  attr = rtr_attr(gid, peer);
  ASSERT_EQ(ibv_modify_qp(qp, &attr, kRtrMask), 0);
  attr = rts_attr();
  ASSERT_EQ(ibv_modify_qp(qp, &attr, kRtsMask), 0);
}

ibv_sge Loopback::sge(std::size_t offset, std::size_t length) const {
  return {.addr = reinterpret_cast<std::uintptr_t>(memory.data()) + offset,
          .length = static_cast<std::uint32_t>(length),
          .lkey = mr->lkey};
}

int Loopback::send(ibv_wr_opcode opcode, const std::vector<ibv_sge>& from, std::size_t remote_offset,
                   unsigned flags) {
  std::vector<ibv_sge> parts = from;
  ibv_send_wr wr{}, *bad = nullptr;
  wr.sg_list = parts.data();
  wr.num_sge = static_cast<int>(parts.size());
  wr.opcode = opcode;
  wr.send_flags = flags;
  wr.imm_data = htonl(0x01020304);
  wr.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(memory.data()) + remote_offset;
  wr.wr.rdma.rkey = mr->rkey;
  const int error = ibv_post_send(a, &wr, &bad);
  EXPECT_EQ(bad, error != 0 ? &wr : nullptr);
  return error;
}

int Loopback::receive(const std::vector<ibv_sge>& into, std::uint64_t wr_id) {
  std::vector<ibv_sge> parts = into;
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.wr_id = wr_id;
  wr.sg_list = parts.data();
  wr.num_sge = static_cast<int>(parts.size());
  return ibv_post_recv(b, &wr, &bad);
}

ibv_wc Loopback::wait(ibv_cq* cq) {
  ibv_wc wc{};
  while (ibv_poll_cq(cq, 1, &wc) == 0) {
  }
  return wc;
}

}  // namespace rocelab::probe
