// Extended completion queues and queue pairs: completions read piece by piece, with timestamps, and work
// requests built by ibv_wr_*; resizing and overrun of completion queues.
#include <arpa/inet.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "irn_provider/verbs/probe/loopback.h"

namespace rocelab::probe {
namespace {

constexpr std::uint64_t kRcOps = std::uint64_t{IBV_QP_EX_WITH_SEND} | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                 IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                 IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV;

// A loopback whose sending queue pair builds requests and whose sending CQ is an extended one.
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

TEST(ExtendedProbe, EveryOperationIsBuiltAndDoesWhatPostingItDoes) {
  ExtendedLoopback l;
  l.connect();
  for (std::size_t i = 0; i < 64; ++i) l.memory[i] = static_cast<unsigned char>(i + 1);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_EQ(l.receive({l.sge(4'000 + i * 100, 100)}, 70 + i), 0);
  ibv_wr_start(l.qp);
  l.next(1);
  ibv_wr_send(l.qp);
  ibv_wr_set_sge(l.qp, l.mr->lkey, l.at(0), 16);
  l.next(2);
  ibv_wr_send_imm(l.qp, htonl(22));
  const ibv_sge list[2] = {l.sge(0, 8), l.sge(32, 8)};
  ibv_wr_set_sge_list(l.qp, 2, list);
  l.next(3);
  ibv_wr_rdma_write(l.qp, l.mr->rkey, l.at(8'000));
  ibv_wr_set_sge(l.qp, l.mr->lkey, l.at(0), 32);
  l.next(4);
  ibv_wr_rdma_write_imm(l.qp, l.mr->rkey, l.at(9'000), htonl(44));
  ibv_wr_set_sge(l.qp, l.mr->lkey, l.at(0), 32);
  l.next(5);
  ibv_wr_rdma_read(l.qp, l.mr->rkey, l.at(8'000));
  ibv_wr_set_sge(l.qp, l.mr->lkey, l.at(10'000), 32);
  l.next(6);
  ibv_wr_atomic_fetch_add(l.qp, l.mr->rkey, l.at(12'000), 5);
  ibv_wr_set_sge(l.qp, l.mr->lkey, l.at(12'100), 8);
  l.next(7);
  ibv_wr_atomic_cmp_swp(l.qp, l.mr->rkey, l.at(12'000), 5, 9);
  ibv_wr_set_sge(l.qp, l.mr->lkey, l.at(12'200), 8);
  ASSERT_EQ(ibv_wr_complete(l.qp), 0);
  constexpr ibv_wc_opcode kOpcodes[] = {IBV_WC_SEND,       IBV_WC_SEND,      IBV_WC_RDMA_WRITE,
                                        IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ, IBV_WC_FETCH_ADD,
                                        IBV_WC_COMP_SWAP};
  for (std::uint64_t i = 0; i < 7; ++i) {
    l.start_poll();
    EXPECT_EQ(l.cq_ex->wr_id, i + 1);
    EXPECT_EQ(l.cq_ex->status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_wc_read_opcode(l.cq_ex), kOpcodes[i]);
    EXPECT_EQ(ibv_wc_read_qp_num(l.cq_ex), l.a->qp_num);
    ibv_end_poll(l.cq_ex);
  }
  EXPECT_EQ(l.wait(l.recv_cq).byte_len, 16u);
  EXPECT_EQ(ntohl(l.wait(l.recv_cq).imm_data), 22u);
  EXPECT_EQ(ntohl(l.wait(l.recv_cq).imm_data), 44u);
  const unsigned char* m = l.memory.data();
  EXPECT_TRUE(std::equal(m, m + 16, m + 4'000));
  EXPECT_TRUE(std::equal(m, m + 8, m + 4'100) && std::equal(m + 32, m + 40, m + 4'108));
  EXPECT_TRUE(std::equal(m, m + 32, m + 8'000) && std::equal(m, m + 32, m + 9'000));
  EXPECT_TRUE(std::equal(m, m + 32, m + 10'000));
  std::uint64_t word = 0;
  std::memcpy(&word, m + 12'000, sizeof word);
  EXPECT_EQ(word, 9u);
  std::memcpy(&word, m + 12'200, sizeof word);
  EXPECT_EQ(word, 5u);
}

TEST(ExtendedProbe, InlineDataIsTakenWhenItIsSet) {
  ExtendedLoopback l;
  l.connect();
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(l.receive({l.sge(1'000, 64)}), 0);
    ASSERT_EQ(l.receive({l.sge(1'100, 64)}), 0);
    unsigned char bytes[40];
    std::fill(std::begin(bytes), std::end(bytes), static_cast<unsigned char>(round));
    ibv_wr_start(l.qp);
    l.next(1, 0);
    ibv_wr_send(l.qp);
    ibv_wr_set_inline_data(l.qp, bytes, 40);
    l.next(2);
    ibv_wr_send(l.qp);
    const ibv_data_buf parts[2] = {{bytes, 3}, {bytes + 3, 4}};
    ibv_wr_set_inline_data_list(l.qp, 2, parts);
    std::fill(std::begin(bytes), std::end(bytes), 0xee);
    ASSERT_EQ(ibv_wr_complete(l.qp), 0);
    EXPECT_EQ(l.wait(l.recv_cq).byte_len, 40u);
    EXPECT_EQ(l.wait(l.recv_cq).byte_len, 7u);
    EXPECT_EQ(l.memory[1'039], round);
    EXPECT_EQ(l.memory[1'106], round);
    l.start_poll();
    EXPECT_EQ(l.cq_ex->wr_id, 2u);
    ibv_end_poll(l.cq_ex);
  }
}

// Posted and built alike: the message is acknowledged, its receiver ends in error, as with the kernel.
TEST(ExtendedProbe, ThereIsNothingThatASendMayInvalidate) {
  for (const bool built : {false, true}) {
    ExtendedLoopback l;
    l.connect();
    ASSERT_EQ(l.receive({l.sge(1'000, 8)}), 0);
    if (built) {
      ibv_wr_start(l.qp);
      l.next(3);
      ibv_wr_send_inv(l.qp, l.mr->rkey);
      ibv_wr_set_sge(l.qp, l.mr->lkey, l.at(0), 8);
      ASSERT_EQ(ibv_wr_complete(l.qp), 0);
    } else {
      ASSERT_EQ(l.send(IBV_WR_SEND_WITH_INV, {l.sge(0, 8)}), 0);
    }
    EXPECT_EQ(l.wait(l.recv_cq).status, IBV_WC_REM_INV_REQ_ERR);
    l.start_poll();
    EXPECT_EQ(l.cq_ex->status, IBV_WC_SUCCESS);
    ibv_end_poll(l.cq_ex);
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    ASSERT_EQ(ibv_query_qp(l.b, &attr, IBV_QP_STATE, &init), 0);
    EXPECT_EQ(attr.qp_state, IBV_QPS_ERR);
  }
}

TEST(ExtendedProbe, ABatchIsPostedWholeOrNotAtAll) {
  ExtendedLoopback l;
  l.connect();
  const auto write = [&](std::uint64_t wr_id) {
    l.next(wr_id);
    ibv_wr_rdma_write(l.qp, l.mr->rkey, l.at(8'000));
    ibv_wr_set_sge(l.qp, l.mr->lkey, l.at(0), 8);
  };
  ibv_wr_start(l.qp);
  for (std::uint64_t i = 0; i < 9; ++i) write(i);
  EXPECT_EQ(ibv_wr_complete(l.qp), ENOMEM) << "a queue of 8";
  ibv_wr_start(l.qp);
  write(1);
  ibv_wr_local_inv(l.qp, 5);
  EXPECT_EQ(ibv_wr_complete(l.qp), EOPNOTSUPP);
  ibv_wr_start(l.qp);
  write(1);
  unsigned char bytes[65] = {};
  ibv_wr_set_inline_data(l.qp, bytes, 65);
  EXPECT_EQ(ibv_wr_complete(l.qp), EINVAL) << "more than max_inline_data";
  ibv_wr_start(l.qp);
  ibv_wr_set_sge(l.qp, l.mr->lkey, l.at(0), 8);
  EXPECT_EQ(ibv_wr_complete(l.qp), EINVAL) << "of no request";
  ibv_wr_start(l.qp);
  write(77);
  ibv_wr_abort(l.qp);
  ibv_wr_start(l.qp);
  EXPECT_EQ(ibv_wr_complete(l.qp), 0) << "nothing at all";
  ibv_wr_start(l.qp);
  for (std::uint64_t i = 0; i < 8; ++i) write(100 + i);
  EXPECT_EQ(ibv_wr_complete(l.qp), 0);
  l.start_poll();
  for (std::uint64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(l.cq_ex->wr_id, 100 + i);
    while (i < 7 && ibv_next_poll(l.cq_ex) == ENOENT) {
      ibv_end_poll(l.cq_ex);
      l.start_poll();
      break;
    }
  }
  ibv_end_poll(l.cq_ex);
}

TEST(ExtendedProbe, DatagramsAreAddressed) {
  Loopback l;
  ibv_gid gid{};
  ASSERT_EQ(ibv_query_gid(l.context, 1, 1, &gid), 0);
  ibv_qp_init_attr_ex init{};
  init.send_cq = l.send_cq;
  init.recv_cq = l.recv_cq;
  init.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  init.qp_type = IBV_QPT_UD;
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.pd = l.pd;
  init.send_ops_flags = std::uint64_t{IBV_QP_EX_WITH_SEND} | IBV_QP_EX_WITH_RDMA_WRITE;
  EXPECT_EQ(ibv_create_qp_ex(l.context, &init), nullptr) << "no WRITE of datagrams";
  EXPECT_EQ(errno, EOPNOTSUPP);
  init.send_ops_flags = IBV_QP_EX_WITH_SEND;
  ibv_qp* ud = ibv_create_qp_ex(l.context, &init);
  ASSERT_NE(ud, nullptr);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qkey = 0x1234;
  ASSERT_EQ(ibv_modify_qp(ud, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
  attr.qp_state = IBV_QPS_RTR;
  ASSERT_EQ(ibv_modify_qp(ud, &attr, IBV_QP_STATE), 0);
  attr.qp_state = IBV_QPS_RTS;
  ASSERT_EQ(ibv_modify_qp(ud, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
  ibv_ah_attr address{};
  address.is_global = 1;
  address.port_num = 1;
  address.grh.dgid = gid;
  address.grh.sgid_index = 1;
  ibv_ah* ah = ibv_create_ah(l.pd, &address);
  ASSERT_NE(ah, nullptr);
  ibv_sge into = l.sge(1'000, 140);
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.sg_list = &into;
  wr.num_sge = 1;
  ASSERT_EQ(ibv_post_recv(ud, &wr, &bad), 0);
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(ud);
  ibv_wr_start(qp);
  qp->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(qp);
  ibv_wr_set_ud_addr(qp, ah, ud->qp_num, 0x1234);
  ibv_wr_set_sge(qp, l.mr->lkey, reinterpret_cast<std::uintptr_t>(l.memory.data()), 100);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  const ibv_wc wc = l.wait(l.recv_cq);
  EXPECT_EQ(wc.byte_len, 140u);
  EXPECT_EQ(wc.src_qp, ud->qp_num);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_destroy_qp(ud), 0);
  EXPECT_EQ(ibv_destroy_ah(ah), 0);
}

// A WRITE of 8 bytes: request and ACK cross two links of 2 us each; timestamps are of the completion,
// whenever it is read.
TEST(ExtendedProbe, TimestampsAreExperimentTime) {
  ExtendedLoopback l;
  l.connect();
  ibv_device_attr_ex device{};
  ASSERT_EQ(ibv_query_device_ex(l.context, nullptr, &device), 0);
  EXPECT_EQ(device.hca_core_clock, 1'000'000u) << "kHz: a clock of nanoseconds";
  EXPECT_EQ(device.completion_timestamp_mask, UINT64_MAX);
  ibv_values_ex before{};
  before.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  ASSERT_EQ(ibv_query_rt_values_ex(l.context, &before), 0);
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  ibv_wr_start(l.qp);
  l.next(1);
  ibv_wr_rdma_write(l.qp, l.mr->rkey, l.at(8'000));
  ibv_wr_set_sge(l.qp, l.mr->lkey, l.at(0), 8);
  ASSERT_EQ(ibv_wr_complete(l.qp), 0);
  timespec ms{.tv_sec = 0, .tv_nsec = 1'000'000};
  nanosleep(&ms, nullptr);
  l.start_poll();
  const std::uint64_t took =
      ibv_wc_read_completion_ts(l.cq_ex) - static_cast<std::uint64_t>(before.raw_clock.tv_nsec);
  EXPECT_GT(took, 8'000u);
  EXPECT_LT(took, 8'200u);
  const std::uint64_t wall_ns =
      static_cast<std::uint64_t>(wall.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(wall.tv_nsec);
  EXPECT_EQ(ibv_wc_read_completion_wallclock_ns(l.cq_ex) - wall_ns, took);
  ibv_end_poll(l.cq_ex);
}

TEST(ExtendedProbe, WhatIsNotOfferedIsRefused) {
  Loopback l;
  const auto creates = [&](auto&& change) {
    ibv_cq_init_attr_ex cq{};
    cq.cqe = 4;
    change(cq);
    errno = 0;
    ibv_cq_ex* made = ibv_create_cq_ex(l.context, &cq);
    return made != nullptr ? ibv_destroy_cq(ibv_cq_ex_to_cq(made)) : errno;
  };
  EXPECT_EQ(creates([](ibv_cq_init_attr_ex& c) { c.wc_flags = IBV_WC_STANDARD_FLAGS; }), 0);
  EXPECT_EQ(creates([](ibv_cq_init_attr_ex& c) { c.wc_flags = IBV_WC_EX_WITH_FLOW_TAG; }), EOPNOTSUPP);
  EXPECT_EQ(creates([](ibv_cq_init_attr_ex& c) { c.wc_flags = IBV_WC_EX_WITH_CVLAN; }), EOPNOTSUPP);
  EXPECT_EQ(creates([](ibv_cq_init_attr_ex& c) { c.cqe = 0; }), EINVAL);
  EXPECT_EQ(creates([](ibv_cq_init_attr_ex& c) { c.comp_vector = 1; }), EINVAL);
  EXPECT_EQ(creates([](ibv_cq_init_attr_ex& c) {
              c.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
              c.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
            }),
            0);
  EXPECT_EQ(creates([](ibv_cq_init_attr_ex& c) {
              c.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
              c.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
            }),
            EOPNOTSUPP);
  EXPECT_EQ(ibv_qp_to_qp_ex(l.a), nullptr) << "created without send_ops_flags";
  ibv_moderate_cq moderation{};
  ibv_modify_cq_attr attr{.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = moderation};
  EXPECT_EQ(ibv_modify_cq(l.send_cq, &attr), EOPNOTSUPP);
}

TEST(ExtendedProbe, ACompletionQueueIsResizedToNoLessThanItHolds) {
  Loopback l({.cq_entries = 4});
  l.connect();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(l.send(IBV_WR_RDMA_WRITE, {l.sge(0, 8)}, 1'000), 0);
  timespec ms{.tv_sec = 0, .tv_nsec = 1'000'000};
  nanosleep(&ms, nullptr);
  EXPECT_EQ(ibv_resize_cq(l.send_cq, 2), EINVAL);
  EXPECT_EQ(ibv_resize_cq(l.send_cq, 0), EINVAL);
  EXPECT_EQ(ibv_resize_cq(l.send_cq, 1 << 30), EINVAL);
  EXPECT_EQ(l.send_cq->cqe, 4);
  EXPECT_EQ(ibv_resize_cq(l.send_cq, 16), 0);
  EXPECT_EQ(l.send_cq->cqe, 16);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(l.send(IBV_WR_RDMA_WRITE, {l.sge(0, 8)}, 1'000), 0);
  for (int i = 0; i < 13; ++i) EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace rocelab::probe
