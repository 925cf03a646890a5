#include "irn_provider/transport/irn_responder_fixture.h"

namespace rocelab {
namespace {

class IrnReadResponderTest : public IrnResponderFixture {};

TEST_F(IrnReadResponderTest, AReadOutOfOrderWaitsUntilEverythingBeforeItHasArrived) {
  start();
  read(1, 0, 0, 600);
  expect_nack(0, 1);
  EXPECT_FALSE(responder_->has_data());
  write(Operation::kWriteOnly, 0, 0, "new", 3);
  expect_ack(2, 2);
  ASSERT_TRUE(responder_->has_data());
  std::vector<std::string_view> names;
  for (UnwrappedPsn rpsn = 0; responder_->has_data(); ++rpsn) {
    Packet p;
    const PayloadSource source = responder_->pull_data(p, kNow);
    EXPECT_EQ(p.roce.psn, wrap(kStart + rpsn)) << "numbered in the rPSN space from the first PSN";
    EXPECT_EQ(source.va, base() + static_cast<std::uint64_t>(rpsn) * kMtu);
    names.push_back(opcode_info(p.roce.opcode).name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string_view>{"IRN_RDMA_READ_RESPONSE_FIRST", "IRN_RDMA_READ_RESPONSE_MIDDLE",
                                           "IRN_RDMA_READ_RESPONSE_LAST"}));
}

TEST_F(IrnReadResponderTest, ReadsBeyondTheReadWqeBufferAreDiscardedOutOfOrderAndRefusedInOrder) {
  start();
  read(3, 2, 0, 10);
  EXPECT_FALSE(responder_->has_ack());
  EXPECT_EQ(counters_.probe_drops, 1u);
  read(2, 0x900000, 0, 10);
  EXPECT_EQ(counters_.probe_drops, 2u);
  read(0, 1, 0, 10);
  expect_refusal(0, kNakInvalidRequest);
}

TEST_F(IrnReadResponderTest, ReadResponsesObeyTheBdpCapAndResumeWithReadAcks) {
  start(IrnConfig{.bdp_cap = 2});
  read(0, 0, 0, 4 * kMtu);
  Packet p;
  responder_->pull_data(p, kNow);
  responder_->pull_data(p, kNow);
  EXPECT_FALSE(responder_->has_data());
  read_ack(1);
  ASSERT_TRUE(responder_->has_data());
  responder_->pull_data(p, kNow);
  EXPECT_EQ(p.roce.psn, wrap(kStart + 2));
  EXPECT_FALSE(responder_->has_data());
}

TEST_F(IrnReadResponderTest, AReadNackResendsTheHoleAndTheTimerTheRest) {
  start();
  read(0, 0, 0, 4 * kMtu);
  Packet p;
  while (responder_->has_data()) responder_->pull_data(p, kNow);
  Packet nack = request(Operation::kReadNack, 1);
  nack.roce.sack = wrap(kStart + 2);
  responder_->on_read_ack(nack, opcode_info(nack.roce.opcode), kNow);
  ASSERT_TRUE(responder_->has_data());
  responder_->pull_data(p, kNow);
  EXPECT_EQ(p.roce.psn, wrap(kStart + 1));
  EXPECT_TRUE(p.retransmission);
  EXPECT_FALSE(responder_->has_data());
  EXPECT_EQ(responder_->next_timeout(), kNow + 100_us);
  responder_->on_timeout(kNow + 100_us - 1_ps);
  EXPECT_FALSE(responder_->has_data());
  responder_->on_timeout(kNow + 100_us);
  ASSERT_TRUE(responder_->has_data());
  EXPECT_EQ(counters_.read_responder_timeouts, 1u);
  responder_->pull_data(p, kNow + 100_us);
  EXPECT_EQ(p.roce.psn, wrap(kStart + 1));
  EXPECT_EQ(counters_.timeout_retransmissions, 1u);
  EXPECT_EQ(counters_.nack_retransmissions, 1u);
}

TEST_F(IrnReadResponderTest, ARequestImpliesThatTheReadItsSlotHeldIsComplete) {
  start();
  Packet p;
  for (std::uint32_t n = 0; n < 10; ++n) {  // no READ_ACK ever arrives
    read(n, n, 0, 10);
    expect_ack(n + 1, n + 1);
    ASSERT_TRUE(responder_->has_data());
    responder_->pull_data(p, kNow);
    EXPECT_EQ(p.roce.psn, wrap(kStart + n));
  }
}

// No READ_ACK ever arrives.
TEST_F(IrnReadResponderTest, TheBufferFollowsItsAttributeAndLosesNothingThatItHolds) {
  start();
  Packet p;
  std::uint32_t n = 0;
  const auto read_and_answer = [&](std::uint32_t reads) {
    for (std::uint32_t i = 0; i < reads; ++i) read(n + i, n + i, 8 * (n + i), 10);
    for (std::uint32_t i = 0; i < reads; ++i, ++n) {
      expect_ack(n + 1, n + 1);
      ASSERT_TRUE(responder_->has_data());
      const PayloadSource source = responder_->pull_data(p, kNow);
      EXPECT_EQ(p.roce.psn, wrap(kStart + n));
      EXPECT_EQ(source.va, base() + 8 * n);
    }
  };
  read_and_answer(2);
  for (const std::uint8_t number : std::initializer_list<std::uint8_t>{5, 1, 3}) {
    qp_->attr.max_dest_rd_atomic = number;
    responder_->refresh();
    read_and_answer(number);
    read_and_answer(number);
  }
  read(n + 3, n + 3, 0, 10);
  EXPECT_FALSE(responder_->has_ack()) << "three are taken ahead";
  read(n + 2, n + 2, 0, 10);
  expect_nack(n, n + 2);
  // There are five slots, as many as there ever were: n + 2 has that of n - 3, which is complete. What is
  // behind it is sent again.
  const Time due = responder_->next_timeout();
  responder_->on_timeout(due);
  ASSERT_TRUE(responder_->has_data());
  EXPECT_EQ(responder_->pull_data(p, due).va, base() + 8 * (n - 2));
  EXPECT_EQ(p.roce.psn, wrap(kStart + n - 2));
  EXPECT_TRUE(p.retransmission);
}

TEST_F(IrnReadResponderTest, AReadWhoseSlotStillHasUnsentResponsesIsRefusedBehindTheLastOne) {
  start(IrnConfig{.bdp_cap = 1});
  read(0, 0, 0, 10 * kMtu);
  expect_ack(1, 1);
  read(1, 1, 0, 10);
  expect_ack(2, 2);
  read(2, 2, 0, 10);  // more than max_dest_rd_atomic outstanding
  for (UnwrappedPsn rpsn = 0; rpsn < 11; ++rpsn) {
    EXPECT_FALSE(responder_->has_ack());
    ASSERT_TRUE(responder_->has_data());
    Packet p;
    responder_->pull_data(p, kNow);
    read_ack(rpsn + 1);
  }
  expect_refusal(2, kNakInvalidRequest);
  EXPECT_TRUE(qp_->failed());
}

TEST_F(IrnReadResponderTest, ReadAcksForWhatWasNeverSentAreIgnored) {
  start(IrnConfig{.bdp_cap = 2});
  read(0, 0, 0, 10 * kMtu);
  Packet p;
  while (responder_->has_data()) responder_->pull_data(p, kNow);
  read_ack(7);
  read_ack(-3);
  EXPECT_FALSE(responder_->has_data());
}

}  // namespace
}  // namespace rocelab
