// IrnResponder: packets of RC3's lower levels, which no peer is trusted with either.
#include <gtest/gtest.h>

#include "base/wire/aeth.h"
#include "base/wire/roce_packet.h"
#include "irn_provider/transport/irn_responder_fixture.h"

namespace rocelab {
namespace {

class Rc3ResponderTest : public IrnResponderFixture {
 protected:
  void SetUp() override {
    IrnConfig irn;
    irn.tcp = true, irn.bdp_cap = 0, irn.bitmap_packets = 64;
    config_.rc3 = {4, {config_.roce_dscp, 16, 8, 1}, {4, 16, 64, 0}};
    start(irn);
  }
  Packet low(Operation operation, UnwrappedPsn psn, const std::string& payload, std::uint8_t dscp = 16) {
    Packet p = request(operation, psn, payload);
    p.roce.dscp = dscp;
    return p;
  }
};

TEST_F(Rc3ResponderTest, AnswersLeaveAtTheLevelOfTheirPacketHighestFirst) {
  post_receive(1, 0, 2'000);
  Packet last = low(Operation::kSendLast, 3, "end", 8);
  last.roce.offset = 3;
  deliver(last);
  Packet middle = low(Operation::kSendMiddle, 2, full('c'));
  middle.roce.offset = 2;
  deliver(middle);
  send(Operation::kSendFirst, 0, 0, 0, full('a'));
  ASSERT_TRUE(responder_->has_ack());
  EXPECT_EQ(responder_->next_ack_level(), 0u);
  const Packet own = pull();
  EXPECT_EQ(own.roce.dscp, config_.roce_dscp);
  EXPECT_EQ(own.roce.psn, wrap(kStart + 1));
  EXPECT_EQ(responder_->next_ack_level(), 1u);
  const Packet first = pull();
  EXPECT_EQ(first.roce.dscp, 16);
  EXPECT_EQ(first.roce.sack, wrap(kStart + 2));
  EXPECT_EQ(responder_->next_ack_level(), 2u);
  const Packet second = pull();
  EXPECT_EQ(second.roce.dscp, 8);
  EXPECT_EQ(second.roce.sack, wrap(kStart + 3));
  EXPECT_FALSE(responder_->has_ack());
  Packet hole = low(Operation::kSendMiddle, 1, full('b'), 1);
  hole.roce.offset = 1;
  deliver(hole);
  const Packet all = pull();
  EXPECT_EQ(all.roce.dscp, 1);
  EXPECT_EQ(all.roce.psn, wrap(kStart + 4)) << "the true cumulative value";
  EXPECT_EQ(memory(0, 3 * kMtu + 3), full('a') + full('b') + full('c') + "end");
}

// At every level, as of the moment when it leaves; without a gap a plain ACK.
TEST_F(Rc3ResponderTest, AnswersSayByBlocksWhatIsHeldAboveAGap) {
  const auto write_low = [&](UnwrappedPsn psn, std::uint8_t dscp) {
    Packet p = low(Operation::kWriteMiddle, psn, full('x'), dscp);
    p.roce.va = base() + static_cast<std::uint64_t>(psn) * kMtu, p.roce.rkey = key_;
    p.roce.dma_length = 40 * kMtu;
    deliver(p);
  };
  const auto expect_blocks = [&](UnwrappedPsn expected, UnwrappedPsn trigger,
                                 std::vector<std::pair<UnwrappedPsn, UnwrappedPsn>> blocks) {
    const Packet p = pull();
    EXPECT_EQ(opcode_info(p.roce.opcode).name, "IRN_ACKNOWLEDGE_BLOCKS");
    EXPECT_EQ(p.roce.psn, wrap(kStart + expected));
    IrnBlocks wanted{wrap(kStart + trigger), {}};
    for (std::size_t i = 0; i < blocks.size(); ++i)
      wanted.blocks[i] = {wrap(kStart + blocks[i].first), wrap(kStart + blocks[i].second)};
    EXPECT_EQ(irn_blocks_of(p.roce), wanted) << to_string(irn_blocks_of(p.roce));
  };
  write(Operation::kWriteFirst, 0, 0, full('a'), 40 * kMtu);
  expect_ack(1, 0);
  write_low(39, 16);
  expect_blocks(1, 39, {{39, 40}});
  write_low(20, 16), write_low(38, 16);
  expect_blocks(1, 20, {{38, 40}, {20, 21}});
  expect_blocks(1, 38, {{38, 40}, {20, 21}});
  write(Operation::kWriteMiddle, 1, kMtu, full('b'), 39 * kMtu);  // in order, and there is a gap
  expect_blocks(2, 1, {{38, 40}, {20, 21}});
  write(Operation::kWriteMiddle, 1, kMtu, full('b'), 39 * kMtu);  // again
  expect_blocks(2, 1, {{38, 40}, {20, 21}});
  for (UnwrappedPsn psn = 2; psn < 38; ++psn)
    if (psn != 20) write_low(psn, 8);
  for (int i = 0; i < 35; ++i) {
    const Packet p = pull();
    EXPECT_EQ(p.roce.dscp, 8);
    EXPECT_NE(opcode_info(p.roce.opcode).operation, Operation::kAckBlocks) << "nothing is missing any more";
  }
}

TEST_F(Rc3ResponderTest, WhatWouldBeRefusedIsDroppedAndCounted) {
  deliver(low(Operation::kSendOnly, 0, "no receive WQE"));
  Packet read = low(Operation::kReadRequest, 0, "");
  read.roce.rkey = key_, read.roce.va = base(), read.roce.dma_length = 100;
  deliver(read);
  Packet write = low(Operation::kWriteOnly, 0, "xx");
  write.roce.rkey = RKey{key_.value ^ 1}, write.roce.va = base(), write.roce.dma_length = 2;
  deliver(write);
  EXPECT_EQ(counters_.rlp_refused, 3u);
  EXPECT_FALSE(responder_->has_ack());
  EXPECT_FALSE(qp_->failed());
  deliver(low(Operation::kSendMiddle, 100, full('x')));
  EXPECT_EQ(counters_.rx_beyond_bitmap, 1u);
  EXPECT_FALSE(responder_->has_ack());
}

// A packet that is refused waits for the READ before it to be answered; another one of its PSN comes
// meanwhile.
TEST_F(Rc3ResponderTest, AVerdictThatWaitsEndsWithAnotherPacketOfThatPsn) {
  post_receive(1, 0, 8);
  read(0, 0, 512, kMtu);
  send(Operation::kSendOnly, 1, 0, 0, std::string(16, 'b'));  // too long
  deliver(low(Operation::kSendOnly, 1, "abcd"));
  Packet response;
  responder_->pull_data(response, kNow);
  read_ack(1);
  EXPECT_FALSE(qp_->failed());
  ASSERT_EQ(recv_cq_.depth(), 1u);
  EXPECT_EQ(recv_cq_.poll()->status, WcStatus::kSuccess);
}

}  // namespace
}  // namespace rocelab
