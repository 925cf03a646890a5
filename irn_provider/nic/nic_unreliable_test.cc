// Unreliable connections and datagrams between two Nics, in both modes (IRN is a law of reliable connections:
// UC and UD are the same in either). IBTA Vol 1, 9.8; 10.3.1 (SQE).
#include <gtest/gtest.h>

#include "base/wire/controls.h"
#include "base/wire/pfc.h"
#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPsn = 0xfffff0, kMtu = 1024;

class UnreliablePair : public NicPair {
 public:
  UnreliablePair(TransportMode mode, QpType qp_type) : NicPair(config_of(mode)) {
    type = qp_type;
    attr.qkey = 0x11111111;
    if (qp_type == QpType::kUd) attr.path_mtu = config.active_mtu;
    connect(kPsn);
    ah = *a.nic.create_ah(a.pd, attr.path);
  }
  SendWqe datagram(std::uint32_t length, std::uint64_t wr_id = 1, WrOpcode opcode = WrOpcode::kSend) {
    SendWqe w = wqe(opcode, 0, 0, length, wr_id);
    w.ah = ah, w.remote_qpn = b.qp, w.remote_qkey = 0x11111111;
    return w;
  }
  Ahn ah;
};

class NicUnreliableTest : public testing::TestWithParam<TransportMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, NicUnreliableTest, testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

// --- UC

TEST_P(NicUnreliableTest, UcSendsAndWritesWithoutAnAnswer) {
  UnreliablePair pair(GetParam(), QpType::kUc);
  pair.a.fill(0, 5000, 1);
  pair.post_receive(0, 5000, 50);
  pair.post_receive(0, 0, 51);
  pair.post(pair.wqe(WrOpcode::kSendImm, 0, 0, 2 * kMtu + 10, 1));
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 10'000, 5000, 2));
  pair.post(pair.wqe(WrOpcode::kWriteImm, 0, 20'000, 100, 3));
  pair.run();
  EXPECT_EQ(pair.story(0, kPsn),
            "UC_SEND_FIRST+0 UC_SEND_MIDDLE+1 UC_SEND_LAST_WITH_IMMEDIATE+2 UC_RDMA_WRITE_FIRST+3 "
            "UC_RDMA_WRITE_MIDDLE+4 UC_RDMA_WRITE_MIDDLE+5 UC_RDMA_WRITE_MIDDLE+6 UC_RDMA_WRITE_LAST+7 "
            "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE+8");
  EXPECT_EQ(pair.story(1, kPsn), "");
  for (const Departure& d : pair.log) EXPECT_FALSE(d.packet.roce.ack_req);
  ASSERT_EQ(pair.b.cqes.size(), 2u);
  EXPECT_EQ(pair.b.cqes[0].byte_len, 2 * kMtu + 10);
  EXPECT_EQ(pair.b.cqes[0].imm, 0xabcd0123u);
  EXPECT_EQ(pair.b.cqes[1].opcode, WcOpcode::kRecvWriteImm);
  EXPECT_EQ(std::memcmp(pair.b.bytes.data(), pair.a.bytes.data(), 2 * kMtu + 10), 0);
  EXPECT_EQ(std::memcmp(pair.b.bytes.data() + 10'000, pair.a.bytes.data(), 5000), 0);
}

TEST_P(NicUnreliableTest, UcCompletesWhenTheLastPacketLeaves) {
  UnreliablePair pair(GetParam(), QpType::kUc);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 3 * kMtu, 1));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].time, pair.log.back().at);
}

// Datagrams of one queue pair go to addresses of several classes, in order: each waits for its own class
// only.
TEST_P(NicUnreliableTest, ADatagramIsOfTheClassOfItsAddress) {
  UnreliablePair pair(GetParam(), QpType::kUd);
  PathAddress other = pair.attr.path;
  other.traffic_class = 34 << 2;
  const Ahn fourth = *pair.a.nic.create_ah(pair.a.pd, other);
  pair.post_receive(0, 4096, 50), pair.post_receive(0, 4096, 51), pair.post_receive(0, 4096, 52);
  PfcFrame pause;
  pause.class_enable = 1 << 4, pause.time[4] = 0xffff;
  PacketRef frame = pair.a.pool.make();
  put_control(*frame, pause);
  pair.a.port.deliver(std::move(frame), pair.now());
  pair.post(pair.datagram(100, 1));
  SendWqe to_fourth = pair.datagram(100, 2);
  to_fourth.ah = fourth;
  pair.post(to_fourth);
  pair.post(pair.datagram(100, 3));
  pair.run();
  ASSERT_EQ(pair.log.size(), 3u);
  const Duration paused = pause_duration(0xffff, pair.config.link_rate);
  EXPECT_EQ(pair.log[0].packet.tc, Tc{3});
  EXPECT_LT(pair.log[0].at, Time::zero() + paused) << "class 3 is not paused";
  EXPECT_EQ(pair.log[1].packet.tc, Tc{4});
  EXPECT_GE(pair.log[1].at, Time::zero() + paused);
  EXPECT_EQ(pair.log[2].packet.tc, Tc{3});
}

