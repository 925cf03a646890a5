// What the receiving end's program hears of a request that is refused: the receive WQE's completion where the
// message had one, else an asynchronous event of its queue pair (IBTA 9.9.3, 11.6.3); of unreliable classes
// nothing.
#include <poll.h>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

bool hears(const Loopback& l, int ms) {
  pollfd p{.fd = l.context->async_fd, .events = POLLIN, .revents = 0};
  return poll(&p, 1, ms) == 1;
}
ibv_qp_state state_of(ibv_qp* qp) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  EXPECT_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
  return attr.qp_state;
}
void expect_event(const Loopback& l, ibv_event_type type) {
  ASSERT_TRUE(hears(l, 10'000));
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(l.context, &event), 0);
  EXPECT_EQ(event.event_type, type);
  EXPECT_EQ(event.element.qp, l.b);
  ibv_ack_async_event(&event);
  EXPECT_FALSE(hears(l, 0)) << "once, and the requester's program by its completion";
  EXPECT_EQ(state_of(l.b), IBV_QPS_ERR);
}

int post(const Loopback& l, ibv_wr_opcode opcode, std::uint32_t rkey) {
  ibv_sge part = l.sge(0, 8);
  ibv_send_wr wr{}, *bad = nullptr;
  wr.sg_list = &part, wr.num_sge = 1, wr.opcode = opcode, wr.send_flags = IBV_SEND_SIGNALED;
  if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
    wr.wr.atomic = {.remote_addr = l.sge(4'096, 8).addr, .compare_add = 1, .swap = 0, .rkey = rkey};
  else
    wr.wr.rdma = {.remote_addr = l.sge(4'096, 8).addr, .rkey = rkey};
  return ibv_post_send(l.a, &wr, &bad);
}

constexpr ibv_wr_opcode kRemote[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
                                     IBV_WR_ATOMIC_FETCH_AND_ADD};

TEST(ResponderProbe, AKeyThatIsNotOneIsAnAccessErrorOfTheQueuePair) {
  for (const ibv_wr_opcode opcode : kRemote) {
    SCOPED_TRACE(opcode);
    Loopback l;
    l.connect();
    ASSERT_EQ(post(l, opcode, l.mr->rkey ^ 0x5500), 0);
    EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_REM_ACCESS_ERR);
    expect_event(l, IBV_EVENT_QP_ACCESS_ERR);
  }
}

TEST(ResponderProbe, WhatTheQueuePairDoesNotGrantIsARequestErrorOfIt) {
  for (const ibv_wr_opcode opcode : kRemote) {
    SCOPED_TRACE(opcode);
    Loopback l;
    l.connect();
    ibv_qp_attr narrow{};
    narrow.qp_access_flags = IBV_ACCESS_LOCAL_WRITE;
    ASSERT_EQ(ibv_modify_qp(l.b, &narrow, IBV_QP_ACCESS_FLAGS), 0);
    ASSERT_EQ(post(l, opcode, l.mr->rkey), 0);
    EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_REM_INV_REQ_ERR);
    expect_event(l, IBV_EVENT_QP_REQ_ERR);
  }
}

TEST(ResponderProbe, AMessageLongerThanItsReceiveWqeIsToldByThatWqe) {
  Loopback l;
  l.connect();
  ASSERT_EQ(l.receive({l.sge(4'096, 7)}, 9), 0);
  ASSERT_EQ(l.send(IBV_WR_SEND, {l.sge(0, 8)}), 0);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_REM_INV_REQ_ERR) << "IBTA 9.9.3: a length error, class C";
  const ibv_wc wc = l.wait(l.recv_cq);
  EXPECT_EQ(wc.status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(wc.wr_id, 9u);
  EXPECT_EQ(state_of(l.b), IBV_QPS_ERR);
  EXPECT_FALSE(hears(l, 1));
}

TEST(ResponderProbe, AReceiveWqeWithAKeyThatIsNotOneIsToldByThatWqe) {
  Loopback l;
  l.connect();
  ibv_sge bad_key = l.sge(4'096, 8);
  bad_key.lkey ^= 0x5500;
  ASSERT_EQ(l.receive({bad_key}, 9), 0);
  ASSERT_EQ(l.send(IBV_WR_SEND, {l.sge(0, 8)}), 0);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_REM_OP_ERR) << "a fault of the responder's own, class A";
  EXPECT_EQ(l.wait(l.recv_cq).status, IBV_WC_LOC_PROT_ERR);
  EXPECT_FALSE(hears(l, 1));
}

TEST(ResponderProbe, WhatAnUnreliableConnectionRefusesIsHeardOfNowhere) {
  Loopback l;
  ibv_qp_init_attr init{};
  init.send_cq = l.send_cq, init.recv_cq = l.recv_cq, init.qp_type = IBV_QPT_UC;
  init.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  ibv_gid gid{};
  ASSERT_EQ(ibv_query_gid(l.context, 1, 1, &gid), 0);
  ibv_qp* const reliable[] = {l.a, l.b};
  l.a = ibv_create_qp(l.pd, &init), l.b = ibv_create_qp(l.pd, &init);
  for (const auto& [qp, peer] : {std::pair{l.a, l.b}, std::pair{l.b, l.a}}) {
    ibv_qp_attr attr = init_attr();
    ASSERT_EQ(ibv_modify_qp(qp, &attr, kInitMask), 0);
    attr = rtr_attr(gid, peer->qp_num);
    ASSERT_EQ(ibv_modify_qp(qp, &attr, kRtrMask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)), 0);
    attr = rts_attr();
    ASSERT_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
  }
  ASSERT_EQ(post(l, IBV_WR_RDMA_WRITE, l.mr->rkey ^ 0x5500), 0);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
  ASSERT_EQ(l.receive({l.sge(4'096, 8)}), 0);
  ASSERT_EQ(l.send(IBV_WR_SEND, {l.sge(0, 8)}), 0);
  EXPECT_EQ(l.wait(l.recv_cq).status, IBV_WC_SUCCESS) << "and the connection goes on";
  l.wait(l.send_cq);
  EXPECT_FALSE(hears(l, 1));
  EXPECT_EQ(ibv_destroy_qp(l.a), 0);
  EXPECT_EQ(ibv_destroy_qp(l.b), 0);
  l.a = reliable[0], l.b = reliable[1];
}

}  // namespace
}  // namespace rocelab::probe
