// Shared receive queues: creation, limits, events, and queue pairs that take from one.
#include <poll.h>

#include <cerrno>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

bool readable(int fd) {
  pollfd p{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&p, 1, 0) == 1;
}

// A loopback whose receiving queue pair takes from an SRQ.
struct SharedLoopback : Loopback {
  static constexpr std::uint32_t kDepth = 8;
  SharedLoopback() {
    ibv_srq_init_attr init{};
    init.srq_context = this;
    init.attr = {.max_wr = kDepth, .max_sge = 2, .srq_limit = 0};
    srq = ibv_create_srq(pd, &init);
    EXPECT_EQ(ibv_destroy_qp(b), 0);
    ibv_qp_init_attr qp{};
    qp.send_cq = send_cq;
    qp.recv_cq = recv_cq;
    qp.srq = srq;
    qp.qp_type = IBV_QPT_RC;
    qp.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    b = ibv_create_qp(pd, &qp);
  }
  ~SharedLoopback() {
    EXPECT_EQ(ibv_destroy_srq(srq), EBUSY) << "a queue pair takes from it";
    EXPECT_EQ(ibv_destroy_qp(b), 0);
    EXPECT_EQ(ibv_destroy_srq(srq), 0);
    ibv_qp_init_attr qp{};  // one for the base class to destroy
    qp.send_cq = send_cq;
    qp.recv_cq = recv_cq;
    qp.qp_type = IBV_QPT_RC;
    b = ibv_create_qp(pd, &qp);
  }
  int post(std::uint64_t wr_id, const std::vector<ibv_sge>& into) {
    std::vector<ibv_sge> parts = into;
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.wr_id = wr_id;
    wr.sg_list = parts.data();
    wr.num_sge = static_cast<int>(parts.size());
    const int error = ibv_post_srq_recv(srq, &wr, &bad);
    EXPECT_EQ(bad, error != 0 ? &wr : nullptr);
    return error;
  }
  void message() {
    ASSERT_EQ(send(IBV_WR_SEND, {sge(0, 8)}), 0);
    ASSERT_EQ(wait(send_cq).status, IBV_WC_SUCCESS);
  }
  ibv_srq_attr query() {
    ibv_srq_attr attr{};
    EXPECT_EQ(ibv_query_srq(srq, &attr), 0);
    return attr;
  }
  ibv_async_event event() {
    ibv_async_event e{};
    EXPECT_TRUE(readable(context->async_fd));
    EXPECT_EQ(ibv_get_async_event(context, &e), 0);
    ibv_ack_async_event(&e);
    return e;
  }
  ibv_srq* srq;
};

TEST(SrqProbe, MessagesTakeItsRequestsInOrder) {
  SharedLoopback l;
  l.connect();
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(l.post(i, {l.sge(1000 + i * 8, 8)}), 0);
  for (std::uint64_t i = 0; i < 4; ++i) {
    l.memory[0] = static_cast<unsigned char>(50 + i);
    l.message();
    const ibv_wc wc = l.wait(l.recv_cq);
    EXPECT_EQ(wc.wr_id, i);
    EXPECT_EQ(wc.qp_num, l.b->qp_num);
    EXPECT_EQ(l.memory[1000 + i * 8], 50 + i);
  }
  ibv_recv_wr wr{}, *bad = nullptr;
  EXPECT_EQ(ibv_post_recv(l.b, &wr, &bad), EINVAL) << "it has no queue of its own";
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(l.b, &attr, IBV_QP_CAP, &init), 0);
  EXPECT_EQ(init.srq, l.srq);
  EXPECT_EQ(attr.cap.max_recv_wr, 0u);
}

TEST(SrqProbe, TheLimitIsAnEventOfTheQueueOnce) {
  SharedLoopback l;
  l.connect();
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_EQ(l.post(i, {l.sge(1000, 8)}), 0);
  ibv_srq_attr attr{.max_wr = 0, .max_sge = 0, .srq_limit = 2};
  ASSERT_EQ(ibv_modify_srq(l.srq, &attr, IBV_SRQ_LIMIT), 0);
  EXPECT_EQ(l.query().srq_limit, 2u);
  l.message();
  EXPECT_FALSE(readable(l.context->async_fd));
  l.message();
  const ibv_async_event event = l.event();
  EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(event.element.srq, l.srq);
  EXPECT_EQ(l.query().srq_limit, 0u);
  l.message();
  EXPECT_FALSE(readable(l.context->async_fd));
}

