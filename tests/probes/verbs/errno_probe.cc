// Every refused call says why by errno, whatever it returns: behind other devices libibverbs and the kernel
// leave it there.
#include <fcntl.h>

#include <cerrno>
#include <functional>
#include <string>

#include "tests/probes/verbs/extended_loopback.h"

namespace rocelab::probe {
namespace {

constexpr int kEarlier = EXDEV;  // which no call answers with

// Of a call that returns the error number (or, where `returned` says so, something else).
void expect(int error, const std::string& call, const std::function<int()>& go) {
  errno = kEarlier;
  EXPECT_EQ(go(), error) << call;
  EXPECT_EQ(errno, error) << call;
}
void expect_returning(int returned, int error, const std::string& call, const std::function<int()>& go) {
  errno = kEarlier;
  EXPECT_EQ(go(), returned) << call;
  EXPECT_EQ(errno, error) << call;
}
void expect_null(int error, const std::string& call, const std::function<const void*()>& go) {
  errno = kEarlier;
  EXPECT_EQ(go(), nullptr) << call;
  EXPECT_EQ(errno, error) << call;
}

TEST(ErrnoProbe, AnObjectInUseThatIsToBeDestroyed) {
  Loopback l;
  expect(EBUSY, "dealloc_pd", [&] { return ibv_dealloc_pd(l.pd); });
  expect(EBUSY, "destroy_cq", [&] { return ibv_destroy_cq(l.send_cq); });
  expect(EBUSY, "destroy_comp_channel", [&] { return ibv_destroy_comp_channel(l.channel); });
  ibv_td_init_attr none{};
  ibv_td* td = ibv_alloc_td(l.context, &none);
  ibv_parent_domain_init_attr domain{};
  domain.pd = l.pd, domain.td = td;
  ibv_pd* parent = ibv_alloc_parent_domain(l.context, &domain);
  expect(EBUSY, "dealloc_td", [&] { return ibv_dealloc_td(td); });
  EXPECT_EQ(ibv_dealloc_pd(parent), 0);
  EXPECT_EQ(ibv_dealloc_td(td), 0);
  ibv_srq_init_attr srq_attr{};
  srq_attr.attr = {.max_wr = 1, .max_sge = 1, .srq_limit = 0};
  ibv_srq* srq = ibv_create_srq(l.pd, &srq_attr);
  ibv_qp_init_attr init{};
  init.send_cq = l.send_cq, init.recv_cq = l.recv_cq, init.srq = srq, init.qp_type = IBV_QPT_UD;
  ibv_qp* datagrams = ibv_create_qp(l.pd, &init);
  expect(EBUSY, "destroy_srq", [&] { return ibv_destroy_srq(srq); });
  ibv_gid group{};
  const unsigned char address[] = {0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3};
  std::memcpy(group.raw, address, sizeof address);
  ASSERT_EQ(ibv_attach_mcast(datagrams, &group, 0), 0);
  expect(EBUSY, "destroy_qp", [&] { return ibv_destroy_qp(datagrams); });
  EXPECT_EQ(ibv_detach_mcast(datagrams, &group, 0), 0);
  expect(EINVAL, "detach_mcast", [&] { return ibv_detach_mcast(datagrams, &group, 0); });
  group = {};
  expect(EINVAL, "attach_mcast", [&] { return ibv_attach_mcast(datagrams, &group, 0); });
  EXPECT_EQ(ibv_destroy_qp(datagrams), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST(ErrnoProbe, ARegionWithAWindow) {
  Loopback l;
  l.connect();
  ibv_mw* mw = ibv_alloc_mw(l.pd, IBV_MW_TYPE_1);
  ibv_mr* mr = ibv_reg_mr(l.pd, l.memory.data(), 100, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  ibv_mw_bind bind{.wr_id = 1, .send_flags = IBV_SEND_SIGNALED, .bind_info = {}};
  bind.bind_info = {.mr = mr,
                    .addr = reinterpret_cast<std::uintptr_t>(l.memory.data()),
                    .length = 100,
                    .mw_access_flags = IBV_ACCESS_REMOTE_READ};
  ASSERT_EQ(ibv_bind_mw(l.a, mw, &bind), 0);
  ASSERT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
  expect(EBUSY, "dereg_mr", [&] { return ibv_dereg_mr(mr); });
  expect_returning(IBV_REREG_MR_ERR_INPUT, EBUSY, "rereg_mr", [&] {
    return ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE);
  });
  bind.bind_info.mw_access_flags = IBV_ACCESS_ZERO_BASED;
  expect(EINVAL, "bind_mw", [&] { return ibv_bind_mw(l.a, mw, &bind); });
  EXPECT_EQ(ibv_dealloc_mw(mw), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST(ErrnoProbe, WhatIsAskedAboutOrChanged) {
  Loopback l;
  ibv_port_attr port{};
  ibv_device_attr_ex device{};
  const ibv_query_device_ex_input more{.comp_mask = 1};
  ibv_values_ex values{};
  values.comp_mask = 1u << 7;
  ibv_gid gid{};
  ibv_gid_entry entries[1]{};
  __be16 pkey = 0;
  expect(EINVAL, "query_port", [&] { return ibv_query_port(l.context, 2, &port); });
  expect(EINVAL, "query_device_ex", [&] {  // verbs.h would answer itself
    return verbs_get_ctx(l.context)->query_device_ex(l.context, &more, &device, sizeof device);
  });
  expect(EINVAL, "query_rt_values_ex", [&] { return ibv_query_rt_values_ex(l.context, &values); });
  expect(EINVAL, "query_gid_ex", [&] { return ibv_query_gid_ex(l.context, 1, 99, entries, 0); });
  expect_returning(-EINVAL, EINVAL, "query_gid_table",
                   [&] { return static_cast<int>(ibv_query_gid_table(l.context, entries, 1, 0)); });
  expect_returning(-1, EINVAL, "query_gid", [&] { return ibv_query_gid(l.context, 1, 99, &gid); });
  expect_returning(-1, EINVAL, "query_pkey", [&] { return ibv_query_pkey(l.context, 1, 9, &pkey); });
  expect_returning(-1, EINVAL, "get_pkey_index", [&] { return ibv_get_pkey_index(l.context, 1, 1); });
  expect(EINVAL, "resize_cq", [&] { return ibv_resize_cq(l.send_cq, 0); });
  ibv_qp_attr attr = init_attr();
  expect(EINVAL, "modify_qp", [&] { return ibv_modify_qp(l.a, &attr, IBV_QP_STATE); });
  ibv_ece ece{};
  expect(EOPNOTSUPP, "query_ece", [&] { return ibv_query_ece(l.a, &ece); });
  expect(EOPNOTSUPP, "set_ece", [&] { return ibv_set_ece(l.a, &ece); });
  ibv_wc wc{};
  ibv_grh grh{};
  ibv_ah_attr ah{};
  std::uint8_t mac[6];
  expect(EINVAL, "init_ah_from_wc", [&] { return ibv_init_ah_from_wc(l.context, 1, &wc, &grh, &ah); });
  expect(EINVAL, "resolve_eth_l2_from_gid",
         [&] { return ibv_resolve_eth_l2_from_gid(l.context, &ah, mac, nullptr); });
  ibv_srq_init_attr srq_attr{};
  srq_attr.attr = {.max_wr = 1, .max_sge = 1, .srq_limit = 0};
  ibv_srq* srq = ibv_create_srq(l.pd, &srq_attr);
  std::uint32_t number = 0;
  expect(EINVAL, "modify_srq", [&] { return ibv_modify_srq(srq, &srq_attr.attr, 1 << 9); });
  expect(EOPNOTSUPP, "get_srq_num", [&] { return ibv_get_srq_num(srq, &number); });
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST(ErrnoProbe, WorkThatIsPosted) {
  ExtendedLoopback l;
  expect(EINVAL, "post_send", [&] { return l.send(IBV_WR_SEND, {l.sge(0, 8)}); });
  expect(EINVAL, "post_recv", [&] { return l.receive({}); });
  ibv_srq_init_attr srq_attr{};
  srq_attr.attr = {.max_wr = 1, .max_sge = 1, .srq_limit = 0};
  ibv_srq* srq = ibv_create_srq(l.pd, &srq_attr);
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.num_sge = -1;
  expect(EINVAL, "post_srq_recv", [&] { return ibv_post_srq_recv(srq, &wr, &bad); });
  EXPECT_EQ(bad, &wr);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
  expect(EINVAL, "wr_complete", [&] {
    ibv_wr_start(l.qp);
    ibv_wr_set_sge(l.qp, l.mr->lkey, 0, 0);  // of no request
    return ibv_wr_complete(l.qp);
  });
  ibv_poll_cq_attr more{.comp_mask = 1};
  expect(EINVAL, "start_poll", [&] { return ibv_start_poll(l.cq_ex, &more); });
  more.comp_mask = 0;
  expect_returning(ENOENT, kEarlier, "start_poll of an empty queue: no refusal",
                   [&] { return ibv_start_poll(l.cq_ex, &more); });
}

TEST(ErrnoProbe, ObjectsThatAreNotMade) {
  Loopback l;
  ibv_td_init_attr td{.comp_mask = 1u << 9};
  expect_null(EOPNOTSUPP, "alloc_td", [&] { return ibv_alloc_td(l.context, &td); });
  ibv_parent_domain_init_attr domain{};
  expect_null(EINVAL, "alloc_parent_domain", [&] { return ibv_alloc_parent_domain(l.context, &domain); });
  domain.pd = l.pd, domain.comp_mask = 1u << 2;
  expect_null(EOPNOTSUPP, "alloc_parent_domain with a later library's bit",
              [&] { return ibv_alloc_parent_domain(l.context, &domain); });
  expect_null(EINVAL, "reg_mr",
              [&] { return ibv_reg_mr(l.pd, l.memory.data(), 8, IBV_ACCESS_REMOTE_WRITE); });
  expect_null(EOPNOTSUPP, "reg_dmabuf_mr", [&] { return ibv_reg_dmabuf_mr(l.pd, 0, 8, 0, -1, 0); });
  expect_null(EINVAL, "alloc_mw", [&] { return ibv_alloc_mw(l.pd, static_cast<ibv_mw_type>(3)); });
  ibv_ah_attr ah{};
  ibv_wc wc{};
  ibv_grh grh{};
  expect_null(EINVAL, "create_ah", [&] { return ibv_create_ah(l.pd, &ah); });
  expect_null(EINVAL, "create_ah_from_wc", [&] { return ibv_create_ah_from_wc(l.pd, &wc, &grh, 1); });
  expect_null(EINVAL, "create_cq", [&] { return ibv_create_cq(l.context, 0, nullptr, nullptr, 0); });
  ibv_cq_init_attr_ex cq{};
  expect_null(EINVAL, "create_cq_ex", [&] { return ibv_create_cq_ex(l.context, &cq); });
  ibv_qp_init_attr qp{};
  qp.qp_type = IBV_QPT_RC;
  expect_null(EINVAL, "create_qp", [&] { return ibv_create_qp(l.pd, &qp); });
  ibv_qp_init_attr_ex qp_ex{};
  qp_ex.qp_type = IBV_QPT_RC;
  expect_null(EINVAL, "create_qp_ex", [&] { return ibv_create_qp_ex(l.context, &qp_ex); });
  ibv_qp_open_attr open{};
  expect_null(EINVAL, "open_qp", [&] { return ibv_open_qp(l.context, &open); });
  open.comp_mask = 1u << 20;
  expect_null(EOPNOTSUPP, "open_qp", [&] { return ibv_open_qp(l.context, &open); });
  ibv_srq_init_attr srq{};
  expect_null(EINVAL, "create_srq", [&] { return ibv_create_srq(l.pd, &srq); });
  ibv_srq_init_attr_ex srq_ex{};
  srq_ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  srq_ex.srq_type = IBV_SRQT_TM, srq_ex.pd = l.pd;
  expect_null(EOPNOTSUPP, "create_srq_ex", [&] { return ibv_create_srq_ex(l.context, &srq_ex); });
  ibv_xrcd_init_attr xrcd{};
  expect_null(EINVAL, "open_xrcd", [&] { return ibv_open_xrcd(l.context, &xrcd); });
  expect_null(EOPNOTSUPP, "import_device", [&] { return ibv_import_device(-1); });
  expect_null(EOPNOTSUPP, "import_pd", [&] { return ibv_import_pd(l.context, 0); });
  expect_null(EOPNOTSUPP, "import_mr", [&] { return ibv_import_mr(l.pd, 0); });
}

TEST(ErrnoProbe, EventsThatAreNotThere) {
  Loopback l;
  for (const int fd : {l.context->async_fd, l.channel->fd})
    ASSERT_EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
  ibv_async_event event{};
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  expect_returning(-1, EAGAIN, "get_async_event", [&] { return ibv_get_async_event(l.context, &event); });
  expect_returning(-1, EAGAIN, "get_cq_event", [&] { return ibv_get_cq_event(l.channel, &cq, &context); });
}

}  // namespace
}  // namespace rocelab::probe
