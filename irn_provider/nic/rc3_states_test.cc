// RC3's second loop and what ends, holds or refuses messages that it has begun: SQD, ERR, RESET, and a shared
// receive queue.
#include <gtest/gtest.h>

#include "irn_provider/nic/rc3_pair.h"
#include "irn_provider/nic/srq_pair.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPackets = 40;  // of each message; the four first are TCP's
constexpr std::uint8_t kPrimary = 26;   // DSCP

std::uint32_t number_of(const Departure& d) {
  return ((d.packet.roce.psn.value() - kIrnPsn) & Psn::kMask) / kPackets;
}
bool is_data(const Departure& d) { return d.side == 0 && d.packet.kind == PacketKind::kData; }
bool is_low(const Departure& d) { return is_data(d) && d.packet.roce.dscp < kPrimary; }

// Three messages, of the last of which nothing has left.
class Rc3StatesTest : public ::testing::Test {
 protected:
  void begin() {
    for (int i = 0; i < 3; ++i) pair_.post_message(WrOpcode::kWrite, kPackets * kIrnMtu);
    while (pair_.a.nic.counters().rlp_packets < 6) pair_.run_until(pair_.now() + 10_ns);
    for (const Departure& d : pair_.sent(is_data)) begun_ = std::max(begun_, number_of(d) + 1);
    ASSERT_EQ(begun_, 2u) << "four low packets of the first one, then two of the second one";
  }
  void move_to(QpState state) {
    QpAttr attr = *pair_.a.nic.query_qp(pair_.a.qp);
    attr.state = state;
    ASSERT_TRUE(pair_.a.nic.modify_qp(pair_.a.qp, attr, pair_.now()));
  }

  IrnPair pair_{rc3_config()};
  std::uint32_t begun_ = 0;
};

// Of messages that the loop has begun TCP sends the rest.
TEST_F(Rc3StatesTest, SqdLetsMessagesEndThatTheLoopHasBegunAndBeginsNone) {
  begin();
  move_to(QpState::kSqd);
  pair_.run_until(pair_.now() + 2_ms);
  EXPECT_EQ(pair_.a.cqes.size(), begun_);
  for (const Departure& d : pair_.sent(is_data)) ASSERT_LT(number_of(d), begun_);
  EXPECT_EQ(pair_.a.nic.counters().rlp_packets, 6u);
  move_to(QpState::kRts);
  pair_.run();
  pair_.expect_all_delivered();
}

TEST_F(Rc3StatesTest, ErrFlushesAllAndTheLoopSendsNoMore) {
  begin();
  const std::size_t sent = pair_.sent(is_data).size();
  move_to(QpState::kErr);
  pair_.run();
  EXPECT_EQ(pair_.sent(is_data).size(), sent);
  ASSERT_EQ(pair_.a.cqes.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(pair_.a.cqes[i].wr_id, i + 1);
    EXPECT_EQ(pair_.a.cqes[i].status, WcStatus::kWrFlushErr);
  }
}

TEST_F(Rc3StatesTest, ResetForgetsTheLoopAndWhatComesLaterHasOneOfItsOwn) {
  begin();
  const std::size_t sent = pair_.sent(is_data).size();
  pair_.bring_down_and_up(kIrnPsn + 0x10000);  // what is still on the link is far from these
  pair_.run_until(pair_.now() + 1_ms);
  EXPECT_EQ(pair_.sent(is_data).size(), sent) << "nothing of before leaves";
  EXPECT_TRUE(pair_.a.cqes.empty());
  const std::size_t low = pair_.sent(is_low).size();
  ASSERT_EQ(pair_.post(pair_.wqe(WrOpcode::kWrite, 0, 0, kPackets * kIrnMtu, 9)), PostResult::kOk);
  pair_.run();
  ASSERT_EQ(pair_.a.cqes.size(), 1u);
  EXPECT_EQ(pair_.a.cqes[0].status, WcStatus::kSuccess);
  IrnPair fresh(rc3_config());
  fresh.post_message(WrOpcode::kWrite, kPackets * kIrnMtu);
  fresh.run();
  EXPECT_EQ(pair_.sent(is_low).size() - low, fresh.sent(is_low).size());
}

// A WQE of a shared queue belongs to whoever takes it: packets far ahead of a message whose front is lost
// take none, so that another queue pair's message gets it.
TEST(Rc3SrqTest, PacketsOfLowerLevelsTakeNoWqeOfASharedQueue) {
  SrqPair pair(rc3_config(), QpType::kRc);
  const auto second = pair.add_connection();
  pair.post_shared(0, kPackets * kIrnMtu, 7);
  pair.lose = [&](const Departure& d) {
    return is_data(d) && !is_low(d) && d.packet.flow == pair.a.qp.value && pair.b.cqes.empty();
  };
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, kPackets * kIrnMtu, 1));
  pair.run_until(pair.now() + 20_us);
  EXPECT_EQ(pair.a.nic.counters().rlp_packets, kPackets - 4);
  EXPECT_EQ(pair.b.nic.counters().rlp_refused, kPackets - 4);
  ASSERT_EQ(pair.a.nic.post_send(second.first, pair.wqe(WrOpcode::kSend, 0, 0, 10, 2), pair.now()),
            PostResult::kOk);
  pair.run_until(pair.now() + 20_us);
  ASSERT_EQ(pair.b.cqes.size(), 1u);
  EXPECT_EQ(pair.b.cqes[0].qpn, second.second);
  pair.post_shared(0, kPackets * kIrnMtu, 8);
  pair.run();
  ASSERT_EQ(pair.b.cqes.size(), 2u);
  EXPECT_EQ(pair.b.cqes[1].qpn, pair.b.qp);
  EXPECT_EQ(pair.b.cqes[1].status, WcStatus::kSuccess);
}

}  // namespace
}  // namespace rocelab