TEST(SrqProbe, AQueuePairInErrorTellsThatItTakesNoMore) {
  SharedLoopback l;
  l.connect();
  ASSERT_EQ(l.post(7, {l.sge(1000, 8)}), 0);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(l.b, &attr, IBV_QP_STATE), 0);
  const ibv_async_event event = l.event();
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
  EXPECT_EQ(event.element.qp, l.b);
  ibv_wc wc{};
  EXPECT_EQ(ibv_poll_cq(l.recv_cq, 1, &wc), 0) << "the request is still the SRQ's";
}

TEST(SrqProbe, ReportedLimitsAreTheOnesEnforced) {
  SharedLoopback l;
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(l.context, &device), 0);
  const auto creates = [&](ibv_srq_attr attr) {
    ibv_srq_init_attr init{.srq_context = nullptr, .attr = attr};
    errno = 0;
    ibv_srq* srq = ibv_create_srq(l.pd, &init);
    return srq != nullptr ? ibv_destroy_srq(srq) : errno;
  };
  const auto wr = static_cast<std::uint32_t>(device.max_srq_wr),
             sge = static_cast<std::uint32_t>(device.max_srq_sge);
  EXPECT_EQ(creates({.max_wr = wr, .max_sge = sge, .srq_limit = 0}), 0);
  EXPECT_EQ(creates({.max_wr = wr + 1, .max_sge = 1, .srq_limit = 0}), EINVAL);
  EXPECT_EQ(creates({.max_wr = 0, .max_sge = 1, .srq_limit = 0}), EINVAL);
  EXPECT_EQ(creates({.max_wr = 1, .max_sge = sge + 1, .srq_limit = 0}), EINVAL);
  for (std::uint32_t i = 0; i < SharedLoopback::kDepth; ++i) ASSERT_EQ(l.post(i, {}), 0);
  EXPECT_EQ(l.post(99, {}), ENOMEM);
  EXPECT_EQ(l.post(99, {l.sge(0, 1), l.sge(1, 1), l.sge(2, 1)}), EINVAL);
  const auto modifies = [&](ibv_srq_attr attr, int mask) { return ibv_modify_srq(l.srq, &attr, mask); };
  EXPECT_EQ(modifies({.max_wr = 7, .max_sge = 0, .srq_limit = 0}, IBV_SRQ_MAX_WR), EINVAL) << "8 wait";
  EXPECT_EQ(modifies({.max_wr = 0, .max_sge = 0, .srq_limit = 9}, IBV_SRQ_LIMIT), EINVAL);
  EXPECT_EQ(modifies({.max_wr = 9, .max_sge = 0, .srq_limit = 9}, IBV_SRQ_LIMIT | IBV_SRQ_MAX_WR), 0);
  EXPECT_EQ(modifies({.max_wr = 9, .max_sge = 0, .srq_limit = 0}, 1 << 5), EINVAL);
  EXPECT_EQ(l.query().max_wr, 9u);
  EXPECT_EQ(l.post(99, {}), 0);
}

// ibv_create_srq(3): srq_limit is irrelevant, max_sge at least what was asked for.
TEST(SrqProbe, CreatingHeedsNoLimitAndGivesAtLeastOneSge) {
  SharedLoopback l;
  ibv_srq_init_attr init{.srq_context = nullptr, .attr = {.max_wr = 2, .max_sge = 0, .srq_limit = 77}};
  ibv_srq* srq = ibv_create_srq(l.pd, &init);
  ASSERT_NE(srq, nullptr);
  EXPECT_EQ(init.attr.max_wr, 2u);
  EXPECT_EQ(init.attr.max_sge, 1u);
  ibv_srq_attr attr{};
  ASSERT_EQ(ibv_query_srq(srq, &attr), 0);
  EXPECT_EQ(attr.max_sge, 1u);
  EXPECT_EQ(attr.srq_limit, 0u) << "not armed";
  ibv_sge part = l.sge(0, 8);
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.sg_list = &part;
  wr.num_sge = 1;
  EXPECT_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST(SrqProbe, TagMatchingQueuesAreNotOfferedAndPlainOnesHaveNoNumber) {
  SharedLoopback l;
  ibv_srq_init_attr_ex init{};
  init.attr = {.max_wr = 1, .max_sge = 1, .srq_limit = 0};
  init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  init.pd = l.pd;
  init.srq_type = IBV_SRQT_TM;
  EXPECT_EQ(ibv_create_srq_ex(l.context, &init), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  init.srq_type = IBV_SRQT_BASIC;
  ibv_srq* plain = ibv_create_srq_ex(l.context, &init);
  ASSERT_NE(plain, nullptr);
  std::uint32_t number = 0;
  EXPECT_EQ(ibv_get_srq_num(plain, &number), EOPNOTSUPP);
  EXPECT_EQ(ibv_destroy_srq(plain), 0);
}

}  // namespace
}  // namespace rocelab::probe
