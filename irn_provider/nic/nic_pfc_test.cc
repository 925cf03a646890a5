// PFC reaction and the QP scheduler of one Nic.
#include <gtest/gtest.h>

#include <map>

#include "base/wire/controls.h"
#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kMtu = 1024;

PfcFrame pfc(int tc, std::uint16_t quanta) {
  PfcFrame frame;
  frame.class_enable = static_cast<std::uint8_t>(1u << tc);
  frame.time[static_cast<std::size_t>(tc)] = quanta;
  return frame;
}

TEST(NicPfcTest, APausedClassSendsNothingUntilItsQuantaHavePassed) {
  NicPair pair;
  pair.connect();
  pair.a.nic.on_pfc(pfc(3, 100), pair.now());
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 4 * kMtu));
  const Time deadline = pair.now() + pause_duration(100, pair.config.link_rate);  // 100 x 512 bits at 40 Gb/s
  ASSERT_EQ(deadline, Time::zero() + 1'280_ns);
  EXPECT_EQ(pair.a.nic.next_timeout(), deadline);
  EXPECT_FALSE(pair.a.nic.has_more());
  pair.a.nic.on_timeout(deadline - 1_ps);
  EXPECT_FALSE(pair.a.nic.has_more());
  EXPECT_FALSE(pair.a.nic.poll_transmit(deadline - 1_ps));
  pair.run();
  EXPECT_EQ(pair.log[0].at, deadline);
  EXPECT_EQ(pair.log[1].at,
            deadline + wire_time(Bytes::from_count(pair.log[0].packet.frame_length), pair.config.link_rate));
  EXPECT_EQ(pair.a.nic.counters().rx_prio3_pause, 1u);
  EXPECT_EQ(pair.a.nic.counters().rx_pause_duration_ns, 1280u);
  const auto paused = pair.a.trace.of(TraceKind::kPaused), resumed = pair.a.trace.of(TraceKind::kResumed);
  ASSERT_EQ(paused.size(), 1u);
  ASSERT_EQ(resumed.size(), 1u);
  EXPECT_EQ(paused[0].mark, 3);
  EXPECT_EQ(resumed[0].time, deadline);
}

TEST(NicPfcTest, AFrameOnTheWireIsFinishedAndXonOpensAtOnce) {
  NicPair pair;
  pair.connect();
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 10 * kMtu));
  const Duration packet = wire_time(Bytes::from_count(1098), pair.config.link_rate);
  auto deliver_pfc = [&](std::uint16_t quanta, Time due) {
    PacketRef frame = pair.a.pool.make();
    put_control(*frame, pfc(3, quanta));
    pair.a.port.deliver(std::move(frame), due);
  };
  const Time xoff = Time::zero() + packet - 1_ps, xon = Time::zero() + 50_us;
  deliver_pfc(0xffff, xoff);
  deliver_pfc(0, xon);
  pair.run();
  EXPECT_EQ(pair.log[0].at, Time::zero());
  EXPECT_EQ(pair.log[1].at, xon);
  EXPECT_EQ(pair.a.nic.counters().rx_prio3_pause, 1u);
}

TEST(NicPfcTest, APauseDueAtTheInstantOfADepartureComesFirst) {
  NicPair pair;
  pair.connect();
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 10 * kMtu));
  const Time second = Time::zero() + wire_time(Bytes::from_count(1098), pair.config.link_rate);
  PacketRef frame = pair.a.pool.make();
  put_control(*frame, pfc(3, 1000));
  pair.a.port.deliver(std::move(frame), second);
  pair.run();
  EXPECT_EQ(pair.log[1].at, second + pause_duration(1000, pair.config.link_rate));
}

// Escape's tokens are for switches (Menikkumbura, 4.4.5, 3).
TEST(NicPfcTest, AnEscapeTokenEndsAtTheHostAndIsCounted) {
  NicPair pair;
  pair.connect();
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 2 * kMtu));
  PacketRef token = pair.a.pool.make();
  put_control(*token, EscapeToken{Tc{3}, 1, NodeId{0}, NodeId{1}, Qpn{17}});
  pair.a.port.deliver(std::move(token), Time::zero());
  pair.run();
  EXPECT_EQ(pair.a.nic.counters().rx_escape_tokens, 1u);
  PacketRef announcement = pair.a.pool.make();
  announcement->kind = PacketKind::kEscapeAnnouncement;
  pair.a.nic.on_packet(std::move(announcement), pair.now());
  EXPECT_EQ(pair.a.nic.counters().rx_escape_announcements, 1u);
  EXPECT_EQ(pair.a.nic.counters().rx_malformed, 0u);
  EXPECT_EQ(pair.log[0].at, Time::zero()) << "nothing is held back";
}

