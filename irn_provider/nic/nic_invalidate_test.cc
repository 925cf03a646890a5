// SEND with invalidate between two Nics, in both modes, of what is no window of the peer's: it ends as with
// Linux rxe (IBTA Vol 1, 9.9.3, class J). The fence before it in IRN: Mittal, 4.4.4.
#include <gtest/gtest.h>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPsn = 0xfffff0, kMtu = 1024;

class NicInvalidateTest : public testing::TestWithParam<TransportMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, NicInvalidateTest, testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

TEST_P(NicInvalidateTest, TheMessageIsAcknowledgedAndItsReceiverEndsInError) {
  for (const std::uint32_t length : {100u, 2 * kMtu + 1}) {
    NicPair pair(config_of(GetParam()));
    pair.connect(kPsn);
    pair.a.fill(0, length, 1);
    pair.post_receive(0, 4096, 50);
    pair.post_receive(0, 4096, 51);
    SendWqe w = pair.wqe(WrOpcode::kSendInvalidate, 0, 0, length, 1);
    w.imm = pair.b.key.value;
    pair.post(w);
    pair.run();
    ASSERT_EQ(pair.a.cqes.size(), 1u);
    EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kSuccess);
    EXPECT_EQ(pair.a.cqes[0].opcode, WcOpcode::kSend);
    ASSERT_EQ(pair.b.cqes.size(), 2u);
    EXPECT_EQ(pair.b.cqes[0].status, WcStatus::kRemInvReqErr);
    EXPECT_EQ(pair.b.cqes[0].wr_id, 50u);
    EXPECT_EQ(pair.b.cqes[1].status, WcStatus::kWrFlushErr);
    EXPECT_EQ(pair.b.nic.query_qp(pair.b.qp)->state, QpState::kErr);
    EXPECT_EQ(pair.a.nic.query_qp(pair.a.qp)->state, QpState::kRts);
    EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data(), length), 0);
    const auto last = pair.sent([](const Departure& d) {
      return d.side == 0 && opcode_info(d.packet.roce.opcode).has(Header::kIeth);
    });
    ASSERT_EQ(last.size(), 1u) << "the last packet names the key";
    EXPECT_EQ(last[0].packet.roce.imm, pair.b.key.value);
    EXPECT_TRUE(opcode_info(last[0].packet.roce.opcode).ends_message());
  }
}

// What comes behind it is not executed and not acknowledged: the peer learns by its timer.
TEST_P(NicInvalidateTest, WhatComesBehindItIsNotAcknowledged) {
  NicPair pair(config_of(GetParam()));
  pair.attr.timeout = 8, pair.attr.retry_cnt = 1;
  pair.connect(kPsn);
  pair.b.fill(8192, 100, 3);
  const std::vector<std::byte> before(pair.b.bytes.begin() + 8192, pair.b.bytes.begin() + 8292);
  pair.post_receive(0, 4096);
  pair.post(pair.wqe(WrOpcode::kSendInvalidate, 0, 0, 100, 1));
  pair.run_until(pair.now() + 100_us);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 8192, 100, 2));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 2u);
  EXPECT_EQ(pair.a.cqes[1].status, WcStatus::kRetryExcErr);
  EXPECT_EQ(std::memcmp(before.data(), pair.b.bytes.data() + 8192, 100), 0);
}

// The first packet of the WRITE before it is lost. In IRN the SEND must not arrive before the WRITE has: it
// leaves when the WRITE, READ and all else has been acknowledged. RoCE's responder keeps the order itself.
TEST_P(NicInvalidateTest, IrnFencesItBehindAllThatIsOutstanding) {
  NicPair pair(config_of(GetParam()));
  pair.connect(kPsn);
  pair.lose = lose_data(0, {1});
  pair.post_receive(0, 4096);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 16'384, 3 * kMtu, 1));
  pair.post(pair.wqe(WrOpcode::kSendInvalidate, 0, 0, 100, 2));
  Time written = Time::never();
  pair.on_cqe = [&](NicPair& p, Endpoint& at, const Cqe& cqe) {
    if (&at == &p.a && cqe.wr_id == 1) written = cqe.time;
  };
  pair.run();
  const auto invalidating = pair.sent(
      [](const Departure& d) { return d.side == 0 && opcode_info(d.packet.roce.opcode).has(Header::kIeth); });
  ASSERT_FALSE(invalidating.empty());
  ASSERT_FALSE(written.is_never());
  if (GetParam() == TransportMode::kIrn) {
    EXPECT_EQ(invalidating.size(), 1u);
    EXPECT_GE(invalidating[0].at, written);
  } else {
    EXPECT_LT(invalidating[0].at, written) << "at once; it is dropped until the WRITE is there";
  }
}

TEST_P(NicInvalidateTest, UnreliableClassesHaveNone) {
  for (const QpType type : {QpType::kUc, QpType::kUd}) {
    NicPair pair(config_of(GetParam()));
    pair.type = type;
    pair.connect(kPsn);
    EXPECT_EQ(pair.post(pair.wqe(WrOpcode::kSendInvalidate, 0, 0, 10)), PostResult::kBadOpcode);
  }
}

}  // namespace
}  // namespace rocelab
