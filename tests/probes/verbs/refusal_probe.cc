// What is refused, and how: states, attribute masks, limits, and calls that the device does not offer.
#include <sys/mman.h>

#include <cerrno>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

ibv_gid own_gid(const Loopback& l, int index = 1) {
  ibv_gid gid{};
  EXPECT_EQ(ibv_query_gid(l.context, 1, index, &gid), 0);
  return gid;
}

TEST(RefusalProbe, EveryRequiredAttributeIsRequiredAndNoOtherIsTaken) {
  Loopback l;
  const ibv_gid gid = own_gid(l);
  ibv_qp_attr attr = init_attr();
  for (const int bit : {IBV_QP_PKEY_INDEX, IBV_QP_PORT, IBV_QP_ACCESS_FLAGS})
    EXPECT_EQ(ibv_modify_qp(l.a, &attr, kInitMask & ~bit), EINVAL) << bit;
  errno = 0;
  EXPECT_EQ(ibv_modify_qp(l.a, &attr, kInitMask | IBV_QP_TIMEOUT), EINVAL);
  EXPECT_EQ(errno, EINVAL) << "as other devices' libraries, whose kernel sets it";
  ASSERT_EQ(ibv_modify_qp(l.a, &attr, kInitMask), 0);
  attr = rts_attr();
  EXPECT_EQ(ibv_modify_qp(l.a, &attr, kRtsMask), EINVAL) << "INIT to RTS";
  attr = rtr_attr(gid, l.b->qp_num);
  for (const int bit : {IBV_QP_AV, IBV_QP_PATH_MTU, IBV_QP_DEST_QPN, IBV_QP_RQ_PSN, IBV_QP_MAX_DEST_RD_ATOMIC,
                        IBV_QP_MIN_RNR_TIMER})
    EXPECT_EQ(ibv_modify_qp(l.a, &attr, kRtrMask & ~bit), EINVAL) << bit;
  ASSERT_EQ(ibv_modify_qp(l.a, &attr, kRtrMask), 0);
  EXPECT_EQ(l.a->state, IBV_QPS_RTR);
}

TEST(RefusalProbe, AttributesOutOfRangeLeaveTheQueuePairAsItWas) {
  Loopback l;
  const ibv_gid gid = own_gid(l);
  ibv_qp_attr attr = init_attr();
  attr.port_num = 2;
  EXPECT_EQ(ibv_modify_qp(l.a, &attr, kInitMask), EINVAL);
  attr = init_attr();
  ASSERT_EQ(ibv_modify_qp(l.a, &attr, kInitMask), 0);
  const auto refused = [&](auto&& change) {
    ibv_qp_attr bad = rtr_attr(gid, l.b->qp_num);
    change(bad);
    return ibv_modify_qp(l.a, &bad, kRtrMask) == EINVAL && l.a->state == IBV_QPS_INIT;
  };
  EXPECT_TRUE(refused([](ibv_qp_attr& a) { a.path_mtu = static_cast<ibv_mtu>(6); }));
  EXPECT_TRUE(refused([](ibv_qp_attr& a) { a.dest_qp_num = 1u << 24; }));
  EXPECT_TRUE(refused([](ibv_qp_attr& a) { a.rq_psn = 1u << 24; }));
  EXPECT_TRUE(refused([](ibv_qp_attr& a) { a.max_dest_rd_atomic = 17; }));
  EXPECT_TRUE(refused([](ibv_qp_attr& a) { a.min_rnr_timer = 32; }));
  EXPECT_TRUE(refused([](ibv_qp_attr& a) { a.ah_attr.is_global = 0; }));
  EXPECT_TRUE(refused([](ibv_qp_attr& a) { a.ah_attr.grh.sgid_index = 3; }));
  EXPECT_TRUE(refused([](ibv_qp_attr& a) { a.ah_attr.grh.sgid_index = 0; }))
      << "link-local source, IPv4 destination";
  EXPECT_TRUE(refused([](ibv_qp_attr& a) { a.ah_attr.grh.dgid.raw[15] = 250; })) << "no such host";
}

// As Linux and its drivers have it.
TEST(RefusalProbe, RightsOfAQueuePairThatTheDeviceDoesNotKnowAreWithoutEffect) {
  Loopback l;
  ibv_qp_attr attr = init_attr();
  const unsigned offered = attr.qp_access_flags;
  constexpr unsigned kFlush = 1u << 8 | 1u << 9;  // IBV_ACCESS_FLUSH_GLOBAL, _PERSISTENT of later libraries
  attr.qp_access_flags = offered | IBV_ACCESS_MW_BIND | kFlush | 1u << 14;
  ASSERT_EQ(ibv_modify_qp(l.a, &attr, kInitMask), 0);
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(l.a, &attr, IBV_QP_ACCESS_FLAGS, &init), 0);
  EXPECT_EQ(attr.qp_access_flags, offered);
}