TEST(NicPfcTest, OtherClassesGoOn) {
  NicPair pair;
  pair.connect();
  pair.a.nic.on_pfc(pfc(5, 0xffff), pair.now());
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, kMtu));
  pair.run();
  EXPECT_EQ(pair.log[0].at, Time::zero());
}

TEST(NicPfcTest, ALaterFrameSetsThePauseAnew) {
  NicPair pair;
  pair.connect();
  pair.a.nic.on_pfc(pfc(3, 1000), pair.now());
  pair.a.nic.on_pfc(pfc(3, 10), pair.now());
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, kMtu));
  pair.run();
  EXPECT_EQ(pair.log[0].at, Time::zero() + pause_duration(10, pair.config.link_rate));
}

TEST(NicPfcTest, ANicWithPfcOffIgnoresIt) {
  NicConfig config;
  config.pfc_enabled = false;
  NicPair pair(config);
  pair.connect();
  pair.a.nic.on_pfc(pfc(3, 0xffff), pair.now());
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, kMtu));
  pair.run();
  EXPECT_EQ(pair.log[0].at, Time::zero());
}

TEST(NicPfcTest, APausedReceiverHoldsItsAcksBack) {
  NicPair pair;
  pair.connect();
  pair.b.nic.on_pfc(pfc(3, 0xffff), pair.now());
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, kMtu));
  pair.run();
  const Time open = Time::zero() + pause_duration(0xffff, pair.config.link_rate);
  ASSERT_EQ(pair.log.size(), 2u);
  EXPECT_EQ(pair.log[1].at, open);
}

// --- several QPs

TEST(NicSchedulerTest, QueuePairsShareThePortPacketByPacket) {
  NicPair pair;
  std::vector<std::pair<Qpn, Qpn>> qps;
  for (int i = 0; i < 4; ++i) qps.push_back(pair.connect(static_cast<std::uint32_t>(i) * 1000));
  for (const auto& [qa, qb] : qps)
    ASSERT_EQ(pair.a.nic.post_send(qa, pair.wqe(WrOpcode::kWrite, 0, 0, 50 * kMtu), pair.now()),
              PostResult::kOk);
  pair.run();
  std::map<std::uint32_t, int> count;
  for (const Departure& d : pair.log) {
    if (d.side != 0) continue;
    ++count[d.packet.flow];
    const auto [least, most] = std::minmax_element(qps.begin(), qps.end(), [&](auto& x, auto& y) {
      return count[x.first.value] < count[y.first.value];
    });
    EXPECT_LE(count[most->first.value] - count[least->first.value], 1);
  }
  EXPECT_EQ(pair.a.cqes.size(), 4u);
}

TEST(NicSchedulerTest, AHigherClassGoesFirst) {
  NicPair pair;
  pair.connect(0);
  pair.attr.path.traffic_class = 5 << 5;
  const auto [qa, qb] = pair.connect(5000);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 10 * kMtu));
  pair.a.nic.post_send(qa, pair.wqe(WrOpcode::kWrite, 0, 0, 10 * kMtu), pair.now());
  pair.run();
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(pair.log[i].packet.tc, Tc{5});
}

TEST(NicSchedulerTest, AcksLeaveAheadOfData) {
  NicPair pair;
  pair.connect();
  SendWqe back = pair.wqe(WrOpcode::kWrite, 0, 0, 100 * kMtu);
  back.sge[0] = {pair.b.addr(0), 100 * kMtu, pair.b.key};
  back.remote_addr = pair.a.addr(0), back.rkey = pair.a.key;
  pair.b.nic.post_send(pair.b.qp, back, pair.now());
  pair.post(pair.wqe(WrOpcode::kWrite, 200'000, 200'000, 10));
  pair.run();
  const Duration packet = wire_time(Bytes::from_count(1082), pair.config.link_rate);
  const auto acks =
      pair.sent([](const Departure& d) { return d.side == 1 && d.packet.kind == PacketKind::kAck; });
  ASSERT_EQ(acks.size(), 1u);
  const Time arrival = pair.b.trace.of(TraceKind::kPlaced)[0].time;
  EXPECT_LE(acks[0].at, arrival + packet);  // behind the one frame that was on the wire
}

}  // namespace
}  // namespace rocelab
