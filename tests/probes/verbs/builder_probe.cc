// Work requests built by ibv_wr_*.
#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>

#include "tests/probes/verbs/extended_loopback.h"

namespace rocelab::probe {
namespace {

TEST(BuilderProbe, EveryOperationIsBuiltAndDoesWhatPostingItDoes) {
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

TEST(BuilderProbe, InlineDataIsTakenWhenItIsSet) {
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
TEST(BuilderProbe, ARegionIsNothingThatASendMayInvalidate) {
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

TEST(BuilderProbe, ABatchIsPostedWholeOrNotAtAll) {
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
  ibv_wr_send_tso(l.qp, nullptr, 0, 0);
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

TEST(BuilderProbe, DatagramsAreAddressed) {
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
  ready_for_datagrams(ud, 0x1234);
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

}  // namespace
}  // namespace rocelab::probe