TEST(RefusalProbe, QueryGivesBackWhatWasSet) {
  Loopback l;
  l.connect();
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(l.a, &attr, 0, &init), 0);
  EXPECT_EQ(attr.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(attr.path_mtu, IBV_MTU_1024);
  EXPECT_EQ(attr.dest_qp_num, l.b->qp_num);
  EXPECT_EQ(attr.timeout, 14);
  EXPECT_EQ(attr.retry_cnt, 7);
  EXPECT_EQ(attr.rnr_retry, 7);
  EXPECT_EQ(attr.min_rnr_timer, 12);
  EXPECT_EQ(attr.ah_attr.grh.sgid_index, 1);
  EXPECT_EQ(attr.cap.max_send_wr, 32u);
  EXPECT_EQ(init.cap.max_inline_data, 64u);
  EXPECT_EQ(init.qp_type, IBV_QPT_RC);
  EXPECT_EQ(init.send_cq, l.send_cq);
}

TEST(RefusalProbe, PostsAreRefusedInTheWrongStateAndBeyondTheQueue) {
  Loopback l;
  EXPECT_EQ(l.receive({}), EINVAL) << "RESET";
  EXPECT_EQ(l.send(IBV_WR_SEND, {l.sge(0, 8)}), EINVAL) << "RESET";
  l.connect();
  EXPECT_EQ(l.send(IBV_WR_SEND, std::vector<ibv_sge>(5, l.sge(0, 8))), EINVAL) << "more than max_send_sge";
  EXPECT_EQ(l.send(IBV_WR_TSO, {l.sge(0, 8)}), EOPNOTSUPP);
  // A chain of 33 on a queue of 32: the last is handed back, the others run.
  std::vector<ibv_send_wr> chain(33);
  ibv_sge part = l.sge(0, 8);
  for (std::size_t i = 0; i < chain.size(); ++i) {
    chain[i] = {};
    chain[i].sg_list = &part;
    chain[i].num_sge = 1;
    chain[i].opcode = IBV_WR_RDMA_WRITE;
    chain[i].send_flags = IBV_SEND_SIGNALED;
    chain[i].wr_id = i;
    chain[i].wr.rdma = {.remote_addr = part.addr + 100, .rkey = l.mr->rkey};
    chain[i].next = i + 1 < chain.size() ? &chain[i + 1] : nullptr;
  }
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(l.a, chain.data(), &bad), ENOMEM);
  EXPECT_EQ(bad, &chain[32]);
  for (std::uint64_t i = 0; i < 32; ++i) EXPECT_EQ(l.wait(l.send_cq).wr_id, i);
  EXPECT_EQ(ibv_post_send(l.a, &chain[32], &bad), 0);
  EXPECT_EQ(l.wait(l.send_cq).wr_id, 32u);
}

TEST(RefusalProbe, ReportedLimitsAreTheOnesEnforced) {
  Loopback l;
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(l.context, &device), 0);
  const auto creates = [&](auto&& change) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = l.send_cq;
    init.qp_type = IBV_QPT_RC;
    init.cap = {
        .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    change(init);
    errno = 0;
    ibv_qp* qp = ibv_create_qp(l.pd, &init);
    return qp != nullptr ? ibv_destroy_qp(qp) : errno;
  };
  const auto wr = static_cast<std::uint32_t>(device.max_qp_wr),
             sge = static_cast<std::uint32_t>(device.max_sge);
  EXPECT_EQ(creates([&](ibv_qp_init_attr& i) { i.cap.max_send_wr = wr; }), 0);
  EXPECT_EQ(creates([&](ibv_qp_init_attr& i) { i.cap.max_send_wr = wr + 1; }), EINVAL);
  EXPECT_EQ(creates([&](ibv_qp_init_attr& i) { i.cap.max_recv_wr = wr + 1; }), EINVAL);
  EXPECT_EQ(creates([&](ibv_qp_init_attr& i) { i.cap.max_send_sge = sge; }), 0);
  EXPECT_EQ(creates([&](ibv_qp_init_attr& i) { i.cap.max_send_sge = sge + 1; }), EINVAL);
  EXPECT_EQ(creates([](ibv_qp_init_attr& i) { i.qp_type = IBV_QPT_UC; }), 0);
  EXPECT_EQ(creates([](ibv_qp_init_attr& i) { i.qp_type = IBV_QPT_UD; }), 0);
  EXPECT_EQ(creates([](ibv_qp_init_attr& i) { i.qp_type = IBV_QPT_RAW_PACKET; }), EOPNOTSUPP);
  EXPECT_EQ(ibv_create_cq(l.context, device.max_cqe + 1, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_create_cq(l.context, 0, nullptr, nullptr, 0), nullptr);
}

