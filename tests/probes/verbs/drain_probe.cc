// SQD and RTR: what may change while the send queue is drained, what is told of it, and where a queue pair
// stands.
#include <poll.h>
#include <time.h>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

constexpr std::uint32_t kFirstPsn = 0xfffff0, kPsnMask = 0xffffff;

int move(ibv_qp* qp, ibv_qp_state to, int mask = 0, ibv_qp_attr attr = {}) {
  attr.qp_state = to;
  return ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask);
}

ibv_qp_attr queried(ibv_qp* qp) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  EXPECT_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
  return attr;
}

void expect_that_it_moves(Loopback& l, ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE) {
  for (std::size_t i = 0; i < 3'000; ++i)
    l.memory[i] = static_cast<unsigned char>(i), l.memory[8'192 + i] = 0;
  const std::size_t from = opcode == IBV_WR_RDMA_READ ? 8'192 : 0;
  ASSERT_EQ(l.send(opcode, {l.sge(from, 3'000)}, 8'192 - from), 0);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(std::equal(l.memory.begin(), l.memory.begin() + 3'000, l.memory.begin() + 8'192));
}

// The next event, which is of that kind and that queue pair. In real time it may take some.
void expect_event(Loopback& l, ibv_event_type type, ibv_qp* of) {
  pollfd waits{.fd = l.context->async_fd, .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&waits, 1, 10'000), 1) << type;
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(l.context, &event), 0);
  EXPECT_EQ(event.event_type, type);
  EXPECT_EQ(event.element.qp, of);
  ibv_ack_async_event(&event);
}
void expect_no_event(Loopback& l) {
  pollfd waits{.fd = l.context->async_fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&waits, 1, 1), 0);
}

// GID 0 is of IPv6, GID 1 of IPv4: frames of one have another length than those of the other.
TEST(DrainProbe, ThePathMayBecomeOneOfTheOtherFamilyAndBack) {
  Loopback l;
  l.connect();
  expect_that_it_moves(l);
  for (const int index : {0, 0, 1, 0}) {
    ibv_gid gid{};
    ASSERT_EQ(ibv_query_gid(l.context, 1, index, &gid), 0);
    ibv_qp_attr attr = rtr_attr(gid, 0);
    attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(index);
    for (ibv_qp* qp : {l.a, l.b}) {
      ASSERT_EQ(move(qp, IBV_QPS_SQD), 0);
      ASSERT_EQ(move(qp, IBV_QPS_SQD, IBV_QP_AV, attr), 0);
      EXPECT_EQ(queried(qp).ah_attr.grh.sgid_index, index);
      ASSERT_EQ(move(qp, IBV_QPS_RTS), 0);
    }
    expect_that_it_moves(l);
    expect_that_it_moves(l, IBV_WR_RDMA_READ);
  }
}

TEST(DrainProbe, TheNumberOfReadsMayGrowAndShrink) {
  Loopback l;
  l.connect();
  for (const std::uint8_t number : std::initializer_list<std::uint8_t>{2, 16, 1, 3, 16}) {
    ibv_qp_attr attr{};
    attr.max_rd_atomic = attr.max_dest_rd_atomic = number;
    for (ibv_qp* qp : {l.a, l.b}) {
      ASSERT_EQ(move(qp, IBV_QPS_SQD), 0);
      ASSERT_EQ(move(qp, IBV_QPS_SQD, IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC, attr), 0);
      ASSERT_EQ(move(qp, IBV_QPS_RTS), 0);
      EXPECT_EQ(queried(qp).max_rd_atomic, number);
      EXPECT_EQ(queried(qp).max_dest_rd_atomic, number);
    }
    for (std::size_t i = 0; i < 20; ++i)
      ASSERT_EQ(l.send(IBV_WR_RDMA_READ, {l.sge(3'000 * i, 3'000)}, 100), 0);
    for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS) << int{number};
  }
}

// b comes up later: meanwhile a's WRITE is outstanding.
TEST(DrainProbe, AQueuePairSaysThatItDrainsAndTellsWhenItIsDrained) {
  Loopback l;
  l.connect_to(l.a, l.b->qp_num);
  EXPECT_EQ(queried(l.a).sq_psn, kFirstPsn);
  ASSERT_EQ(l.send(IBV_WR_RDMA_WRITE, {l.sge(0, 3'000)}, 8'192), 0);
  const timespec ms{.tv_sec = 0, .tv_nsec = 1'000'000};
  nanosleep(&ms, nullptr);
  ibv_qp_attr attr{};
  attr.en_sqd_async_notify = 1;
  ASSERT_EQ(move(l.a, IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY, attr), 0);
  EXPECT_EQ(queried(l.a).qp_state, IBV_QPS_SQD);
  EXPECT_EQ(queried(l.a).sq_draining, 1);
  expect_no_event(l);
  ASSERT_EQ(l.send(IBV_WR_RDMA_WRITE, {l.sge(0, 3'000)}, 8'192), 0);
  l.connect_to(l.b, l.a->qp_num);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
  expect_event(l, IBV_EVENT_SQ_DRAINED, l.a);
  EXPECT_EQ(queried(l.a).sq_draining, 0);
  EXPECT_EQ(queried(l.a).sq_psn, (kFirstPsn + 3) & kPsnMask);
  ibv_wc wc{};
  EXPECT_EQ(ibv_poll_cq(l.send_cq, 1, &wc), 0) << "the second one waits";
  ASSERT_EQ(move(l.a, IBV_QPS_RTS), 0);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(queried(l.a).sq_psn, (kFirstPsn + 6) & kPsnMask);
  EXPECT_EQ(queried(l.b).rq_psn, (kFirstPsn + 6) & kPsnMask);
  EXPECT_EQ(queried(l.b).sq_psn, kFirstPsn);
  expect_no_event(l);
}

TEST(DrainProbe, APacketInRtrTellsThatCommunicationIsEstablished) {
  Loopback l;
  ibv_gid gid{};
  ASSERT_EQ(ibv_query_gid(l.context, 1, 1, &gid), 0);
  for (int life = 0; life < 2; ++life) {
    ASSERT_EQ(move(l.a, IBV_QPS_RESET), 0);
    ASSERT_EQ(move(l.b, IBV_QPS_RESET), 0);
    ASSERT_EQ(move(l.b, IBV_QPS_INIT, kInitMask, init_attr()), 0);
    ASSERT_EQ(move(l.b, IBV_QPS_RTR, kRtrMask, rtr_attr(gid, l.a->qp_num)), 0);
    expect_no_event(l);
    l.connect_to(l.a, l.b->qp_num);
    expect_that_it_moves(l);
    expect_event(l, IBV_EVENT_COMM_EST, l.b);
    expect_that_it_moves(l);
    expect_no_event(l);
    ASSERT_EQ(move(l.b, IBV_QPS_RTS, kRtsMask, rts_attr()), 0);
    expect_that_it_moves(l);
    expect_no_event(l);
  }
}

}  // namespace
}  // namespace rocelab::probe