// Of 5 messages of 3 packets one packet is lost: that message never comes, the others do.
TEST_P(NicUnreliableTest, UcLosesExactlyTheMessagesOfWhichAPacketIsLost) {
  for (int lost = 1; lost <= 15; ++lost) {
    SCOPED_TRACE(lost);
    UnreliablePair pair(GetParam(), QpType::kUc);
    for (std::uint64_t i = 0; i < 5; ++i) {
      pair.post_receive(i * 4096, 3 * kMtu, i);
      pair.a.fill(i * 4096, 3 * kMtu, i + 1);
      pair.post(pair.wqe(WrOpcode::kSend, i * 4096, 0, 3 * kMtu, i));
    }
    pair.lose = lose_data(0, {lost});
    pair.run();
    EXPECT_EQ(pair.a.cqes.size(), 5u);
    ASSERT_EQ(pair.b.cqes.size(), 4u);
    for (std::uint64_t i = 0, message = 0; i < 4; ++i, ++message) {
      if (static_cast<int>(message) == (lost - 1) / 3) ++message;
      EXPECT_EQ(pair.b.cqes[i].wr_id, i) << "receive WQEs go to the messages that come, in order";
      EXPECT_EQ(std::memcmp(pair.b.bytes.data() + i * 4096, pair.a.bytes.data() + message * 4096, 3 * kMtu),
                0);
    }
    EXPECT_EQ(pair.b.nic.query_qp(pair.b.qp)->state, QpState::kRts);
  }
}

TEST_P(NicUnreliableTest, UcDropsWhatIsNotAllowedAndGoesOn) {
  UnreliablePair pair(GetParam(), QpType::kUc);
  SendWqe bad = pair.wqe(WrOpcode::kWrite, 0, 0, 3 * kMtu, 1);
  bad.rkey.value += 0x10000;
  pair.post(bad);
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 10, 2));  // no receive WQE
  pair.a.fill(0, 100, 3);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 4096, 100, 3));
  pair.run();
  EXPECT_EQ(pair.a.cqes.size(), 3u);
  for (const Cqe& cqe : pair.a.cqes) EXPECT_EQ(cqe.status, WcStatus::kSuccess);
  EXPECT_EQ(std::memcmp(pair.b.bytes.data() + 4096, pair.a.bytes.data(), 100), 0);
  EXPECT_EQ(pair.b.nic.counters().rx_dropped_messages, 1u);
  EXPECT_EQ(pair.b.nic.counters().out_of_buffer, 1u);
}

TEST_P(NicUnreliableTest, AMessageLongerThanItsReceiveWqeEndsTheReceiver) {
  UnreliablePair pair(GetParam(), QpType::kUc);
  pair.post_receive(0, 100, 7);
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 101));
  pair.run();
  ASSERT_EQ(pair.b.cqes.size(), 1u);
  EXPECT_EQ(pair.b.cqes[0].status, WcStatus::kLocLenErr);
  EXPECT_EQ(pair.b.nic.query_qp(pair.b.qp)->state, QpState::kErr);
}

TEST_P(NicUnreliableTest, UcHasNeitherReadsNorAtomics) {
  UnreliablePair pair(GetParam(), QpType::kUc);
  EXPECT_EQ(pair.post(pair.wqe(WrOpcode::kRead, 0, 0, 8)), PostResult::kBadOpcode);
  EXPECT_EQ(pair.post(pair.wqe(WrOpcode::kFetchAdd, 0, 0, 8)), PostResult::kBadOpcode);
}

// A bad local key stops the send queue alone; brought back to RTS it goes on with the next PSN.
TEST_P(NicUnreliableTest, ALocalErrorLeadsToSqeAndBack) {
  UnreliablePair pair(GetParam(), QpType::kUc);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 2 * kMtu, 1));
  SendWqe bad = pair.wqe(WrOpcode::kWrite, 0, 0, 10, 2);
  bad.sge[0].lkey.value += 0x10000;
  pair.post(bad);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 10, 3));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 3u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kSuccess);
  EXPECT_EQ(pair.a.cqes[1].status, WcStatus::kLocProtErr);
  EXPECT_EQ(pair.a.cqes[2].status, WcStatus::kWrFlushErr);
  EXPECT_EQ(pair.a.nic.query_qp(pair.a.qp)->state, QpState::kSqe);
  EXPECT_EQ(pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 10, 4)), PostResult::kOk);
  QpAttr again = *pair.a.nic.query_qp(pair.a.qp);
  again.state = QpState::kRts;
  ASSERT_TRUE(pair.a.nic.modify_qp(pair.a.qp, again, pair.now()));
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 10, 5));
  pair.run();
  EXPECT_EQ(pair.story(0, kPsn), "UC_RDMA_WRITE_FIRST+0 UC_RDMA_WRITE_LAST+1 UC_RDMA_WRITE_ONLY+2");
  EXPECT_EQ(pair.a.cqes.back().status, WcStatus::kSuccess);
}

