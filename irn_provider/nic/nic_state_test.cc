// States of a queue pair, misuse of the interface, and resources.
#include <gtest/gtest.h>

#include "irn_provider/cc/dcqcn_rp.h"
#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPsn = 0xfffff0;

TEST(NicStateTest, LeavingForErrFlushesBothQueuesInOrder) {
  NicPair pair;
  pair.connect(kPsn);
  pair.lose = [](const Departure&) { return true; };
  for (std::uint64_t i = 0; i < 3; ++i) pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 10, i));
  RecvWqe r;
  r.wr_id = 10;
  pair.a.nic.post_recv(pair.a.qp, r, pair.now());
  QpAttr attr = *pair.a.nic.query_qp(pair.a.qp);
  attr.state = QpState::kErr;
  ASSERT_TRUE(pair.a.nic.modify_qp(pair.a.qp, attr, pair.now()));
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 10, 3));  // and what is posted in ERR
  pair.a.nic.post_recv(pair.a.qp, r, pair.now());
  std::vector<std::uint64_t> ids;
  while (const auto cqe = pair.a.nic.poll_cq(pair.a.cq)) {
    EXPECT_EQ(cqe->status, WcStatus::kWrFlushErr);
    ids.push_back(cqe->wr_id);
  }
  EXPECT_EQ(ids, (std::vector<std::uint64_t>{0, 1, 2, 10, 3, 10}));
  pair.run();
  EXPECT_TRUE(pair.log.empty());
}

TEST(NicStateTest, AQueuePairWorksAgainAfterReset) {
  NicPair pair;
  pair.connect(kPsn);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 5000, 1));
  pair.run_until(Time::zero() + 1_us);
  for (Endpoint* e : {&pair.a, &pair.b}) {
    QpAttr attr;
    attr.state = QpState::kReset;
    ASSERT_TRUE(e->nic.modify_qp(e->qp, attr, pair.now()));
  }
  pair.run();
  EXPECT_TRUE(pair.a.cqes.empty());  // RESET drops work silently
  pair.a.fill(0, 5000, 3);
  pair.bring_up(pair.a, pair.a.qp, pair.b.qp, 77, 88);
  pair.bring_up(pair.b, pair.b.qp, pair.a.qp, 88, 77);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 5000, 2));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kSuccess);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), 5000), 0);
}

TEST(NicStateTest, ResetForgetsTheQueuePairsOwnCompletions) {
  NicPair pair;
  pair.connect(kPsn);
  const Qpn other = pair.a.create_qp(2);
  const auto post_receive_and_fail = [&](Qpn qp, std::uint64_t id) {
    QpAttr attr = *pair.a.nic.query_qp(qp);
    attr.state = QpState::kInit;
    pair.a.nic.modify_qp(qp, attr, pair.now());
    attr.state = QpState::kErr;
    ASSERT_TRUE(pair.a.nic.modify_qp(qp, attr, pair.now()));
    RecvWqe r;
    r.wr_id = id;
    ASSERT_EQ(pair.a.nic.post_recv(qp, r, pair.now()), PostResult::kOk);  // flushed at once
  };
  post_receive_and_fail(pair.a.qp, 1);
  post_receive_and_fail(other, 2);
  post_receive_and_fail(pair.a.qp, 3);
  QpAttr attr;
  attr.state = QpState::kReset;
  ASSERT_TRUE(pair.a.nic.modify_qp(pair.a.qp, attr, pair.now()));
  const auto left = pair.a.nic.poll_cq(pair.a.cq);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->wr_id, 2u);
  EXPECT_FALSE(pair.a.nic.poll_cq(pair.a.cq));
}

