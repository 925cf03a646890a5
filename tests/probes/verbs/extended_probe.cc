// Extended completion queues: timestamps, and what is not offered; resizing.
#include <time.h>

#include <cerrno>

#include "tests/probes/verbs/extended_loopback.h"

namespace rocelab::probe {
namespace {

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

// In real time, too, where the time of day is another clock than the device's.
TEST(ExtendedProbe, LaterCompletionsHaveNoEarlierTimeOfDay) {
  ExtendedLoopback l;
  l.connect();
  std::uint64_t last = 0;
  for (int round = 0; round < 50; ++round) {
    ibv_wr_start(l.qp);
    for (int i = 0; i < 8; ++i) {
      l.next(1);
      ibv_wr_rdma_write(l.qp, l.mr->rkey, l.at(8'000));
      ibv_wr_set_sge(l.qp, l.mr->lkey, l.at(0), 8);
    }
    ASSERT_EQ(ibv_wr_complete(l.qp), 0);
    for (int left = 8; left > 0;) {
      l.start_poll();
      do {
        const std::uint64_t time = ibv_wc_read_completion_wallclock_ns(l.cq_ex);
        EXPECT_GE(time, last);
        last = time;
      } while (--left > 0 && ibv_next_poll(l.cq_ex) == 0);
      ibv_end_poll(l.cq_ex);
    }
  }
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
  const timespec ms{.tv_sec = 0, .tv_nsec = 1'000'000};
  ibv_wc wc{};
  for (int i = 0; i < 50; ++i) {  // all three complete; in real time, on a busy machine, not in the first
    EXPECT_EQ(ibv_poll_cq(l.recv_cq, 1, &wc), 0);
    nanosleep(&ms, nullptr);
  }
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
