// SQD: the send queue drains, and some attributes may change then; where a queue pair stands; what it tells
// of both (IBTA Vol 1, 10.3.1, 11.2.5.2, 11.6.3).
#include <gtest/gtest.h>

#include "irn_provider/cc/timely.h"
#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

using Kind = AsyncEvent::Kind;

constexpr std::uint32_t kPsn = 0xfffff0;

bool move(
    Endpoint& e, QpState to, Time now, const std::function<void(QpAttr&)>& change = [](QpAttr&) {}) {
  QpAttr attr = *e.nic.query_qp(e.qp);
  attr.state = to;
  change(attr);
  return e.nic.modify_qp(e.qp, attr, now);
}
bool drain(NicPair& pair, bool notify) {
  return move(pair.a, QpState::kSqd, pair.now(), [=](QpAttr& attr) { attr.notify_drained = notify; });
}

class NicDrainTest : public ::testing::TestWithParam<TransportMode> {
 protected:
  NicDrainTest() : pair_(config_of(GetParam())) {}
  NicPair pair_;
};

TEST_P(NicDrainTest, WhatHasBegunIsCompletedAndThenTold) {
  pair_.connect(kPsn);
  Nic& nic = pair_.a.nic;
  for (std::uint64_t id : {1, 2})
    ASSERT_EQ(pair_.post(pair_.wqe(WrOpcode::kWrite, 0, 0, 20'000, id)), PostResult::kOk);
  pair_.run_until(Time::zero() + 1_us);
  ASSERT_TRUE(drain(pair_, true));
  EXPECT_TRUE(nic.progress_of(pair_.a.qp)->sq_draining);
  EXPECT_EQ(nic.poll_event(), std::nullopt);
  pair_.run();
  ASSERT_EQ(pair_.a.cqes.size(), 1u) << "the second has not begun";
  EXPECT_FALSE(nic.progress_of(pair_.a.qp)->sq_draining);
  EXPECT_EQ(nic.poll_event(), (AsyncEvent{Kind::kSqDrained, pair_.a.qp.value}));
  ASSERT_TRUE(move(pair_.a, QpState::kRts, pair_.now()));
  pair_.run();
  EXPECT_EQ(pair_.a.cqes.size(), 2u);
  EXPECT_EQ(nic.poll_event(), std::nullopt) << "told once";
}

TEST_P(NicDrainTest, WhereNothingHasBegunItIsToldAtOnce) {
  pair_.connect(kPsn);
  ASSERT_TRUE(drain(pair_, true));
  EXPECT_FALSE(pair_.a.nic.progress_of(pair_.a.qp)->sq_draining);
  EXPECT_EQ(pair_.a.nic.poll_event(), (AsyncEvent{Kind::kSqDrained, pair_.a.qp.value}));
}

TEST_P(NicDrainTest, NothingIsToldUnlessAskedForNorAfterAnError) {
  pair_.connect(kPsn);
  ASSERT_TRUE(drain(pair_, false));
  pair_.run();
  EXPECT_EQ(pair_.a.nic.poll_event(), std::nullopt);
  ASSERT_TRUE(move(pair_.a, QpState::kRts, pair_.now()));
  pair_.lose = [](const Departure&) { return true; };
  ASSERT_EQ(pair_.post(pair_.wqe(WrOpcode::kWrite, 0, 0, 100)), PostResult::kOk);
  pair_.run_until(pair_.now() + 1_us);
  ASSERT_TRUE(drain(pair_, true));
  ASSERT_TRUE(move(pair_.a, QpState::kErr, pair_.now()));
  pair_.run();
  EXPECT_EQ(pair_.a.nic.poll_event(), std::nullopt);
}

// It is one work request to the program.
TEST_P(NicDrainTest, AReadThatIsRequestedInPiecesHasBegunWithItsFirst) {
  NicConfig config = config_of(GetParam());
  config.cc.use<Timely>();
  NicPair pair(config);
  pair.attr.max_rd_atomic = 1;
  pair.connect(kPsn);
  const auto requests = [&] {
    return pair.sent([](const Departure& d) {
      return opcode_info(d.packet.roce.opcode).operation == Operation::kReadRequest;
    });
  };
  ASSERT_EQ(pair.post(pair.wqe(WrOpcode::kRead, 0, 0, 200'000)), PostResult::kOk);
  pair.run_until(Time::zero() + 1_us);
  ASSERT_EQ(requests().size(), 1u);
  ASSERT_TRUE(drain(pair, true));
  pair.run();
  EXPECT_GT(requests().size(), 2u);
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kSuccess);
  EXPECT_EQ(pair.a.nic.poll_event(), (AsyncEvent{Kind::kSqDrained, pair.a.qp.value}));
}

// No READ_ACK arrives: what the responder holds of READs that are complete must fit all the same.
TEST_P(NicDrainTest, AsManyReadsAreOutstandingAsBothEndsHaveAgreedOnLast) {
  pair_.attr.max_rd_atomic = pair_.attr.max_dest_rd_atomic = 4;
  pair_.connect(kPsn);
  pair_.lose = [](const Departure& d) { return opcode_info(d.packet.roce.opcode).role == Role::kReadAck; };
  for (const std::uint8_t number : std::initializer_list<std::uint8_t>{4, 16, 1, 3, 16, 2}) {
    for (Endpoint* e : {&pair_.a, &pair_.b}) {
      ASSERT_TRUE(move(*e, QpState::kSqd, pair_.now()));
      ASSERT_TRUE(move(*e, QpState::kSqd, pair_.now(),
                       [=](QpAttr& attr) { attr.max_rd_atomic = attr.max_dest_rd_atomic = number; }));
      ASSERT_TRUE(move(*e, QpState::kRts, pair_.now()));
    }
    pair_.a.cqes.clear(), pair_.log.clear();
    for (std::uint64_t id = 0; id < 20; ++id)
      ASSERT_EQ(pair_.post(pair_.wqe(WrOpcode::kRead, 0, 0, 3'000, id)), PostResult::kOk);
    pair_.run_until(pair_.now() + 1_us);  // half of a round trip
    EXPECT_EQ(pair_.sent([](const Departure& d) { return d.side == 0; }).size(), number);
    pair_.run_until(pair_.now() + 300_us);  // the responder goes on sending what it holds
    ASSERT_EQ(pair_.a.cqes.size(), 20u);
    for (const Cqe& cqe : pair_.a.cqes) EXPECT_EQ(cqe.status, WcStatus::kSuccess) << int{number};
  }
  pair_.lose = [](const Departure&) { return false; };
  pair_.run();
}

TEST_P(NicDrainTest, PsnsAreTheNextOnesAndOutliveAnError) {
  pair_.connect(kPsn);
  EXPECT_EQ(pair_.a.nic.progress_of(pair_.a.qp)->sq_psn, kPsn);
  for (int i = 0; i < 7; ++i)
    ASSERT_EQ(pair_.post(pair_.wqe(WrOpcode::kWrite, 0, 0, 3'000)), PostResult::kOk);
  pair_.run();
  constexpr std::uint32_t kNext = (kPsn + 21) & Psn::kMask;
  for (const QpState state : {QpState::kRts, QpState::kErr}) {
    ASSERT_TRUE(move(pair_.a, state, pair_.now()) && move(pair_.b, state, pair_.now()));
    EXPECT_EQ(pair_.a.nic.progress_of(pair_.a.qp)->sq_psn, kNext);
    EXPECT_EQ(pair_.a.nic.progress_of(pair_.a.qp)->rq_psn, (kPsn + 0x100) & Psn::kMask) << "nothing came";
    EXPECT_EQ(pair_.b.nic.progress_of(pair_.b.qp)->rq_psn, kNext);
  }
  EXPECT_EQ(pair_.a.nic.progress_of(Qpn{0x999999}), std::nullopt);
}

TEST_P(NicDrainTest, CommunicationIsEstablishedByAPacketThatComesInRtr) {
  pair_.connect(kPsn);
  for (const bool in_time : {true, false, true}) {
    ASSERT_TRUE(move(pair_.b, QpState::kReset, pair_.now()) && move(pair_.a, QpState::kReset, pair_.now()));
    pair_.bring_up(pair_.a, pair_.a.qp, pair_.b.qp, kPsn, 0);
    QpAttr attr = pair_.attr;
    attr.dest_qpn = pair_.a.qp, attr.rq_psn = kPsn;
    for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      attr.state = state;
      if (in_time && state == QpState::kRts) break;
      ASSERT_TRUE(pair_.b.nic.modify_qp(pair_.b.qp, attr, pair_.now()));
    }
    for (int i = 0; i < 2; ++i)
      ASSERT_EQ(pair_.post(pair_.wqe(WrOpcode::kWrite, 0, 0, 3'000)), PostResult::kOk);
    pair_.run();
    const std::optional<AsyncEvent> told = pair_.b.nic.poll_event();
    EXPECT_EQ(told,
              in_time ? std::optional(AsyncEvent{Kind::kCommEstablished, pair_.b.qp.value}) : std::nullopt);
    EXPECT_EQ(pair_.b.nic.poll_event(), std::nullopt) << "told once";
    EXPECT_EQ(pair_.a.nic.poll_event(), std::nullopt);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, NicDrainTest, ::testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

}  // namespace
}  // namespace rocelab