// What it owed its old peer does not leave when it fails before it has a new one.
TEST(NicStateTest, ResetForgetsAnswersAndNotificationsThatHaveNotLeft) {
  NicConfig config;
  config.cc.use<DcqcnRp>();
  NicPair pair(config);
  pair.connect(kPsn);
  PacketRef p = pair.b.pool.make();
  p->ecn = Ecn::kCe;
  p->roce.opcode = make_opcode(TransportClass::kRc, Operation::kWriteOnly);
  p->roce.dest = pair.b.qp, p->roce.psn = Psn(kPsn), p->roce.ack_req = true, p->frame_length = 74;
  pair.b.nic.on_packet(std::move(p), pair.now());
  ASSERT_TRUE(pair.b.nic.has_more());
  QpAttr attr;
  ASSERT_TRUE(pair.b.nic.modify_qp(pair.b.qp, attr, pair.now()));
  attr.state = QpState::kErr;
  ASSERT_TRUE(pair.b.nic.modify_qp(pair.b.qp, attr, pair.now()));
  EXPECT_FALSE(pair.b.nic.has_more());
}

TEST(NicStateTest, SqdHoldsBackWhatHasNotBegun) {
  NicPair pair;
  pair.connect(kPsn);
  QpAttr attr = *pair.a.nic.query_qp(pair.a.qp);
  attr.state = QpState::kSqd;
  ASSERT_TRUE(pair.a.nic.modify_qp(pair.a.qp, attr, pair.now()));
  ASSERT_EQ(pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 10)), PostResult::kOk);
  pair.run();
  EXPECT_TRUE(pair.log.empty());
  attr.state = QpState::kRts;
  ASSERT_TRUE(pair.a.nic.modify_qp(pair.a.qp, attr, pair.now()));
  pair.run();
  EXPECT_EQ(pair.a.cqes.size(), 1u);
}

TEST(NicStateTest, RefusesWhatCannotBe) {
  NicPair pair;
  const Qpn qp = pair.a.create_qp(2);
  EXPECT_EQ(pair.a.nic.post_send(qp, pair.wqe(WrOpcode::kWrite, 0, 0, 1), pair.now()), PostResult::kBadState);
  QpAttr attr = pair.attr;
  attr.state = QpState::kRts;
  EXPECT_FALSE(pair.a.nic.modify_qp(qp, attr, pair.now()));  // RESET to RTS
  attr.state = QpState::kInit, attr.path_mtu = 1000;
  EXPECT_FALSE(pair.a.nic.modify_qp(qp, attr, pair.now()));
  pair.connect(kPsn);
  EXPECT_EQ(pair.a.nic.post_send(Qpn{0x999999}, pair.wqe(WrOpcode::kWrite, 0, 0, 1), pair.now()),
            PostResult::kBadHandle);
  SendWqe w = pair.wqe(WrOpcode::kWrite, 0, 0, 1);
  w.num_sge = kMaxSge + 1;
  EXPECT_EQ(pair.post(w), PostResult::kBadSge);
  w = pair.wqe(WrOpcode::kWrite, 0, 0, 0x80000001);
  EXPECT_EQ(pair.post(w), PostResult::kBadLength);
  w = pair.wqe(WrOpcode::kWrite, 0, 0, 257);
  w.inline_data = true;
  EXPECT_EQ(pair.post(w), PostResult::kBadLength);
  pair.lose = [](const Departure&) { return true; };
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 1)), PostResult::kOk);
  EXPECT_EQ(pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 1)), PostResult::kQueueFull);
}

