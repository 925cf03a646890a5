// The `handle` in an object's struct, which the kernel knows the object by: with another one in it the object
// does not exist for whoever would ask the kernel, and is as it was with the right one.
#include <cerrno>
#include <functional>
#include <string>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

struct Forged {
  explicit Forged(std::uint32_t& handle) : handle_(handle) { handle_ ^= 0xdeadbeef; }
  ~Forged() { handle_ ^= 0xdeadbeef; }
  Forged(const Forged&) = delete;
  Forged& operator=(const Forged&) = delete;

 private:
  std::uint32_t& handle_;
};

void expect_unknown(const std::string& call, const std::function<int()>& go) {
  errno = 0;
  EXPECT_EQ(go(), ENOENT) << call;
  EXPECT_EQ(errno, ENOENT) << call;
}
void expect_none(const std::string& call, const std::function<const void*()>& go) {
  errno = 0;
  EXPECT_EQ(go(), nullptr) << call;
  EXPECT_EQ(errno, ENOENT) << call;
}

TEST(HandleProbe, AnObjectWithAnotherHandleIsNotDestroyed) {
  Loopback l;
  ibv_mw* mw = ibv_alloc_mw(l.pd, IBV_MW_TYPE_1);
  ibv_srq_init_attr srq_attr{};
  srq_attr.attr = {.max_wr = 1, .max_sge = 1, .srq_limit = 0};
  ibv_srq* srq = ibv_create_srq(l.pd, &srq_attr);
  ibv_gid gid{};
  ASSERT_EQ(ibv_query_gid(l.context, 1, 1, &gid), 0);
  ibv_ah_attr where = rtr_attr(gid, 0).ah_attr;
  ibv_ah* ah = ibv_create_ah(l.pd, &where);
  ibv_pd* pd = ibv_alloc_pd(l.context);
  ibv_cq* cq = ibv_create_cq(l.context, 1, nullptr, nullptr, 0);
  ibv_mr* mr = ibv_reg_mr(l.pd, l.memory.data(), 8, 0);
  {
    const Forged all[] = {Forged(mw->handle), Forged(srq->handle), Forged(ah->handle), Forged(pd->handle),
                          Forged(cq->handle), Forged(mr->handle),  Forged(l.a->handle)};
    expect_unknown("dealloc_mw", [&] { return ibv_dealloc_mw(mw); });
    expect_unknown("destroy_srq", [&] { return ibv_destroy_srq(srq); });
    expect_unknown("destroy_ah", [&] { return ibv_destroy_ah(ah); });
    expect_unknown("dealloc_pd", [&] { return ibv_dealloc_pd(pd); });
    expect_unknown("destroy_cq", [&] { return ibv_destroy_cq(cq); });
    expect_unknown("dereg_mr", [&] { return ibv_dereg_mr(mr); });
    expect_unknown("destroy_qp", [&] { return ibv_destroy_qp(l.a); });
  }
  EXPECT_EQ(ibv_dealloc_mw(mw), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
  EXPECT_EQ(ibv_destroy_ah(ah), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST(HandleProbe, NothingIsMadeWithAnObjectOfAnotherHandle) {
  Loopback l;
  ibv_qp_init_attr qp{};
  qp.qp_type = IBV_QPT_RC, qp.send_cq = l.send_cq, qp.recv_cq = l.recv_cq;
  ibv_srq_init_attr srq{};
  srq.attr = {.max_wr = 1, .max_sge = 1, .srq_limit = 0};
  ibv_ah_attr ah{};
  ibv_parent_domain_init_attr domain{};
  domain.pd = l.pd;
  {
    const Forged pd(l.pd->handle);
    expect_none("create_qp", [&] { return ibv_create_qp(l.pd, &qp); });
    expect_none("create_srq", [&] { return ibv_create_srq(l.pd, &srq); });
    expect_none("reg_mr", [&] { return ibv_reg_mr(l.pd, l.memory.data(), 8, 0); });
    expect_none("alloc_mw", [&] { return ibv_alloc_mw(l.pd, IBV_MW_TYPE_1); });
    expect_none("create_ah", [&] { return ibv_create_ah(l.pd, &ah); });
    expect_none("alloc_parent_domain", [&] { return ibv_alloc_parent_domain(l.context, &domain); });
  }
  for (ibv_cq* cq : {l.send_cq, l.recv_cq}) {
    const Forged forged(cq->handle);
    expect_none("create_qp with a CQ", [&] { return ibv_create_qp(l.pd, &qp); });
  }
  qp.srq = ibv_create_srq(l.pd, &srq);
  {
    const Forged forged(qp.srq->handle);
    expect_none("create_qp with an SRQ", [&] { return ibv_create_qp(l.pd, &qp); });
  }
  EXPECT_EQ(ibv_destroy_srq(qp.srq), 0);
}

TEST(HandleProbe, AnObjectWithAnotherHandleIsNeitherChangedNorKnown) {
  Loopback l;
  ibv_srq_init_attr srq_attr{};
  srq_attr.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
  ibv_srq* srq = ibv_create_srq(l.pd, &srq_attr);
  ibv_qp_attr attr = init_attr();
  ibv_qp_init_attr init{};
  {
    const Forged all[] = {Forged(l.a->handle), Forged(srq->handle), Forged(l.send_cq->handle)};
    expect_unknown("modify_qp", [&] { return ibv_modify_qp(l.a, &attr, kInitMask); });
    expect_unknown("query_qp", [&] { return ibv_query_qp(l.a, &attr, IBV_QP_STATE, &init); });
    expect_unknown("modify_srq", [&] { return ibv_modify_srq(srq, &srq_attr.attr, IBV_SRQ_MAX_WR); });
    expect_unknown("query_srq", [&] { return ibv_query_srq(srq, &srq_attr.attr); });
    expect_unknown("resize_cq", [&] { return ibv_resize_cq(l.send_cq, 8); });
  }
  EXPECT_EQ(l.a->state, IBV_QPS_RESET);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

}  // namespace
}  // namespace rocelab::probe
