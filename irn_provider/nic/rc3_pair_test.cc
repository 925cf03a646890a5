// RC3 between two NICs: whatever is lost of any level, messages arrive once, whole, and complete in order.
#include "irn_provider/nic/rc3_pair.h"

#include <gtest/gtest.h>

#include <set>

namespace rocelab {
namespace {

constexpr std::uint8_t kLower = 26;  // DSCPs below it are of lower levels

unsigned level_of(const Packet& packet) { return 3u - packet.roce.dscp / 8u; }

void expect_once_each_at_lower_levels(const IrnPair& pair) {
  std::set<std::uint32_t> sent[2][2];  // by side; requests, READ responses
  for (const Departure& d : pair.log) {
    if (d.packet.kind != PacketKind::kData || d.packet.roce.dscp == kLower) continue;
    const bool response = opcode_info(d.packet.roce.opcode).is_read_response();
    EXPECT_TRUE(sent[d.side][response].insert(d.packet.roce.psn.value()).second) << d.packet.roce.psn.value();
  }
}

constexpr std::uint32_t kPackets = 18;  // fewer than a round trip holds

// The first four by TCP, the others from the last one on in levels of 2, 4 and more; answers as they come.
void expect_from_both_ends(const std::vector<std::pair<std::uint32_t, unsigned>>& sent,
                           const std::vector<unsigned>& answered) {
  ASSERT_GE(sent.size(), kPackets);
  ASSERT_GE(answered.size(), kPackets);
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    const std::uint32_t psn = i < 4 ? i : kPackets + 3 - i;
    const unsigned level = i < 4 ? 0 : i < 6 ? 1 : i < 10 ? 2 : 3;
    EXPECT_EQ(sent[i], std::pair(psn, level)) << i;
    EXPECT_EQ(answered[i], level) << i;
  }
}

// 2.1.1 and 2.3.1, by what is on the wire: four packets of TCP, then the rest from the end, each answered at
// its own level.
TEST(Rc3PairTest, AMessageLeavesFromBothEnds) {
  NicConfig config = rc3_config();
  config.rc3.packets = {2, 4, 64, 0};
  IrnPair pair(config);
  pair.post_message(WrOpcode::kWrite, kPackets * kIrnMtu);
  pair.run();
  pair.expect_all_delivered();
  std::vector<std::pair<std::uint32_t, unsigned>> sent;
  std::vector<unsigned> answered;
  for (const Departure& d : pair.log)
    if (d.packet.kind == PacketKind::kData) {
      sent.emplace_back((d.packet.roce.psn.value() - kIrnPsn) & Psn::kMask, level_of(d.packet));
    } else {
      answered.push_back(level_of(d.packet));
    }
  expect_from_both_ends(sent, answered);
  EXPECT_EQ(pair.a.nic.counters().rlp_packets, kPackets - 4);
  EXPECT_EQ(pair.b.nic.counters().spurious_retransmissions, pair.a.nic.counters().rlp_repeated);
  EXPECT_EQ(pair.a.nic.counters().retransmitted_packets, 0u);
}

TEST(Rc3PairTest, APacketOrTwoHaveNoSecondLoop) {
  IrnPair pair(rc3_config());
  for (const WrOpcode opcode : kAllOperations) pair.post_message(opcode, 100);
  pair.run();
  pair.expect_all_delivered();
  EXPECT_EQ(pair.a.nic.counters().rlp_packets + pair.b.nic.counters().rlp_packets, 0u);
}

// A program that has chosen a class for its queue pair has TCP alone.
TEST(Rc3PairTest, AQueuePairOfAnotherClassIsTcp) {
  IrnPair pair(rc3_config());
  pair.attr.path.traffic_class = 46 << 2;
  pair.bring_down_and_up();
  pair.post_message(WrOpcode::kWrite, 30 * kIrnMtu);
  pair.run();
  pair.expect_all_delivered();
  EXPECT_EQ(pair.a.nic.counters().rlp_packets, 0u);
}

// Of two ends that rdma_cm connects one has no receiver of RC3's: neither answers by blocks.
TEST(Rc3PairTest, EndsThatHaveNotAgreedOnItHaveTcpAlone) {
  IrnPair pair(rc3_config());
  pair.attr.without_rc3 = true;
  pair.bring_down_and_up();
  pair.lose = lose_data(0, {2});
  pair.post_message(WrOpcode::kWrite, 30 * kIrnMtu);
  pair.run();
  pair.expect_all_delivered();
  EXPECT_EQ(pair.a.nic.counters().rlp_packets, 0u);
  EXPECT_NE(pair.story(1, kIrnPsn).find("IRN_NACK"), std::string::npos);
  EXPECT_EQ(pair.story(1, kIrnPsn).find("BLOCKS"), std::string::npos);
}

struct Losses {
  double tcp, low, answers;
};

void drive(IrnPair& pair, Rng& rng, int messages, bool late) {
  for (int i = 0; i < messages; ++i) {
    const WrOpcode opcode = kAllOperations[rng.below(5)];
    const auto packets = static_cast<std::uint32_t>(rng.bernoulli(0.6) ? rng.below(4) : rng.below(60));
    const bool waits = late && rng.bernoulli(0.5);
    pair.post_message(opcode, packets * kIrnMtu + static_cast<std::uint32_t>(rng.below(kIrnMtu)), waits);
    if (rng.bernoulli(0.3)) pair.post_back(static_cast<std::uint32_t>(rng.below(20 * kIrnMtu)));
    if (rng.bernoulli(0.3))
      pair.run_until(pair.now() + Duration::from_ps(static_cast<std::int64_t>(rng.below(30'000'000))));
    if (rng.bernoulli(0.5)) pair.post_receives();
  }
  pair.post_receives();
  pair.run();
}

TEST(Rc3PairTest, EverythingArrivesOnceWholeAndInOrder) {
  const Losses networks[] = {{0, 0, 0},      {0, 0.3, 0},     {0, 1, 0},        {0.05, 0.05, 0.05},
                             {0.02, 0.5, 0}, {0.1, 0.3, 0.3}, {0.02, 0.02, 0.9}};
  std::uint64_t ahead = 0, repeated = 0, responses = 0;
  for (const Losses& network : networks)
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      SCOPED_TRACE(testing::Message() << "loss " << network.tcp << '/' << network.low << '/'
                                      << network.answers << " seed " << seed);
      Rng rng(seed);
      IrnPair pair(rc3_config(seed % 3 == 0 ? 32 : 256));
      pair.lose = [&rng, network](const Departure& d) {
        const bool low = d.packet.roce.dscp != kLower;
        const double answers = low ? network.answers : network.tcp;
        return rng.bernoulli(d.packet.kind == PacketKind::kAck ? answers : low ? network.low : network.tcp);
      };
      drive(pair, rng, 30, seed % 2 == 0);
      pair.expect_all_delivered();
      expect_once_each_at_lower_levels(pair);
      responses += pair.b.nic.counters().rlp_packets;
      ahead += pair.a.nic.counters().rlp_packets, repeated += pair.a.nic.counters().rlp_repeated;
      if (HasFailure()) return;
    }
  EXPECT_GT(ahead, 5'000u);
  EXPECT_GT(responses, 1'000u);
  EXPECT_GT(repeated, 100u);
}

// READ responses leave from both ends, too: 18 that a round trip holds, answered at their levels, by blocks
// while there is a gap.
TEST(Rc3PairTest, ResponsesLeaveFromBothEnds) {
  NicConfig config = rc3_config();
  config.rc3.packets = {2, 4, 64, 0};
  IrnPair pair(config);
  pair.post_message(WrOpcode::kRead, kPackets * kIrnMtu);
  pair.run();
  pair.expect_all_delivered();
  std::vector<std::pair<std::uint32_t, unsigned>> sent;
  std::vector<unsigned> answered;
  std::uint32_t blocks = 0;
  for (const Departure& d : pair.log) {
    const OpcodeInfo& info = opcode_info(d.packet.roce.opcode);
    if (info.is_read_response())
      sent.emplace_back((d.packet.roce.psn.value() - kIrnPsn) & Psn::kMask, level_of(d.packet));
    if (info.role == Role::kReadAck) answered.push_back(level_of(d.packet));
    blocks += info.operation == Operation::kReadAckBlocks;
  }
  expect_from_both_ends(sent, answered);
  EXPECT_EQ(blocks, kPackets - 5) << "all but those that find no gap: to the first four, and to the last";
  EXPECT_EQ(pair.b.nic.counters().rlp_packets, kPackets - 4);
  EXPECT_EQ(pair.b.nic.counters().retransmitted_packets, 0u);
}

// A receiver without WQEs drops what comes at lower levels, counts it, and refuses the primary's copy only.
TEST(Rc3PairTest, WithoutReceiveWqesOnlyThePrimaryIsRefused) {
  IrnPair pair(rc3_config());
  pair.post_message(WrOpcode::kSend, 30 * kIrnMtu, true);
  pair.run_until(pair.now() + 30_us);
  EXPECT_GT(pair.b.nic.counters().rlp_refused, 0u);
  EXPECT_EQ(pair.b.nic.counters().out_of_buffer, 1u);
  pair.post_receives();
  pair.run();
  pair.expect_all_delivered();
}

// Messages behind one that waits (a fence, a READ before it) are not sent ahead of it.
TEST(Rc3PairTest, TheLoopDoesNotPassAFence) {
  IrnPair pair(rc3_config());
  pair.post_message(WrOpcode::kRead, 40 * kIrnMtu);
  SendWqe fenced = pair.wqe(WrOpcode::kWrite, 300 * kIrnMtu, 300 * kIrnMtu, 20 * kIrnMtu, 900);
  fenced.fence = true;
  ASSERT_EQ(pair.post(fenced), PostResult::kOk);
  pair.run();
  bool read_done = false;
  for (const Cqe& cqe : pair.a.cqes) {
    EXPECT_EQ(cqe.status, WcStatus::kSuccess);
    if (cqe.opcode == WcOpcode::kRead) read_done = true;
    if (cqe.opcode == WcOpcode::kWrite) {
      EXPECT_TRUE(read_done);
    }
  }
  Time first_write = Time::never(), last_response;
  for (const Departure& d : pair.log) {
    if (d.side == 0 && d.packet.payload_length > 0) first_write = std::min(first_write, d.at);
    if (d.side == 1 && d.packet.payload_length > 0) last_response = std::max(last_response, d.at);
  }
  EXPECT_GT(first_write, last_response);
}

// RC3 is decided when a queue pair is connected: another class later changes nothing about it.
TEST(Rc3PairTest, APathThatChangesChangesNoLevels) {
  IrnPair pair(rc3_config());
  pair.attr.path.traffic_class = 46 << 2;
  pair.bring_down_and_up();
  for (Endpoint* end : {&pair.a, &pair.b}) {
    QpAttr attr = *end->nic.query_qp(end->qp);
    for (const auto& [state, traffic_class] :
         {std::pair(QpState::kSqd, 46 << 2), std::pair(QpState::kSqd, 0), std::pair(QpState::kRts, 0)}) {
      attr.state = state, attr.path.traffic_class = static_cast<std::uint8_t>(traffic_class);
      ASSERT_TRUE(end->nic.modify_qp(end->qp, attr, pair.now()));
    }
  }
  pair.post_message(WrOpcode::kWrite, 30 * kIrnMtu);
  pair.run();
  pair.expect_all_delivered();
  EXPECT_EQ(pair.a.nic.counters().rlp_packets, 0u);
}

// Of one queue pair, too, a higher level goes first: while responses may leave, packets of the loop do not
// take turns with them.
TEST(Rc3PairTest, ReadResponsesDoNotWaitForTheLoop) {
  NicConfig config = rc3_config(1'024);
  config.link_delay = 50_us, config.irn.rto_high = 10_ms;
  config.cc.get<Aimd>()->initial_window = 64;
  IrnPair pair(config);
  ASSERT_EQ(pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 900 * kIrnMtu)), PostResult::kOk);
  pair.run_until(pair.now() + 20_us);  // TCP's window is out, and the loop sends
  SendWqe read;
  read.wr_id = 5, read.opcode = WrOpcode::kRead, read.num_sge = 1;
  read.sge[0] = {pair.b.addr(1 << 20), 60 * kIrnMtu, pair.b.key};
  read.remote_addr = pair.a.addr(2 << 20), read.rkey = pair.a.key;
  ASSERT_EQ(pair.b.nic.post_send(pair.b.qp, read, pair.now()), PostResult::kOk);
  pair.run();
  std::string order;  // of a's data: R a response, l a packet of the loop
  for (const Departure& d : pair.log)
    if (d.side == 0 && d.packet.payload_length > 0)
      order += opcode_info(d.packet.roce.opcode).is_read_response() ? 'R'
               : level_of(d.packet) > 0                             ? 'l'
                                                                    : 'W';
  EXPECT_NE(order.find("Rl"), std::string::npos) << "the loop has more to send: " << order;
  EXPECT_NE(order.find(std::string(60, 'R')), std::string::npos) << order;
}

}  // namespace
}  // namespace rocelab
