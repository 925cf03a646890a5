// Completion events and asynchronous events.
#include <fcntl.h>
#include <poll.h>
#include <time.h>

#include <cerrno>
#include <thread>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

bool readable(int fd, int timeout_ms) {
  pollfd p{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&p, 1, timeout_ms) == 1;
}

// Takes the event that is there.
void take_event(Loopback& l) {
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(l.channel, &cq, &context), 0);
  EXPECT_EQ(cq, l.recv_cq);
  EXPECT_EQ(context, &l);
  ibv_ack_cq_events(cq, 1);
}

// One SEND that b receives, seen through at a only.
void message(Loopback& l, unsigned flags = 0) {
  ASSERT_EQ(l.receive({l.sge(100, 8)}), 0);
  ASSERT_EQ(l.send(IBV_WR_SEND, {l.sge(0, 8)}, 0, IBV_SEND_SIGNALED | flags), 0);
  l.wait(l.send_cq);
}

// The program cannot know of it: time may have passed in its empty poll of another CQ.
TEST(EventProbe, WhatCameSinceAnEmptyPollIsToldOf) {
  Loopback l;
  l.connect();
  ASSERT_EQ(l.receive({l.sge(4096, 8)}), 0);
  ibv_wc wc{};
  EXPECT_EQ(ibv_poll_cq(l.recv_cq, 1, &wc), 0);
  ASSERT_EQ(l.send(IBV_WR_SEND, {l.sge(0, 8)}), 0);
  l.wait(l.send_cq);
  ASSERT_EQ(ibv_req_notify_cq(l.recv_cq, 0), 0);
  EXPECT_TRUE(readable(l.channel->fd, 0));
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(l.channel, &cq, &context), 0);
  ibv_ack_cq_events(cq, 1);
  ASSERT_EQ(ibv_req_notify_cq(l.recv_cq, 0), 0);
  EXPECT_FALSE(readable(l.channel->fd, 1)) << "told of once";
  EXPECT_EQ(ibv_poll_cq(l.recv_cq, 1, &wc), 1);
}

TEST(EventProbe, OneRequestGivesOneEventForTheNextCompletion) {
  Loopback l;
  l.connect();
  message(l);
  EXPECT_FALSE(readable(l.channel->fd, 0)) << "not asked for";
  ASSERT_EQ(ibv_req_notify_cq(l.recv_cq, 0), 0);
  EXPECT_FALSE(readable(l.channel->fd, 1)) << "a completion that waited already";
  message(l);
  message(l);
  ASSERT_TRUE(readable(l.channel->fd, 0));
  take_event(l);
  EXPECT_FALSE(readable(l.channel->fd, 1)) << "one request, one event";
}

TEST(EventProbe, SolicitedRequestsWaitForSolicitedMessagesAndLoseNoCompletion) {
  Loopback l;
  l.connect();
  ASSERT_EQ(ibv_req_notify_cq(l.recv_cq, 1), 0);
  message(l);
  message(l);
  EXPECT_FALSE(readable(l.channel->fd, 0));
  message(l, IBV_SEND_SOLICITED);
  ASSERT_TRUE(readable(l.channel->fd, 0));
  take_event(l);
  ibv_wc wc[8];
  EXPECT_EQ(ibv_poll_cq(l.recv_cq, 8, wc), 3);
}

TEST(EventProbe, AnyOverridesSolicitedButNotTheOtherWay) {
  Loopback l;
  l.connect();
  ASSERT_EQ(ibv_req_notify_cq(l.recv_cq, 0), 0);
  ASSERT_EQ(ibv_req_notify_cq(l.recv_cq, 1), 0);
  message(l);
  ASSERT_TRUE(readable(l.channel->fd, 0));
  take_event(l);
}

TEST(EventProbe, AnyAfterSolicitedCountsOnlyWhatComesLater) {
  Loopback l;
  l.connect();
  ASSERT_EQ(ibv_req_notify_cq(l.recv_cq, 1), 0);
  message(l);
  EXPECT_EQ(l.wait(l.recv_cq).status, IBV_WC_SUCCESS);
  ASSERT_EQ(ibv_req_notify_cq(l.recv_cq, 0), 0);
  EXPECT_FALSE(readable(l.channel->fd, 1)) << "polled already";
  message(l);
  ASSERT_TRUE(readable(l.channel->fd, 0));
  take_event(l);
  EXPECT_FALSE(readable(l.channel->fd, 1)) << "one event for both requests";
}

TEST(EventProbe, AnyAfterSolicitedTakesNoDueEventAway) {
  Loopback l;
  l.connect();
  ASSERT_EQ(ibv_req_notify_cq(l.recv_cq, 1), 0);
  message(l, IBV_SEND_SOLICITED);
  ASSERT_EQ(ibv_req_notify_cq(l.recv_cq, 0), 0);
  ASSERT_TRUE(readable(l.channel->fd, 0));
  take_event(l);
  EXPECT_FALSE(readable(l.channel->fd, 1));
  message(l);
  ASSERT_TRUE(readable(l.channel->fd, 0));
  take_event(l);
}