TEST(NicStateTest, ARegionTakesNewBoundsRightsAndDomainOrStaysAsItIs) {
  NicPair pair;
  pair.connect(kPsn);
  Nic& nic = pair.b.nic;
  const auto write = [&](std::uint64_t at, std::uint32_t length) {
    pair.a.cqes.clear();
    SendWqe w = pair.wqe(WrOpcode::kWrite, 0, 0, length);
    w.remote_addr = at;
    if (pair.post(w) != PostResult::kOk) return WcStatus::kFatalErr;
    pair.run();
    return pair.a.cqes.empty() ? WcStatus::kFatalErr : pair.a.cqes[0].status;
  };
  const std::uint64_t begin = pair.b.addr();
  ASSERT_EQ(write(begin, 100), WcStatus::kSuccess);
  // What cannot be changes nothing.
  EXPECT_FALSE(nic.rereg_mr(RKey{pair.b.key.value + 1}, std::nullopt, std::nullopt, std::nullopt));
  EXPECT_FALSE(nic.rereg_mr(pair.b.key, Pdn{0x999999}, std::nullopt, std::nullopt));
  EXPECT_FALSE(nic.rereg_mr(pair.b.key, std::nullopt, std::nullopt, kAccessRemoteWrite));
  EXPECT_FALSE(nic.rereg_mr(pair.b.key, std::nullopt, MrBounds{begin, UINT64_MAX, 2}, std::nullopt));
  ASSERT_EQ(write(begin, 100), WcStatus::kSuccess);
  // The same bytes by other addresses.
  ASSERT_TRUE(nic.rereg_mr(pair.b.key, std::nullopt, MrBounds{begin + 8, 0x1000, 100}, std::nullopt));
  ASSERT_EQ(write(0x1000, 100), WcStatus::kSuccess);
  EXPECT_EQ(std::memcmp(pair.b.bytes.data() + 8, pair.a.bytes.data(), 100), 0);
  // Users of domains are counted anew.
  const Pdn other = nic.alloc_pd();
  ASSERT_TRUE(nic.rereg_mr(pair.b.key, other, std::nullopt, std::nullopt));
  EXPECT_FALSE(nic.free_pd(other));
  EXPECT_EQ(write(0x1000, 100), WcStatus::kRemAccessErr);
  ASSERT_TRUE(nic.dereg_mr(pair.b.key));
  EXPECT_TRUE(nic.free_pd(other));
}

TEST(NicStateTest, ResourcesInUseAreNotFreed) {
  NicPair pair;
  pair.connect(kPsn);
  EXPECT_FALSE(pair.a.nic.destroy_cq(pair.a.cq));
  EXPECT_FALSE(pair.a.nic.free_pd(pair.a.pd));
  EXPECT_TRUE(pair.a.nic.destroy_qp(pair.a.qp));
  EXPECT_FALSE(pair.a.nic.destroy_qp(pair.a.qp));
  EXPECT_FALSE(pair.a.nic.free_pd(pair.a.pd));  // the region
  EXPECT_TRUE(pair.a.nic.dereg_mr(pair.a.key));
  EXPECT_TRUE(pair.a.nic.free_pd(pair.a.pd));
  EXPECT_TRUE(pair.a.nic.destroy_cq(pair.a.cq));
  EXPECT_FALSE(pair.a.nic.poll_cq(pair.a.cq));
}

// A program that deregisters memory under a WQE in progress: nothing of it is sent any more, and the QP ends
// inside its retry limits.
TEST(NicStateTest, AResendWhoseMemoryIsGoneCannotBeGathered) {
  NicPair pair;
  pair.attr.timeout = 8, pair.attr.retry_cnt = 1;
  pair.connect(kPsn);
  pair.lose = [](const Departure&) { return true; };
  ASSERT_EQ(pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 100)), PostResult::kOk);
  pair.run_until(Time::zero() + 10_us);
  ASSERT_TRUE(pair.a.nic.dereg_mr(pair.a.key));
  std::vector<std::byte> payload(100);
  Time t = pair.a.nic.next_timeout();
  pair.a.nic.on_timeout(t);
  const PacketRef again = pair.a.nic.poll_transmit(t);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->retransmission);
  EXPECT_FALSE(pair.a.nic.gather(*again, payload));
  t = pair.a.nic.next_timeout();
  pair.a.nic.on_timeout(t);
  const auto cqe = pair.a.nic.poll_cq(pair.a.cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, WcStatus::kRetryExcErr);
}

