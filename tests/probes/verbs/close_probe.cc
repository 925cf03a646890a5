// A device that is closed with everything that was made with it: a kernel ends all that a program leaves.
#include <fcntl.h>
#include <time.h>

#include <array>
#include <memory>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

constexpr int kAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND;

// One of each kind; what it made is not destroyed.
struct Everything {
  Everything() : context(open_device()), pd(ibv_alloc_pd(context)) {
    ibv_td_init_attr thread{};
    ibv_parent_domain_init_attr parent{};
    parent.pd = pd, parent.td = ibv_alloc_td(context, &thread);
    parent_pd = ibv_alloc_parent_domain(context, &parent);
    channel = ibv_create_comp_channel(context);
    cq = ibv_create_cq(context, 1, nullptr, channel, 0);  // too small for what is coming
    mr = ibv_reg_mr(pd, memory.data(), memory.size(), kAccess);
    window = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
    ibv_xrcd_init_attr domain{};
    domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    domain.fd = -1, domain.oflags = O_CREAT;
    xrcd = ibv_open_xrcd(context, &domain);
    ibv_gid gid{};
    EXPECT_EQ(ibv_query_gid(context, 1, 1, &gid), 0);
    ibv_ah_attr address = rtr_attr(gid, 0).ah_attr;
    ah = ibv_create_ah(parent_pd, &address);
    make_queues();
    join();
    for (const void* object :
         std::array<const void*, 8>{parent_pd, channel, mr, window, xrcd, ah, datagrams, target})
      EXPECT_NE(object, nullptr);
  }
  void make_queues() {
    ibv_srq_init_attr shared{};
    shared.attr = {.max_wr = 8, .max_sge = 1, .srq_limit = 4};
    srq = ibv_create_srq(pd, &shared);
    ibv_srq_init_attr_ex xrc_shared{};
    xrc_shared.attr = shared.attr;
    xrc_shared.comp_mask =
        IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
    xrc_shared.srq_type = IBV_SRQT_XRC, xrc_shared.pd = pd, xrc_shared.xrcd = xrcd, xrc_shared.cq = cq;
    EXPECT_NE(ibv_create_srq_ex(context, &xrc_shared), nullptr);
    ibv_qp_init_attr_ex init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {
        .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 64};
    init.qp_type = IBV_QPT_XRC_RECV, init.comp_mask = IBV_QP_INIT_ATTR_XRCD, init.xrcd = xrcd;
    target = ibv_create_qp_ex(context, &init);
    init.comp_mask = IBV_QP_INIT_ATTR_PD, init.pd = pd;
    init.qp_type = IBV_QPT_UD;
    datagrams = ibv_create_qp_ex(context, &init);
    init.qp_type = IBV_QPT_RC;
    init.srq = srq;
    for (ibv_qp*& qp : connected) qp = ibv_create_qp_ex(context, &init);
  }
  void join() {
    ready_for_datagrams(datagrams, 0x77);
    ibv_gid group{};
    group.raw[10] = group.raw[11] = 0xff, group.raw[12] = 239, group.raw[15] = 9;
    EXPECT_EQ(ibv_attach_mcast(datagrams, &group, 0), 0);
  }

  std::vector<unsigned char> memory = std::vector<unsigned char>(1 << 16);
  ibv_context* context;
  ibv_pd* pd;
  ibv_pd* parent_pd;
  ibv_comp_channel* channel;
  ibv_cq* cq;
  ibv_mr* mr;
  ibv_mw* window;
  ibv_xrcd* xrcd;
  ibv_ah* ah;
  ibv_srq* srq;
  ibv_qp *target, *datagrams;
  std::array<ibv_qp*, 2> connected{};
};

void expect_that_it_moves(Loopback& l) {
  ASSERT_EQ(l.send(IBV_WR_RDMA_WRITE, {l.sge(0, 3'000)}, 8'192), 0);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
}

// Work for a peer that does not answer: it ends with more completions than its CQ has room for.
void set_to_work(const Everything& e) {
  ibv_gid gid{};
  ASSERT_EQ(ibv_query_gid(e.context, 1, 1, &gid), 0);
  ibv_qp_attr attr = init_attr();
  ASSERT_EQ(ibv_modify_qp(e.connected[0], &attr, kInitMask), 0);
  attr = rtr_attr(gid, e.connected[1]->qp_num);
  ASSERT_EQ(ibv_modify_qp(e.connected[0], &attr, kRtrMask), 0);
  attr = rts_attr();
  attr.timeout = 8, attr.retry_cnt = 1;  // 2 ms
  ASSERT_EQ(ibv_modify_qp(e.connected[0], &attr, kRtsMask), 0);
  ASSERT_EQ(ibv_req_notify_cq(e.cq, 0), 0);
  ibv_sge from{.addr = reinterpret_cast<std::uintptr_t>(e.memory.data()), .length = 64, .lkey = e.mr->lkey};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.sg_list = &from, wr.num_sge = 1, wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
  for (int i = 0; i < 3; ++i) ASSERT_EQ(ibv_post_send(e.connected[0], &wr, &bad), 0);
}

TEST(CloseProbe, EverythingThatWasMadeWithADeviceEndsWhenItIsClosed) {
  Loopback l;
  l.connect();
  for (int round = 0; round < 3; ++round) {
    auto e = std::make_unique<Everything>();
    set_to_work(*e);
    const ibv_mr* left = e->mr;
    ASSERT_EQ(ibv_close_device(e->context), 0);
    EXPECT_EQ(left->addr, e->memory.data()) << "what the program holds pointers to stays";
    e.reset();  // nothing writes to it any more
    std::vector<std::vector<unsigned char>> over(
        200, std::vector<unsigned char>(64 + 8 * static_cast<std::size_t>(round)));
    const timespec later{.tv_sec = 0, .tv_nsec = 20'000'000};  // timers that are left would fire
    nanosleep(&later, nullptr);
    expect_that_it_moves(l);
  }
}

// An object that stayed would keep its place in the device's tables.
TEST(CloseProbe, WhatADeviceHasRoomForIsFreeAgainWhenItIsClosed) {
  ibv_device_attr limits{};
  for (int round = 0; round < 2; ++round) {
    ibv_context* context = open_device();
    ASSERT_EQ(ibv_query_device(context, &limits), 0);
    int made = 0;
    while (ibv_create_cq(context, 1, nullptr, nullptr, 0) != nullptr) ++made;
    EXPECT_EQ(made, limits.max_cq);
    ASSERT_EQ(ibv_close_device(context), 0);
  }
}

TEST(CloseProbe, APeerOfAClosedDeviceHearsNothingMore) {
  Loopback l;
  auto e = std::make_unique<Everything>();
  set_to_work(*e);
  ibv_gid gid{};
  ASSERT_EQ(ibv_query_gid(l.context, 1, 1, &gid), 0);
  ibv_qp_attr attr = init_attr();
  ASSERT_EQ(ibv_modify_qp(l.a, &attr, kInitMask), 0);
  attr = rtr_attr(gid, e->connected[0]->qp_num);
  ASSERT_EQ(ibv_modify_qp(l.a, &attr, kRtrMask), 0);
  attr = rts_attr();
  attr.timeout = 8, attr.retry_cnt = 2;
  ASSERT_EQ(ibv_modify_qp(l.a, &attr, kRtsMask), 0);
  ASSERT_EQ(ibv_close_device(e->context), 0);
  ASSERT_EQ(l.send(IBV_WR_RDMA_WRITE, {l.sge(0, 8)}, 8'192), 0);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_RETRY_EXC_ERR);
}

}  // namespace
}  // namespace rocelab::probe
