#include "irn_provider/transport/irn_responder.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "base/wire/aeth.h"
#include "irn_provider/transport/qp_context.h"

namespace rocelab {
namespace {

constexpr UnwrappedPsn kStart = 0xFFFFF0;
constexpr std::uint32_t kMtu = 256;
constexpr Time kNow = Time::from_ps(1000);

// One IRN responder without a Nic: requests are made by hand, answers are pulled.
class IrnResponderTest : public ::testing::Test {
 protected:
  void start(IrnConfig irn = {}) {
    config_.mode = TransportMode::kIrn;
    config_.irn = irn;
    qp_.emplace(services_, Qpn{17}, QpInit{}, send_cq_, recv_cq_);
    qp_->attr.state = QpState::kRtr;
    qp_->attr.path_mtu = kMtu;
    qp_->attr.rq_psn = kStart;
    qp_->attr.access_flags = kAccessRemoteWrite | kAccessRemoteRead;
    qp_->attr.max_dest_rd_atomic = 2;
    qp_->path_changed();
    key_ = *regions_.add({Pdn{}, reinterpret_cast<std::uint64_t>(memory_bytes_.data()), base(),
                          memory_bytes_.size(), kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead});
    responder_.emplace(*qp_, receive_queue_);
    responder_->start(kNow);
  }
  static constexpr std::uint64_t base() { return 0x10000; }

  void post_receive(std::uint64_t wr_id, std::uint64_t offset, std::uint32_t length) {
    RecvWqe wqe;
    wqe.wr_id = wr_id;
    wqe.num_sge = 1;
    wqe.sge[0] = {base() + offset, length, key_};
    receive_queue_.post(wqe);
  }
  Packet request(Operation operation, UnwrappedPsn psn, const std::string& payload = "") {
    Packet p;
    p.roce.opcode = make_opcode(TransportClass::kIrn, operation);
    p.roce.psn = wrap(kStart + psn);
    stored_.push_back(payload);
    p.payload = reinterpret_cast<const std::byte*>(stored_.back().data());
    p.payload_length = static_cast<std::uint32_t>(payload.size());
    p.frame_length = 100;
    return p;
  }
  void deliver(const Packet& p) { responder_->on_request(p, opcode_info(p.roce.opcode), kNow); }
  void send(Operation operation, UnwrappedPsn psn, std::uint32_t recv_sn, std::uint32_t offset,
            const std::string& payload, std::uint32_t imm = 0) {
    Packet p = request(operation, psn, payload);
    p.roce.wqe_sn = recv_sn;
    p.roce.offset = offset;
    p.roce.imm = imm;
    deliver(p);
  }
  void write(Operation operation, UnwrappedPsn psn, std::uint64_t offset, const std::string& payload,
             std::uint32_t left, std::uint32_t recv_sn = 0) {
    Packet p = request(operation, psn, payload);
    p.roce.va = base() + offset;
    p.roce.rkey = key_;
    p.roce.dma_length = left;
    p.roce.wqe_sn = recv_sn;
    deliver(p);
  }
  void read(UnwrappedPsn psn, std::uint32_t read_sn, std::uint64_t offset, std::uint32_t length) {
    Packet p = request(Operation::kReadRequest, psn);
    p.roce.va = base() + offset;
    p.roce.rkey = key_;
    p.roce.dma_length = length;
    p.roce.wqe_sn = read_sn;
    deliver(p);
  }
  void read_ack(UnwrappedPsn expected) {
    Packet p = request(Operation::kReadAck, expected);
    responder_->on_read_ack(p, opcode_info(p.roce.opcode), kNow);
  }
  Packet pull() {
    Packet p;
    EXPECT_TRUE(responder_->has_ack());
    if (responder_->has_ack()) responder_->pull_ack(p, kNow);
    return p;
  }
  void expect_ack(UnwrappedPsn expected, std::uint32_t msn) {
    const Packet p = pull();
    EXPECT_EQ(opcode_info(p.roce.opcode).name, "IRN_ACKNOWLEDGE");
    EXPECT_EQ(p.roce.psn, wrap(kStart + expected));
    EXPECT_EQ(p.roce.msn.value, msn);
    EXPECT_TRUE(is_ack(p.roce.syndrome));
  }
  void expect_nack(UnwrappedPsn expected, UnwrappedPsn sack) {
    const Packet p = pull();
    EXPECT_EQ(opcode_info(p.roce.opcode).name, "IRN_NACK");
    EXPECT_EQ(p.roce.psn, wrap(kStart + expected));
    EXPECT_EQ(p.roce.sack, wrap(kStart + sack));
  }
  void expect_refusal(UnwrappedPsn psn, std::uint8_t syndrome) {
    const Packet p = pull();
    EXPECT_EQ(opcode_info(p.roce.opcode).name, "IRN_ACKNOWLEDGE");
    EXPECT_EQ(p.roce.psn, wrap(kStart + psn));
    EXPECT_EQ(p.roce.syndrome, syndrome);
  }
  std::string memory(std::uint64_t offset, std::size_t length) const {
    return std::string(reinterpret_cast<const char*>(memory_bytes_.data()) + offset, length);
  }
  static std::string full(char c) { return std::string(kMtu, c); }

