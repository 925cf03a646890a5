// A loopback whose sending queue pair is an extended one, which builds requests, and so is its sending CQ.
#pragma once

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {

inline constexpr std::uint64_t kRcOps = std::uint64_t{IBV_QP_EX_WITH_SEND} | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                        IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                        IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                        IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV |
                                        IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;

struct ExtendedLoopback : Loopback {
  ExtendedLoopback() {
    EXPECT_EQ(ibv_destroy_qp(a), 0);
    ibv_cq_init_attr_ex cq{};
    cq.cqe = 64;
    cq.wc_flags = std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
    cq_ex = ibv_create_cq_ex(context, &cq);
    ibv_qp_init_attr_ex init = attributes();
    a = ibv_create_qp_ex(context, &init);
    qp = ibv_qp_to_qp_ex(a);
  }
  ~ExtendedLoopback() {
    EXPECT_EQ(ibv_destroy_qp(a), 0);
    EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq_ex)), 0);
    ibv_qp_init_attr plain{};  // one for the base class to destroy
    plain.send_cq = send_cq;
    plain.recv_cq = recv_cq;
    plain.qp_type = IBV_QPT_RC;
    a = ibv_create_qp(pd, &plain);
  }
  ibv_qp_init_attr_ex attributes() const {
    ibv_qp_init_attr_ex init{};
    init.send_cq = ibv_cq_ex_to_cq(cq_ex);
    init.recv_cq = recv_cq;
    init.cap = {
        .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 4, .max_recv_sge = 4, .max_inline_data = 64};
    init.qp_type = IBV_QPT_RC;
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.pd = pd;
    init.send_ops_flags = kRcOps;
    return init;
  }
  void next(std::uint64_t wr_id, unsigned flags = IBV_SEND_SIGNALED) {
    qp->wr_id = wr_id;
    qp->wr_flags = flags;
  }
  std::uint64_t at(std::size_t offset) const {
    return reinterpret_cast<std::uintptr_t>(memory.data()) + offset;
  }
  void start_poll() {
    ibv_poll_cq_attr attr{};
    while (ibv_start_poll(cq_ex, &attr) != 0) {
    }
  }
  ibv_cq_ex* cq_ex;
  ibv_qp_ex* qp;
};

}  // namespace rocelab::probe