// --- UD

TEST_P(NicUnreliableTest, UdDeliversADatagramBehindItsGrhAndNamesTheSender) {
  UnreliablePair pair(GetParam(), QpType::kUd);
  pair.a.fill(0, 500, 1);
  pair.post_receive(0, 4096, 9);
  pair.post(pair.datagram(500, 1, WrOpcode::kSendImm));
  pair.run();
  EXPECT_EQ(pair.story(0, kPsn), "UD_SEND_ONLY_WITH_IMMEDIATE+0");
  ASSERT_EQ(pair.b.cqes.size(), 1u);
  EXPECT_EQ(pair.b.cqes[0].byte_len, kGrhBytes + 500);
  EXPECT_TRUE(pair.b.cqes[0].has_grh && pair.b.cqes[0].has_imm);
  EXPECT_EQ(pair.b.cqes[0].src_qpn, pair.a.qp);
  EXPECT_EQ(pair.b.bytes[kGrhBytes - 1], std::byte{0x47}) << "what the edge put in front of the payload";
  EXPECT_EQ(std::memcmp(pair.b.bytes.data() + kGrhBytes, pair.a.bytes.data(), 500), 0);
  ASSERT_EQ(pair.a.cqes.size(), 1u);
}

TEST_P(NicUnreliableTest, UdDropsWithoutAReceiveWqeOrWithAnotherQkey) {
  UnreliablePair pair(GetParam(), QpType::kUd);
  pair.post(pair.datagram(10, 1));
  pair.run();
  pair.post_receive(0, 4096, 9);
  SendWqe stranger = pair.datagram(10, 2);
  stranger.remote_qkey = 0x22222222;
  pair.post(stranger);
  pair.run();
  EXPECT_TRUE(pair.b.cqes.empty());
  EXPECT_EQ(pair.b.nic.counters().out_of_buffer, 1u);
  EXPECT_EQ(pair.b.nic.counters().qkey_violations, 1u);
  // The upper bit asks for the sender's own Q_Key.
  SendWqe own = pair.datagram(10, 3);
  own.remote_qkey = 0x80000000;
  pair.post(own);
  pair.run();
  EXPECT_EQ(pair.b.cqes.size(), 1u);
}

TEST_P(NicUnreliableTest, UdRefusesWhatDoesNotFitADatagram) {
  UnreliablePair pair(GetParam(), QpType::kUd);
  EXPECT_EQ(pair.post(pair.datagram(pair.config.active_mtu)), PostResult::kOk);
  EXPECT_EQ(pair.post(pair.datagram(pair.config.active_mtu + 1)), PostResult::kBadLength);
  EXPECT_EQ(pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 10)), PostResult::kBadOpcode);
  SendWqe nowhere = pair.datagram(10);
  nowhere.ah = Ahn{12345};
  EXPECT_EQ(pair.post(nowhere), PostResult::kBadHandle);
  EXPECT_FALSE(pair.a.nic.free_pd(pair.a.pd)) << "the address handle is its user";
  EXPECT_TRUE(pair.a.nic.destroy_ah(pair.ah));
  EXPECT_FALSE(pair.a.nic.destroy_ah(pair.ah));
}

// PSNs of datagrams mean nothing: what is lost is lost alone.
TEST_P(NicUnreliableTest, UdLosesOnlyWhatIsLost) {
  UnreliablePair pair(GetParam(), QpType::kUd);
  for (std::uint64_t i = 0; i < 6; ++i) {
    pair.post_receive(0, 4096, i);
    pair.post(pair.datagram(10, i));
  }
  pair.lose = lose_data(0, {2, 5});
  pair.run();
  EXPECT_EQ(pair.b.cqes.size(), 4u);
  EXPECT_EQ(pair.a.cqes.size(), 6u);
}

// An RC packet at a UC or UD QP, and the other way round, is dropped.
TEST_P(NicUnreliableTest, ClassesDoNotMix) {
  UnreliablePair pair(GetParam(), QpType::kUd);
  pair.post_receive(0, 4096, 1);
  PacketRef p = pair.b.pool.make();
  p->roce.opcode = GetParam() == TransportMode::kIrn ? 0xc4 : 0x04;
  p->roce.dest = pair.b.qp, p->frame_length = 60;
  pair.b.nic.on_packet(std::move(p), pair.now());
  EXPECT_EQ(pair.b.nic.counters().rx_wrong_mode, 1u);
  EXPECT_FALSE(pair.b.nic.has_more());
}

}  // namespace
}  // namespace rocelab