// As UCX, libfabric and MPI ask what there is.
TEST(RefusalProbe, WhatADeviceHasMayBeTried) {
  Loopback l;
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = l.send_cq;
  init.qp_type = IBV_QPT_RC;
  init.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 1};
  ibv_qp* qp = nullptr;
  while ((qp = ibv_create_qp(l.pd, &init)) != nullptr) {
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    init.cap.max_inline_data *= 2;
  }
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(init.cap.max_inline_data, 2'048u);
  init.cap.max_inline_data = 0;
  init.qp_type = IBV_QPT_DRIVER;
  EXPECT_EQ(ibv_create_qp(l.pd, &init), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(ibv_reg_mr(l.pd, l.memory.data(), 100, IBV_ACCESS_ON_DEMAND), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(ibv_reg_mr(l.pd, nullptr, SIZE_MAX, IBV_ACCESS_ON_DEMAND), nullptr) << "implicit";
  ibv_alloc_dm_attr memory{};
  EXPECT_EQ(ibv_alloc_dm(l.context, &memory), nullptr);
  ibv_cq_init_attr_ex cq{};
  cq.cqe = 1;
  cq.wc_flags = IBV_WC_EX_WITH_CVLAN;
  EXPECT_EQ(ibv_create_cq_ex(l.context, &cq), nullptr);
  ibv_gid gid{};
  EXPECT_NE(ibv_query_gid(l.context, 1, 100, &gid), 0);
  __be16 pkey = 0;
  EXPECT_NE(ibv_query_pkey(l.context, 1, 100, &pkey), 0);
  ibv_port_attr port{};
  EXPECT_NE(ibv_query_port(l.context, 2, &port), 0);
  ibv_device_attr_ex device{};
  EXPECT_EQ(ibv_query_device_ex(l.context, nullptr, &device), 0);
  ibv_ece ece{};
  EXPECT_EQ(ibv_set_ece(l.a, &ece), EOPNOTSUPP);
}

TEST(RefusalProbe, MemoryMustBeThereWithTheRightsAskedFor) {
  Loopback l;
  const std::size_t page = 4'096;
  auto* base = static_cast<char*>(mmap(nullptr, 3 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  munmap(base + 2 * page, page);
  EXPECT_EQ(ibv_reg_mr(l.pd, base, 2 * page, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(ibv_reg_mr(l.pd, base, 3 * page, 0), nullptr);
  EXPECT_EQ(errno, EFAULT);
  ibv_mr* mr = ibv_reg_mr(l.pd, base, 2 * page, IBV_ACCESS_REMOTE_READ);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_reg_mr(l.pd, l.memory.data(), 100, IBV_ACCESS_REMOTE_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_reg_mr(l.pd, l.memory.data(), 0, 0), nullptr);
  EXPECT_EQ(ibv_reg_mr(l.pd, l.memory.data(), 100, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  munmap(base, 2 * page);
}

TEST(RefusalProbe, ARegionIsNotRegisteredAnewAsWhatItIs) {
  Loopback l;
  errno = 0;
  EXPECT_NE(ibv_rereg_mr(l.mr, 0, nullptr, nullptr, 0, 0), 0);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_rereg_mr(l.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE), 0);
}

// A program that cleans up before it looks why another call has failed.
TEST(RefusalProbe, CallsThatSucceedLeaveErrnoAlone) {
  constexpr int kEarlier = EXDEV;  // which none of them knows
  errno = kEarlier;
  {
    Loopback l;
    EXPECT_EQ(errno, kEarlier) << "made";
    l.connect();
    EXPECT_EQ(errno, kEarlier) << "connected";
    ibv_wc wc{};
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ibv_poll_cq(l.recv_cq, 1, &wc), 0);
    EXPECT_EQ(errno, kEarlier) << "polled";
    EXPECT_EQ(ibv_req_notify_cq(l.recv_cq, 0), 0);
    EXPECT_EQ(l.receive({l.sge(100, 8)}), 0);
    EXPECT_EQ(l.send(IBV_WR_SEND, {l.sge(0, 8)}), 0);
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    EXPECT_EQ(ibv_get_cq_event(l.channel, &cq, &context), 0);
    ibv_ack_cq_events(cq, 1);
    EXPECT_EQ(errno, kEarlier) << "told of a completion";
    l.wait(l.send_cq);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    EXPECT_EQ(ibv_modify_qp(l.a, &attr, IBV_QP_STATE), 0);
    EXPECT_EQ(errno, kEarlier) << "ended";
  }
  EXPECT_EQ(errno, kEarlier) << "destroyed";
}

TEST(RefusalProbe, ObjectsInUseAreNotDestroyed) {
  Loopback l;
  EXPECT_EQ(ibv_destroy_cq(l.send_cq), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(l.pd), EBUSY);
  EXPECT_EQ(ibv_destroy_comp_channel(l.channel), EBUSY);
}

TEST(RefusalProbe, CallsThatAreNotOfferedSaySo) {
  Loopback l;
  ibv_ah_attr ah{};
  EXPECT_EQ(ibv_create_ah(l.pd, &ah), nullptr) << "not a global address";
  EXPECT_EQ(errno, EINVAL);
  ibv_ece ece{};
  EXPECT_EQ(ibv_query_ece(l.a, &ece), EOPNOTSUPP);
  EXPECT_EQ(ibv_import_device(0), nullptr);
  EXPECT_EQ(ibv_alloc_null_mr(l.pd), nullptr);
}

}  // namespace
}  // namespace rocelab::probe
