// Memory windows as programs use them: b's memory, bound by b, written by a.
#include <cerrno>

#include "tests/probes/verbs/extended_loopback.h"

namespace rocelab::probe {
namespace {

constexpr unsigned kRemote =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | unsigned{IBV_ACCESS_REMOTE_ATOMIC};
constexpr std::size_t kBegin = 8'192, kLength = 4'096;

// What b offers by windows: memory without remote rights.
struct Windows {
  explicit Windows(Loopback& loopback)
      : l(loopback),
        mr(ibv_reg_mr(l.pd, l.memory.data(), l.memory.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)),
        first(ibv_alloc_mw(l.pd, IBV_MW_TYPE_1)),
        second(ibv_alloc_mw(l.pd, IBV_MW_TYPE_2)) {}
  ~Windows() {
    EXPECT_EQ(ibv_dealloc_mw(first), 0);
    EXPECT_EQ(ibv_dealloc_mw(second), 0);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
  }
  ibv_mw_bind_info info(std::size_t offset = kBegin, std::size_t length = kLength) const {
    return {.mr = mr,
            .addr = reinterpret_cast<std::uintptr_t>(l.memory.data()) + offset,
            .length = length,
            .mw_access_flags = kRemote};
  }
  int bind_first(const ibv_mw_bind_info& to, std::uint64_t wr_id = 1) const {
    ibv_mw_bind bind{.wr_id = wr_id, .send_flags = IBV_SEND_SIGNALED, .bind_info = to};
    return ibv_bind_mw(l.b, first, &bind);
  }
  // As programs do it: they choose the key, and write it down when the bind was posted.
  int bind_second(const ibv_mw_bind_info& to, std::uint64_t wr_id = 2) const {
    ibv_send_wr wr{}, *bad = nullptr;
    wr.wr_id = wr_id, wr.opcode = IBV_WR_BIND_MW, wr.send_flags = IBV_SEND_SIGNALED;
    wr.bind_mw = {.mw = second, .rkey = ibv_inc_rkey(second->rkey), .bind_info = to};
    const int error = ibv_post_send(l.b, &wr, &bad);
    if (error == 0) second->rkey = wr.bind_mw.rkey;
    return error;
  }
  int invalidate(std::uint32_t rkey) const {
    ibv_send_wr wr{}, *bad = nullptr;
    wr.opcode = IBV_WR_LOCAL_INV, wr.send_flags = IBV_SEND_SIGNALED, wr.invalidate_rkey = rkey;
    return ibv_post_send(l.b, &wr, &bad);
  }
  // a's WRITE of 8 bytes, and what it ends with.
  ibv_wc_status write(std::uint32_t rkey, std::size_t offset = kBegin) const {
    ibv_sge from = l.sge(0, 8);
    ibv_send_wr wr{}, *bad = nullptr;
    wr.opcode = IBV_WR_RDMA_WRITE, wr.send_flags = IBV_SEND_SIGNALED;
    wr.sg_list = &from, wr.num_sge = 1;
    wr.wr.rdma = {.remote_addr = reinterpret_cast<std::uintptr_t>(l.memory.data()) + offset, .rkey = rkey};
    EXPECT_EQ(ibv_post_send(l.a, &wr, &bad), 0);
    return l.wait(l.send_cq).status;
  }
  Loopback& l;
  ibv_mr* mr;
  ibv_mw *first, *second;
};

TEST(WindowProbe, TheDeviceSaysWhichItHas) {
  Loopback l;
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(l.context, &device), 0);
  EXPECT_NE(device.device_cap_flags & IBV_DEVICE_MEM_WINDOW, 0u);
  EXPECT_NE(device.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B, 0u);
  std::vector<ibv_mw*> all;
  while (ibv_mw* mw = ibv_alloc_mw(l.pd, IBV_MW_TYPE_2)) all.push_back(mw);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(all.size(), static_cast<std::size_t>(device.max_mw));
  for (ibv_mw* mw : all) EXPECT_EQ(ibv_dealloc_mw(mw), 0);
  EXPECT_EQ(ibv_alloc_mw(l.pd, static_cast<ibv_mw_type>(3)), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST(WindowProbe, Type1IsBoundByItsCallAndUnboundByLength0) {
  Loopback l;
  l.connect();
  Windows w(l);
  const std::uint32_t before = w.first->rkey;
  ASSERT_EQ(w.bind_first(w.info(), 7), 0);
  EXPECT_EQ(w.first->rkey, ibv_inc_rkey(before)) << "at once";
  const ibv_wc wc = l.wait(l.send_cq);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.opcode, IBV_WC_BIND_MW);
  EXPECT_EQ(wc.wr_id, 7u);
  EXPECT_EQ(wc.qp_num, l.b->qp_num);
  l.memory[0] = 0x77;
  EXPECT_EQ(w.write(w.first->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(l.memory[kBegin], 0x77);
  ASSERT_EQ(w.bind_first({.mr = nullptr, .addr = 0, .length = 0, .mw_access_flags = 0}), 0);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(w.write(w.first->rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST(WindowProbe, Type2IsInvalidatedByItsOwner) {
  Loopback l;
  l.connect();
  Windows w(l);
  ASSERT_EQ(w.bind_second(w.info()), 0);
  EXPECT_EQ(l.wait(l.send_cq).opcode, IBV_WC_BIND_MW);
  EXPECT_EQ(w.write(w.second->rkey), IBV_WC_SUCCESS);
  ASSERT_EQ(w.invalidate(w.second->rkey), 0);
  const ibv_wc wc = l.wait(l.send_cq);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.opcode, IBV_WC_LOCAL_INV);
  EXPECT_EQ(w.write(w.second->rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST(WindowProbe, ASendInvalidatesAndItsReceiverIsToldWhich) {
  Loopback l;
  l.connect();
  Windows w(l);
  ASSERT_EQ(w.bind_second(w.info()), 0);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
  ASSERT_EQ(l.receive({l.sge(1'000, 100)}, 70), 0);
  ibv_sge from = l.sge(0, 16);
  ibv_send_wr wr{}, *bad = nullptr;
  wr.opcode = IBV_WR_SEND_WITH_INV, wr.send_flags = IBV_SEND_SIGNALED;
  wr.sg_list = &from, wr.num_sge = 1, wr.invalidate_rkey = w.second->rkey;
  ASSERT_EQ(ibv_post_send(l.a, &wr, &bad), 0);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
  const ibv_wc wc = l.wait(l.recv_cq);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.wr_id, 70u);
  EXPECT_EQ(wc.byte_len, 16u);
  EXPECT_EQ(wc.wc_flags, static_cast<unsigned>(IBV_WC_WITH_INV));
  EXPECT_EQ(wc.invalidated_rkey, w.second->rkey);
  ASSERT_EQ(w.bind_second(w.info()), 0) << "and may be bound again";
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(w.write(w.second->rkey), IBV_WC_SUCCESS);
}

TEST(WindowProbe, BindsAreBuiltToo) {
  ExtendedLoopback l;
  l.connect();
  Windows w(l);
  const ibv_mw_bind_info info = w.info();
  const std::uint32_t rkey = ibv_inc_rkey(w.second->rkey);
  ibv_wr_start(l.qp);
  l.next(1);
  ibv_wr_bind_mw(l.qp, w.second, rkey, &info);
  l.next(2);
  ibv_wr_local_inv(l.qp, rkey);
  ASSERT_EQ(ibv_wr_complete(l.qp), 0);
  l.start_poll();
  EXPECT_EQ(l.cq_ex->wr_id, 1u);
  EXPECT_EQ(l.cq_ex->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(l.cq_ex), IBV_WC_BIND_MW);
  ASSERT_EQ(ibv_next_poll(l.cq_ex), 0);
  EXPECT_EQ(l.cq_ex->wr_id, 2u);
  EXPECT_EQ(l.cq_ex->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(l.cq_ex), IBV_WC_LOCAL_INV);
  ibv_end_poll(l.cq_ex);
  ibv_wr_start(l.qp);
  l.next(3);
  ibv_wr_bind_mw(l.qp, w.first, rkey, &info);
  EXPECT_EQ(ibv_wr_complete(l.qp), EINVAL) << "type 1 has a call of its own";
  ibv_mw_bind_info bad = info;
  bad.mr = nullptr;
  ibv_wr_start(l.qp);
  l.next(4);
  ibv_wr_bind_mw(l.qp, w.second, rkey, &bad);
  EXPECT_EQ(ibv_wr_complete(l.qp), EINVAL);
  ibv_wr_start(l.qp);
  l.next(5);
  ibv_wr_bind_mw(l.qp, w.second, rkey, &info);
  ibv_wr_set_sge(l.qp, w.mr->lkey, l.at(0), 8);
  EXPECT_EQ(ibv_wr_complete(l.qp), EINVAL) << "a bind has no data";
}

TEST(WindowProbe, ABindThatFailsSaysSoAndEndsItsQueuePair) {
  Loopback l;
  l.connect();
  Windows w(l);
  ASSERT_EQ(w.bind_second(w.info(l.memory.size() - 8, 9)), 0);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_MW_BIND_ERR) << "one byte beyond its region";
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(l.b, &attr, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attr.qp_state, IBV_QPS_ERR);
  ASSERT_EQ(w.bind_first(w.info(), 9), 0);
  const ibv_wc wc = l.wait(l.send_cq);
  EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(wc.wr_id, 9u);
}

TEST(WindowProbe, WhatCannotBeIsRefusedWhenItIsPosted) {
  Loopback l;
  Windows w(l);
  EXPECT_EQ(w.bind_first(w.info()), EINVAL) << "RESET";
  EXPECT_EQ(w.bind_second(w.info()), EINVAL);
  EXPECT_EQ(w.invalidate(w.second->rkey), EINVAL);
  l.connect();
  const std::uint32_t before = w.first->rkey;
  ibv_mw_bind_info info = w.info();
  info.mw_access_flags |= IBV_ACCESS_ZERO_BASED;
  errno = 0;
  EXPECT_EQ(w.bind_first(info), EINVAL);
  EXPECT_EQ(errno, EINVAL);
  ibv_mw_bind bind{.wr_id = 1, .send_flags = IBV_SEND_INLINE, .bind_info = w.info()};
  EXPECT_EQ(ibv_bind_mw(l.b, w.first, &bind), EINVAL);
  EXPECT_EQ(w.first->rkey, before);
  ibv_send_wr wr{}, *bad = nullptr;
  wr.opcode = IBV_WR_BIND_MW;
  wr.bind_mw = {.mw = w.first, .rkey = before, .bind_info = w.info()};
  EXPECT_EQ(ibv_post_send(l.b, &wr, &bad), EINVAL) << "type 1";
  EXPECT_EQ(bad, &wr);
}

// IBTA 10.6.7.2.1: of type 2 only.
TEST(WindowProbe, AZeroBasedWindowIsAddressedFromItsFirstByte) {
  Loopback l;
  Windows w(l);
  l.connect();
  l.memory[0] = 77;
  ibv_mw_bind_info info = w.info();
  info.mw_access_flags |= IBV_ACCESS_ZERO_BASED;
  ASSERT_EQ(w.bind_second(info), 0);
  ASSERT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
  const std::size_t first = 0 - static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(l.memory.data()));
  EXPECT_EQ(w.write(w.second->rkey, first + 8), IBV_WC_SUCCESS);
  EXPECT_EQ(l.memory[kBegin + 8], 77);
  EXPECT_EQ(w.write(w.second->rkey), IBV_WC_REM_ACCESS_ERR) << "where the program has it";
}

TEST(WindowProbe, RegionsAndDomainsInUseStay) {
  Loopback l;
  l.connect();
  {
    Windows w(l);
    ASSERT_EQ(w.bind_second(w.info()), 0);
    EXPECT_EQ(ibv_dereg_mr(w.mr), EBUSY);
    EXPECT_EQ(ibv_rereg_mr(w.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE),
              IBV_REREG_MR_ERR_INPUT);
    EXPECT_EQ(errno, EBUSY);
    EXPECT_EQ(w.write(w.second->rkey), IBV_WC_SUCCESS);
  }
  ibv_pd* pd = ibv_alloc_pd(l.context);
  ibv_mw* mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  EXPECT_EQ(ibv_dealloc_mw(mw), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

}  // namespace
}  // namespace rocelab::probe
