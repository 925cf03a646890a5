// (READ_)ACK_BLOCKS between two NICs: what they are good for, and what no honest peer would send.
#include <gtest/gtest.h>

#include "base/wire/aeth.h"
#include "base/wire/roce_packet.h"
#include "irn_provider/nic/rc3_pair.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPackets = 40;  // of the message; the four first are TCP's

struct Forged {
  std::uint32_t expected, trigger;
  std::array<std::pair<std::uint32_t, std::uint32_t>, 3> blocks;
  bool stray;
};
// 4 of the first packets and 36 of the last are sent: all 40.
const Forged kForged[] = {
    {0, 39, {{{39, 40}, {0, 0}, {0, 0}}}, false},
    {0, 39, {{{30, 40}, {20, 35}, {31, 32}}}, false},         // overlapping
    {0, 0, {{{7, 7}, {0xffffff, 0xffffff}, {9, 9}}}, false},  // empty
    {0, 39, {{{39, 40}, {9, 8}, {0, 0}}}, true},              // reversed
    {0, 39, {{{39, 41}, {0, 0}, {0, 0}}}, true},              // of a packet that was never sent
    {0, 39, {{{0x700000, 0x700001}, {0, 0}, {0, 0}}}, true},
    {0, 40, {{{39, 40}, {0, 0}, {0, 0}}}, true},
    {41, 39, {{{39, 40}, {0, 0}, {0, 0}}}, true},
};

// From the moment when all has been sent and nothing is answered.
void forge(IrnPair& pair, Endpoint& at, Operation operation, const Forged& forged, std::uint8_t dscp) {
  PacketRef p = at.pool.make();
  RoceHeaders& h = p->roce;
  h.opcode = make_opcode(TransportClass::kIrn, operation);
  h.dest = at.qp, h.psn = Psn(kIrnPsn + forged.expected), h.dscp = dscp, h.syndrome = kAckNoCredits;
  IrnBlocks said{Psn(kIrnPsn + forged.trigger), {}};
  for (std::size_t i = 0; i < 3; ++i)
    said.blocks[i] = {Psn(kIrnPsn + forged.blocks[i].first), Psn(kIrnPsn + forged.blocks[i].second)};
  put_irn_blocks(h, said);
  p->kind = PacketKind::kAck, p->frame_length = 90;
  at.nic.on_packet(std::move(p), pair.now());
}

TEST(Rc3BlocksTest, WhatWasNeverSentIsCountedAndChangesNothing) {
  for (const bool read : {false, true})
    for (const std::uint8_t dscp : std::initializer_list<std::uint8_t>{26, 16, 0})
      for (const Forged& forged : kForged) {
        SCOPED_TRACE(testing::Message() << (read ? "READ" : "WRITE") << " dscp " << int{dscp} << " forged "
                                        << &forged - kForged);
        NicConfig config = rc3_config();
        config.link_delay = 100_us, config.irn.rto_high = 10_ms;
        IrnPair pair(config);
        pair.post_message(read ? WrOpcode::kRead : WrOpcode::kWrite, kPackets * kIrnMtu);
        Endpoint& sender = read ? pair.b : pair.a;
        while (sender.nic.counters().rlp_packets < kPackets - 4) pair.run_until(pair.now() + 10_ns);
        forge(pair, sender, read ? Operation::kReadAckBlocks : Operation::kAckBlocks, forged, dscp);
        EXPECT_EQ(sender.nic.counters().rx_stray_answers, forged.stray);
        pair.run();
        pair.expect_all_delivered();
        EXPECT_EQ(sender.nic.counters().rx_stray_answers, forged.stray);
      }
}

// Of a NIC without RC3 they are what ACK and NACK are.
TEST(Rc3BlocksTest, WithoutRc3TheBlocksAreNotHeard) {
  NicConfig config = irn_config();
  config.link_delay = 100_us;
  IrnPair pair(config);
  pair.post_message(WrOpcode::kWrite, 4 * kIrnMtu);
  while (pair.a.nic.counters().tx_packets < 4) pair.run_until(pair.now() + 10_ns);
  forge(pair, pair.a, Operation::kAckBlocks, {2, 3, {{{3, 4}, {0, 0}, {0, 0}}}, false}, 26);
  pair.run_until(pair.now() + 20_us);
  EXPECT_EQ(pair.retransmitted(0), (std::vector<std::uint32_t>{2}));
  pair.run();
  pair.expect_all_delivered();
}

// Nine of ten answers of lower levels are lost: those that come say what the others were to say. A message of
// many round trips, most of which TCP would send again.
TEST(Rc3BlocksTest, LostAnswersMakeTcpRepeatLittle) {
  for (const WrOpcode opcode : {WrOpcode::kWrite, WrOpcode::kRead}) {
    NicConfig config = rc3_config();
    config.link_delay = 20_us, config.irn.rto_high = 1_ms, config.irn.bitmap_packets = 4'096;
    IrnPair pair(config);
    std::uint64_t answers = 0;
    pair.lose = [&](const Departure& d) {
      return d.packet.kind == PacketKind::kAck && d.packet.roce.dscp != 26 && ++answers % 10 != 0;
    };
    pair.post_message(opcode, 4'000 * kIrnMtu);
    pair.run();
    pair.expect_all_delivered();
    const NicCounters& sender = (opcode == WrOpcode::kRead ? pair.b : pair.a).nic.counters();
    EXPECT_GT(sender.rlp_packets, 700u);
    EXPECT_LE(sender.rlp_repeated, 16u);
    EXPECT_EQ(sender.retransmitted_packets, 0u);
  }
}

}  // namespace
}  // namespace rocelab
