#include "irn_provider/transport/irn_responder_fixture.h"

namespace rocelab {
namespace {

class IrnResponderTest : public IrnResponderFixture {};

TEST_F(IrnResponderTest, AcknowledgesEveryPacketWithTheCumulativeValue) {
  start();
  write(Operation::kWriteFirst, 0, 0, full('a'), kMtu + 3);
  expect_ack(1, 0);
  write(Operation::kWriteLast, 1, kMtu, "bcd", 3);
  expect_ack(2, 1);
  EXPECT_EQ(memory(0, kMtu + 3), full('a') + "bcd");
  EXPECT_FALSE(responder_->has_ack());
}

TEST_F(IrnResponderTest, PlacesWritesOutOfOrderAndNacksEachWithItsOwnPsn) {
  start();
  write(Operation::kWriteLast, 2, 2 * kMtu, "end", 3);
  EXPECT_EQ(memory(2 * kMtu, 3), "end") << "straight into application memory";
  expect_nack(0, 2);
  write(Operation::kWriteMiddle, 1, kMtu, full('m'), kMtu + 3);
  expect_nack(0, 1);
  write(Operation::kWriteFirst, 0, 0, full('f'), 2 * kMtu + 3);
  expect_ack(3, 1);
  EXPECT_EQ(memory(0, 2 * kMtu + 3), full('f') + full('m') + "end");
  EXPECT_EQ(counters_.ooo_placed_packets, 2u);
  EXPECT_EQ(counters_.out_of_sequence, 2u);
}

TEST_F(IrnResponderTest, ASendFindsItsReceiveWqeByNumberAndItsPlaceByOffset) {
  start();
  post_receive(100, 0, 1000);
  post_receive(101, 2000, 1000);
  send(Operation::kSendLastImm, 3, 1, 1, "tail", 77);
  send(Operation::kSendFirst, 2, 1, 0, full('s'));
  EXPECT_EQ(memory(2000, kMtu + 4), full('s') + "tail");
  EXPECT_EQ(recv_cq_.depth(), 0u);
  EXPECT_EQ(counters_.premature_cqes, 1u);
}

TEST_F(IrnResponderTest, APrematureCqeIsHeldUntilTheHoleBeforeItIsFilledAndKeepsTheOrder) {
  start();
  for (std::uint64_t i = 0; i < 3; ++i) post_receive(100 + i, 1000 * i, 1000);
  send(Operation::kSendOnlyImm, 1, 1, 0, "second", 2);
  send(Operation::kSendOnly, 2, 2, 0, "third");
  EXPECT_EQ(recv_cq_.depth(), 0u);
  EXPECT_EQ(receive_queue_.size(), 3u) << "not consumed yet";
  send(Operation::kSendOnlyImm, 0, 0, 0, "first one", 1);
  ASSERT_EQ(recv_cq_.depth(), 3u);
  const Cqe a = *recv_cq_.poll(), b = *recv_cq_.poll(), c = *recv_cq_.poll();
  EXPECT_EQ(a.wr_id, 100u);
  EXPECT_EQ(a.byte_len, 9u);
  EXPECT_EQ(a.imm, 1u);
  EXPECT_EQ(b.wr_id, 101u);
  EXPECT_EQ(b.byte_len, 6u);
  EXPECT_EQ(b.imm, 2u);
  EXPECT_TRUE(b.has_imm);
  EXPECT_EQ(c.wr_id, 102u);
  EXPECT_EQ(c.byte_len, 5u);
  EXPECT_FALSE(c.has_imm);
  expect_nack(0, 1);
  expect_nack(0, 2);
  expect_ack(3, 3);
  EXPECT_EQ(counters_.premature_cqes, 2u);
}

TEST_F(IrnResponderTest, AWriteWithImmediateConsumesItsReceiveWqeOnlyInOrder) {
  start();
  post_receive(100, 0, 0);
  write(Operation::kWriteLastImm, 1, kMtu, "x", 1, 0);
  EXPECT_EQ(recv_cq_.depth(), 0u);
  write(Operation::kWriteFirst, 0, 0, full('w'), kMtu + 1);
  ASSERT_EQ(recv_cq_.depth(), 1u);
  const Cqe cqe = *recv_cq_.poll();
  EXPECT_EQ(cqe.opcode, WcOpcode::kRecvWriteImm);
  EXPECT_EQ(cqe.byte_len, kMtu + 1) << "the whole message, although its last packet came first";
}

TEST_F(IrnResponderTest, WithoutAReceiveWqeAProbeIsDroppedSilentlyOutOfOrderAndDrawsRnrInOrder) {
  start();
  post_receive(100, 0, 1000);
  send(Operation::kSendOnly, 1, 1, 0, "probe");
  EXPECT_FALSE(responder_->has_ack());
  EXPECT_EQ(counters_.probe_drops, 1u);
  EXPECT_EQ(memory(0, 5), std::string(5, '\0')) << "not into the first message's buffer";
  send(Operation::kSendOnly, 0, 0, 0, "first");
  expect_ack(1, 1);
  send(Operation::kSendOnly, 1, 1, 0, "probe");
  expect_refusal(1, rnr_syndrome(qp_->attr.min_rnr_timer));
  EXPECT_EQ(counters_.out_of_buffer, 1u);
  post_receive(101, 1000, 1000);
  send(Operation::kSendOnly, 1, 1, 0, "probe");
  expect_ack(2, 2);
  EXPECT_FALSE(qp_->failed());
}

TEST_F(IrnResponderTest, WhatWouldDrawAnErrorNakIsDiscardedOutOfOrderAndRefusedInOrder) {
  start();
  const std::uint64_t outside = memory_bytes_.size() - 1;
  write(Operation::kWriteOnly, 1, outside, "ab", 2);
  EXPECT_FALSE(responder_->has_ack());
  EXPECT_EQ(counters_.probe_drops, 1u);
  EXPECT_FALSE(qp_->failed());
  write(Operation::kWriteOnly, 0, 0, "ok", 2);
  expect_ack(1, 1);
  write(Operation::kWriteOnly, 1, outside, "ab", 2);
  expect_refusal(1, kNakRemoteAccess);
  EXPECT_TRUE(qp_->failed());
}

TEST_F(IrnResponderTest, ASendLongerThanItsReceiveWqeEndsTheQpWithALengthError) {
  start();
  post_receive(100, 0, kMtu + 2);
  send(Operation::kSendFirst, 0, 0, 0, full('a'));
  send(Operation::kSendLast, 1, 0, 1, "abc");
  expect_ack(1, 0);
  expect_refusal(1, kNakInvalidRequest);
  ASSERT_EQ(recv_cq_.depth(), 1u);
  EXPECT_EQ(recv_cq_.poll()->status, WcStatus::kLocLenErr);
  EXPECT_EQ(counters_.resp_local_length_error, 1u);
  EXPECT_TRUE(qp_->failed());
}

TEST_F(IrnResponderTest, DuplicatesAreCountedAndAnsweredButNotExecuted) {
  start();
  write(Operation::kWriteOnly, 0, 0, "one", 3);
  write(Operation::kWriteOnly, 2, 8, "two", 3);
  memory_bytes_[0] = memory_bytes_[8] = std::byte{'!'};
  write(Operation::kWriteOnly, 0, 0, "one", 3);
  write(Operation::kWriteOnly, 2, 8, "two", 3);
  expect_ack(1, 1);
  expect_nack(1, 2);
  expect_ack(1, 1);
  expect_nack(1, 2);
  EXPECT_EQ(counters_.spurious_retransmissions, 2u);
  EXPECT_EQ(memory(0, 1) + memory(8, 1), "!!");
}

TEST_F(IrnResponderTest, PacketsBeyondTheBitmapAreDroppedAndCounted) {
  start(IrnConfig{.bdp_cap = 4});
  write(Operation::kWriteOnly, 3, 0, "in", 2);
  expect_nack(0, 3);
  write(Operation::kWriteOnly, 4, 8, "no", 2);
  EXPECT_FALSE(responder_->has_ack());
  EXPECT_EQ(counters_.rx_beyond_bitmap, 1u);
  EXPECT_EQ(memory(8, 2), std::string(2, '\0'));
}

TEST_F(IrnResponderTest, AnswersCarryTheReceiveWqesThatRemainAsCredits) {
  start();
  for (std::uint64_t i = 0; i < 8; ++i) post_receive(i, 0, 100);
  send(Operation::kSendOnly, 0, 0, 0, "a");
  EXPECT_EQ(credits_of(pull().roce.syndrome), 6u) << "7 remain; table 46 has 6 and 8";
  send(Operation::kSendOnly, 1, 1, 0, "b");
  EXPECT_EQ(credits_of(pull().roce.syndrome), 6u);
  send(Operation::kSendOnly, 2, 2, 0, "c");
  EXPECT_EQ(credits_of(pull().roce.syndrome), 4u);
}

TEST_F(IrnResponderTest, MessagesThatContradictTheirNumbersEndTheQp) {
  start();
  post_receive(100, 0, 1000);
  post_receive(101, 1000, 1000);
  send(Operation::kSendOnly, 1, 0, 0, "says that it is the first");
  send(Operation::kSendOnly, 0, 0, 0, "first");
  expect_nack(0, 1);
  expect_refusal(1, kNakInvalidRequest);
  EXPECT_TRUE(qp_->failed());
}

// IBTA 9.7.4.1.3, as far as order tells: what has come out of order is not looked at again.
TEST_F(IrnResponderTest, AMessageThatBeginsInItsMiddleOrInAnotherIsRefused) {
  start();
  write(Operation::kWriteMiddle, 0, 0, full('m'), 3 * kMtu);
  expect_refusal(0, kNakInvalidRequest);
  EXPECT_EQ(memory(0, 1), std::string(1, '\0'));
  start();
  write(Operation::kWriteFirst, 0, 0, full('f'), 3 * kMtu);
  expect_ack(1, 0);
  write(Operation::kWriteOnly, 1, 0, "only", 4);
  expect_refusal(1, kNakInvalidRequest);
  start();
  write(Operation::kWriteFirst, 0, 0, full('f'), 3 * kMtu);
  expect_ack(1, 0);
  read(1, 0, 0, 10);
  expect_refusal(1, kNakInvalidRequest);
}

TEST_F(IrnResponderTest, WqeNumbersThatRunAheadOfTheirPsnsAreRefused) {
  start();
  for (std::uint64_t i = 0; i < 10; ++i) post_receive(i, 0, 100);
  send(Operation::kSendOnly, 1, 2, 0, "x");
  EXPECT_EQ(counters_.probe_drops, 1u);
  send(Operation::kSendOnly, 0, 1, 0, "x");
  expect_refusal(0, kNakInvalidRequest);
}

TEST_F(IrnResponderTest, GoBackNNacksOnceAndPlacesNothingOutOfOrder) {
  start(IrnConfig{.go_back_n = true});
  write(Operation::kWriteOnly, 1, 0, "early", 5);
  write(Operation::kWriteOnly, 2, 0, "early", 5);
  expect_nack(0, 1);
  EXPECT_FALSE(responder_->has_ack());
  EXPECT_EQ(memory(0, 5), std::string(5, '\0'));
  write(Operation::kWriteOnly, 0, 8, "first", 5);
  expect_ack(1, 1);
}

}  // namespace
}  // namespace rocelab