  NicConfig config_;
  NicCounters counters_;
  MemoryRegions regions_{16};
  ProcessMemory memory_;
  NullTrace trace_;
  std::uint64_t completions_ = 0;
  NicServices services_{config_, counters_, regions_, memory_, trace_, completions_};
  CompletionQueue send_cq_{100}, recv_cq_{100};
  ReceiveQueue receive_queue_{100};
  std::optional<QpContext> qp_;
  std::optional<IrnResponder> responder_;
  std::vector<std::byte> memory_bytes_ = std::vector<std::byte>(1 << 16);
  std::deque<std::string> stored_;
  RKey key_;
};

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

TEST_F(IrnResponderTest, WqeNumbersThatRunAheadOfTheirPsnsAreRefused) {
  start();
  for (std::uint64_t i = 0; i < 10; ++i) post_receive(i, 0, 100);
  send(Operation::kSendOnly, 1, 2, 0, "x");
  EXPECT_EQ(counters_.probe_drops, 1u);
  send(Operation::kSendOnly, 0, 1, 0, "x");
  expect_refusal(0, kNakInvalidRequest);
}

// --- READ

TEST_F(IrnResponderTest, AReadOutOfOrderWaitsUntilEverythingBeforeItHasArrived) {
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

TEST_F(IrnResponderTest, ReadsBeyondTheReadWqeBufferAreDiscardedOutOfOrderAndRefusedInOrder) {
  start();
  read(3, 2, 0, 10);
  EXPECT_FALSE(responder_->has_ack());
  EXPECT_EQ(counters_.probe_drops, 1u);
  read(2, 0x900000, 0, 10);
  EXPECT_EQ(counters_.probe_drops, 2u);
  read(0, 1, 0, 10);
  expect_refusal(0, kNakInvalidRequest);
}

TEST_F(IrnResponderTest, ReadResponsesObeyTheBdpCapAndResumeWithReadAcks) {
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

TEST_F(IrnResponderTest, AReadNackResendsTheHoleAndTheTimerTheRest) {
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

TEST_F(IrnResponderTest, ARequestImpliesThatTheReadItsSlotHeldIsComplete) {
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

TEST_F(IrnResponderTest, AReadWhoseSlotStillHasUnsentResponsesIsRefused) {
  start(IrnConfig{.bdp_cap = 1});
  read(0, 0, 0, 10 * kMtu);
  expect_ack(1, 1);
  read(1, 1, 0, 10);
  expect_ack(2, 2);
  read(2, 2, 0, 10);  // more than max_dest_rd_atomic outstanding
  expect_refusal(2, kNakInvalidRequest);
}

TEST_F(IrnResponderTest, ReadAcksForWhatWasNeverSentAreIgnored) {
  start(IrnConfig{.bdp_cap = 2});
  read(0, 0, 0, 10 * kMtu);
  Packet p;
  while (responder_->has_data()) responder_->pull_data(p, kNow);
  read_ack(7);
  read_ack(-3);
  EXPECT_FALSE(responder_->has_data());
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