// IBTA 11.6.3.1, 11.6.3.2: the CQ takes no more, and the QP whose completion it lost can report nothing.
TEST(NicStateTest, AFullCqIsOverrunLosesTheCqeAndEndsItsQueuePair) {
  NicPair pair;
  const Cqn small = *pair.a.nic.create_cq(2);
  QpInit init;
  init.pd = pair.a.pd, init.send_cq = small, init.recv_cq = small, init.caps = {16, 16, 1, 1, 0};
  const Qpn qa = *pair.a.nic.create_qp(init), qb = pair.b.create_qp();
  pair.bring_up(pair.a, qa, qb, 0, 0);
  pair.bring_up(pair.b, qb, qa, 0, 0);
  for (int i = 0; i < 3; ++i) pair.a.nic.post_send(qa, pair.wqe(WrOpcode::kWrite, 0, 0, 1), pair.now());
  pair.run();
  EXPECT_EQ(pair.a.nic.cq_depth(small), 2u);
  EXPECT_TRUE(pair.a.nic.cq_overrun(small));
  EXPECT_EQ(pair.a.nic.query_qp(qa)->state, QpState::kErr);
  EXPECT_EQ(pair.a.nic.poll_event(), (AsyncEvent{AsyncEvent::Kind::kCqError, small.value}));
  EXPECT_EQ(pair.a.nic.poll_event(), (AsyncEvent{AsyncEvent::Kind::kQpFatal, qa.value}));
  while (pair.a.nic.poll_cq(small)) {
  }
  EXPECT_EQ(pair.a.nic.post_send(qa, pair.wqe(WrOpcode::kWrite, 0, 0, 1), pair.now()), PostResult::kOk);
  EXPECT_EQ(pair.a.nic.cq_depth(small), 0u) << "for good";
  EXPECT_EQ(pair.a.nic.poll_event(), std::nullopt) << "both are told once";
}

TEST(NicStateTest, ACqIsResizedToWhatItHolds) {
  NicPair pair;
  const Cqn cq = *pair.a.nic.create_cq(8);
  QpInit init;
  init.pd = pair.a.pd, init.send_cq = cq, init.recv_cq = cq, init.caps = {16, 16, 1, 1, 0};
  const Qpn qa = *pair.a.nic.create_qp(init), qb = pair.b.create_qp();
  pair.bring_up(pair.a, qa, qb, 0, 0);
  pair.bring_up(pair.b, qb, qa, 0, 0);
  const auto write = [&] {
    pair.a.nic.post_send(qa, pair.wqe(WrOpcode::kWrite, 0, 0, 1), pair.now());
    pair.run();
  };
  for (int i = 0; i < 3; ++i) write();
  EXPECT_FALSE(pair.a.nic.resize_cq(cq, 2));
  EXPECT_FALSE(pair.a.nic.resize_cq(cq, 0));
  ASSERT_TRUE(pair.a.nic.resize_cq(cq, 3));
  EXPECT_EQ(pair.a.nic.cq_depth(cq), 3u);
  ASSERT_TRUE(pair.a.nic.resize_cq(cq, 4));
  write();
  EXPECT_FALSE(pair.a.nic.cq_overrun(cq));
  write();
  EXPECT_TRUE(pair.a.nic.cq_overrun(cq)) << "the fifth";
}

// Peers remember the QPNs of a program that has ended.
TEST(NicStateTest, ANicThatTakesOverGivesOutTheEarlierOnesQpnsLast) {
  NicConfig config;
  config.max_qps = 4;
  Endpoint earlier(config, Qpn{100}, 64), later(config, Qpn{100}, 64);
  EXPECT_EQ(earlier.nic.next_qp(), 0u);
  EXPECT_EQ(earlier.create_qp(4), Qpn{100});
  EXPECT_EQ(earlier.create_qp(4), Qpn{101});
  later.nic.set_first_qpn(earlier.nic.next_qp());
  EXPECT_EQ(later.nic.next_qp(), 2u) << "when it makes none";
  for (const std::uint32_t expected : {102u, 103u, 100u, 101u}) EXPECT_EQ(later.create_qp(4), Qpn{expected});
  EXPECT_EQ(later.nic.next_qp(), 2u);
}

}  // namespace
}  // namespace rocelab
