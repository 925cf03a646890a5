// What the network may bring: packets that are not for this NIC, malformed, out of place or forged.
#include <gtest/gtest.h>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPsn = 0xfffff0, kMtu = 1024;

QpState state(const Endpoint& e) { return e.nic.query_qp(e.qp)->state; }

TEST(NicInputTest, CountsAndDropsWhatIsNotForIt) {
  NicPair pair;
  pair.connect(kPsn);
  const auto inject = [&](auto spoil) {
    PacketRef p = pair.b.pool.make();
    p->roce.opcode = 0x0a, p->roce.dest = pair.b.qp, p->roce.psn = Psn(kPsn), p->frame_length = 74;
    spoil(*p);
    pair.b.nic.on_packet(std::move(p), pair.now());
  };
  inject([](Packet& p) { p.roce.opcode = 0xff; });
  inject([](Packet& p) { p.roce.transport_version = 1; });
  inject([](Packet& p) { p.roce.pkey = 0x1234; });
  inject([](Packet& p) { p.roce.opcode = 0x0c, p.payload_length = 4; });
  inject([](Packet& p) { p.roce.dest = Qpn{1}; });
  inject([](Packet& p) { p.roce.dest = Qpn{0x412}; });
  inject([](Packet& p) { p.roce.opcode = 0xca; });
  const NicCounters& c = pair.b.nic.counters();
  EXPECT_EQ(c.rx_malformed, 4u);
  EXPECT_EQ(c.rx_unknown_qp, 2u);
  EXPECT_EQ(c.rx_wrong_mode, 1u);
  EXPECT_EQ(c.rx_packets, 0u);
  EXPECT_EQ(pair.b.trace.of(TraceKind::kDrop).size(), 7u);
  EXPECT_FALSE(pair.b.nic.has_more());
}

// Each is sent at the expected PSN of a fresh QP and must be refused as an invalid request.
TEST(NicInputTest, MessagesOutOfOrderOrOfWrongLengthAreInvalidRequests) {
  struct Case {
    const char* name;
    std::uint8_t opcode;
    std::uint32_t payload, dma_length;
  };
  for (const Case& c : {Case{"middle without first", 0x07, kMtu, 0}, Case{"last without first", 0x08, 10, 0},
                        Case{"send middle", 0x01, kMtu, 0}, Case{"short first", 0x06, kMtu - 1, 3000},
                        Case{"long only", 0x0a, kMtu + 1, kMtu + 1}, Case{"more than said", 0x0a, 100, 99},
                        Case{"less than said", 0x0a, 100, 101}, Case{"atomic write", 0x1d, 8, 8}}) {
    NicPair pair;
    pair.connect(kPsn);
    pair.post_receive(0, 4000);
    PacketRef p = pair.b.pool.make();
    p->roce.opcode = c.opcode, p->roce.dest = pair.b.qp, p->roce.psn = Psn(kPsn);
    p->roce.va = pair.b.addr(), p->roce.rkey = pair.b.key, p->roce.dma_length = c.dma_length;
    const std::vector<std::byte> payload(c.payload);
    p->payload = payload.data(), p->payload_length = c.payload, p->frame_length = 60;
    pair.b.nic.on_packet(std::move(p), pair.now());
    const PacketRef nak = pair.b.nic.poll_transmit(pair.now());
    ASSERT_TRUE(nak) << c.name;
    EXPECT_EQ(nak->roce.syndrome, 0x61) << c.name;
    EXPECT_EQ(state(pair.b), QpState::kErr) << c.name;
  }
}

TEST(NicInputTest, AMessageIsNotInterruptedByAnother) {
  NicPair pair;
  pair.connect(kPsn);
  pair.post_receive(0, 4000);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 2 * kMtu));
  pair.lose = [](const Departure& d) {
    if (d.side == 0 && d.packet.roce.opcode == 0x08) const_cast<Departure&>(d).dropped = true;
    return d.dropped;
  };
  pair.run_until(Time::zero() + 20_us);
  PacketRef p = pair.b.pool.make();
  p->roce.opcode = 0x04, p->roce.dest = pair.b.qp, p->roce.psn = Psn(kPsn + 1), p->frame_length = 60;
  pair.b.nic.on_packet(std::move(p), pair.now());
  const PacketRef nak = pair.b.nic.poll_transmit(pair.now());
  ASSERT_TRUE(nak);
  EXPECT_EQ(nak->roce.syndrome, 0x61);
}

// A requester that was answered late asks again, then takes the answers and goes on: what is being said again
// is complete there, and no part of the max_dest_rd_atomic that it may have outstanding.
TEST(NicInputTest, ReadsAskedForAgainLeaveRoomForNewOnes) {
  NicPair pair;
  pair.attr.max_dest_rd_atomic = 2;
  pair.connect(kPsn);
  const auto ask = [&](std::uint32_t n) {
    PacketRef p = pair.b.pool.make();
    p->roce.opcode = 0x0c, p->roce.dest = pair.b.qp, p->roce.psn = Psn(kPsn + n), p->frame_length = 74;
    p->roce.va = pair.b.addr(), p->roce.rkey = pair.b.key, p->roce.dma_length = 100;
    pair.b.nic.on_packet(std::move(p), pair.now());
  };
  Time now = pair.now();
  const auto answers = [&] {
    std::vector<std::uint32_t> psns;
    while (pair.b.nic.has_more() || pair.b.nic.next_timeout() != Time::never()) {
      if (const PacketRef p = pair.b.nic.poll_transmit(now))
        psns.push_back(p->roce.opcode == 0x10 ? (p->roce.psn.value() - kPsn) & 0xffffff : 0xbad);
      else
        now = pair.b.nic.next_timeout();
    }
    return psns;
  };
  ask(0), ask(1);
  EXPECT_EQ(answers(), (std::vector<std::uint32_t>{0, 1}));
  ask(0), ask(1), ask(2), ask(3);
  ask(0);  // no third one again
  EXPECT_EQ(answers(), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(state(pair.b), QpState::kRts);
  ask(4), ask(5), ask(6);
  EXPECT_EQ(state(pair.b), QpState::kErr) << "more outstanding than there is room for";
}

TEST(NicInputTest, AnswersForPacketsNeverSentChangeNothing) {
  NicPair pair;
  pair.connect(kPsn);
  pair.lose = [](const Departure& d) { return d.side == 0; };
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 2 * kMtu));
  pair.run_until(Time::zero() + 20_us);
  for (const std::uint8_t syndrome :
       std::initializer_list<std::uint8_t>{0x1f, 0x60, 0x61, 0x62, 0x63, 0x2c}) {
    for (std::uint32_t psn : {kPsn - 1, kPsn - 5, kPsn + 2, kPsn + 1000}) {
      PacketRef p = pair.a.pool.make();
      p->roce.opcode = 0x11, p->roce.dest = pair.a.qp, p->roce.psn = Psn(psn), p->roce.syndrome = syndrome,
      p->frame_length = 62;
      pair.a.nic.on_packet(std::move(p), pair.now());
    }
  }
  EXPECT_EQ(state(pair.a), QpState::kRts);
  EXPECT_EQ(pair.a.nic.completions(), 0u);
  EXPECT_FALSE(pair.a.nic.has_more());
}

}  // namespace
}  // namespace rocelab