TEST(EventProbe, GetCqEventWaitsInExperimentTime) {
  Loopback l;
  l.connect();
  ASSERT_EQ(ibv_req_notify_cq(l.recv_cq, 0), 0);
  ASSERT_EQ(l.receive({l.sge(100, 8)}), 0);
  ASSERT_EQ(l.send(IBV_WR_SEND, {l.sge(0, 8)}), 0);
  timespec before{}, after{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  take_event(l);
  clock_gettime(CLOCK_MONOTONIC, &after);
  // Two links of 2 us, two serialisations of a short frame.
  const long ns = (after.tv_sec - before.tv_sec) * 1'000'000'000 + after.tv_nsec - before.tv_nsec;
  EXPECT_GT(ns, 4'000);
  EXPECT_LT(ns, 4'100);
  l.wait(l.send_cq);
}

TEST(EventProbe, NonBlockingChannelSaysAgain) {
  Loopback l;
  l.connect();
  ASSERT_EQ(fcntl(l.channel->fd, F_SETFL, fcntl(l.channel->fd, F_GETFL) | O_NONBLOCK), 0);
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  EXPECT_EQ(ibv_get_cq_event(l.channel, &cq, &context), -1);
  EXPECT_EQ(errno, EAGAIN);
  ASSERT_EQ(ibv_req_notify_cq(l.recv_cq, 0), 0);
  message(l);
  take_event(l);
}

TEST(EventProbe, EventsThatNobodyFetchedGoWithTheirQueue) {
  Loopback l;
  l.connect();
  ASSERT_EQ(ibv_req_notify_cq(l.recv_cq, 0), 0);
  message(l);
  EXPECT_TRUE(readable(l.channel->fd, 0));
  // The destructor destroys the CQ, then the channel.
}

// ... and the queue pair whose completion was lost can report nothing: it is in error.
TEST(EventProbe, OverrunIsAnAsynchronousErrorOfTheQueueAndOfItsQueuePair) {
  Loopback l({.cq_entries = 4});
  l.connect();
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(l.receive({l.sge(100, 8)}), 0);
    ASSERT_EQ(l.send(IBV_WR_SEND, {l.sge(0, 8)}, 0, 0), 0);
  }
  ibv_wc wc[8];
  const timespec ms{.tv_sec = 0, .tv_nsec = 1'000'000};
  // In real time it may take some: polling another queue lets the NIC go on, and leaves this one full.
  for (int i = 0; i < 1'000 && !readable(l.context->async_fd, 0); ++i) {
    EXPECT_EQ(ibv_poll_cq(l.send_cq, 1, wc), 0);
    nanosleep(&ms, nullptr);
  }
  EXPECT_LE(ibv_poll_cq(l.recv_cq, 8, wc), 4);
  ASSERT_TRUE(readable(l.context->async_fd, 0));
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(l.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_CQ_ERR);
  EXPECT_EQ(event.element.cq, l.recv_cq);
  ibv_ack_async_event(&event);
  ASSERT_EQ(ibv_get_async_event(l.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_FATAL);
  EXPECT_EQ(event.element.qp, l.b);
  ibv_ack_async_event(&event);
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(l.b, &attr, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attr.qp_state, IBV_QPS_ERR);
  EXPECT_FALSE(readable(l.context->async_fd, 0)) << "told once";
}

// Nobody answers: the request is sent again until it fails, though the thread that waits in the library knows
// nothing of it, and the one that posted waits in the kernel.
TEST(EventProbe, ARequestWithoutAnswerFailsWhileAnotherThreadWaitsForItsOwn) {
  Loopback l;
  ibv_comp_channel* others = ibv_create_comp_channel(l.context);
  ibv_cq* others_cq = ibv_create_cq(l.context, 4, nullptr, others, 0);
  ibv_qp_init_attr init{};
  init.send_cq = l.recv_cq;
  init.recv_cq = others_cq;
  init.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  init.qp_type = IBV_QPT_RC;
  ibv_qp* qp = ibv_create_qp(l.pd, &init);
  l.connect_to(qp, l.b->qp_num + 8 * 4'096);      // of a program that is not there
  ibv_recv_wr receive{}, *bad_receive = nullptr;  // flushed when the request has failed
  ASSERT_EQ(ibv_post_recv(qp, &receive, &bad_receive), 0);
  ASSERT_EQ(ibv_req_notify_cq(others_cq, 0), 0);
  ASSERT_EQ(ibv_req_notify_cq(l.recv_cq, 0), 0);
  std::thread waits([&] {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    EXPECT_EQ(ibv_get_cq_event(others, &cq, &context), 0);
    EXPECT_EQ(cq, others_cq);
    ibv_ack_cq_events(cq, 1);
  });
  const timespec asleep{.tv_sec = 0, .tv_nsec = 50'000'000};
  nanosleep(&asleep, nullptr);
  ibv_sge part = l.sge(0, 8);
  ibv_send_wr send{}, *bad_send = nullptr;
  send.sg_list = &part, send.num_sge = 1, send.opcode = IBV_WR_SEND, send.send_flags = IBV_SEND_SIGNALED;
  ASSERT_EQ(ibv_post_send(qp, &send, &bad_send), 0);
  EXPECT_TRUE(readable(l.channel->fd, 10'000));
  EXPECT_EQ(l.wait(l.recv_cq).status, IBV_WC_RETRY_EXC_ERR);
  waits.join();
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  EXPECT_EQ(ibv_get_cq_event(l.channel, &cq, &context), 0);
  ibv_ack_cq_events(cq, 1);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(others_cq), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(others), 0);
}

}  // namespace
}  // namespace rocelab::probe
