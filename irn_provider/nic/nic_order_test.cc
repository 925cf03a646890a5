// Order of answers in RoCE mode: they leave as their requests came (IBTA 9.5), also those that are repeated,
// and no acknowledgement stands for a READ or an atomic, which data alone answers.
#include <gtest/gtest.h>

#include <set>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPsn = 0xfffff0, kMtu = 1024;

const OpcodeInfo& info_of(const Packet& packet) { return opcode_info(packet.roce.opcode); }
bool is_plain_ack(const Packet& packet) {
  return info_of(packet).operation == Operation::kAck && packet.roce.syndrome == 0x1f;
}
std::int64_t offset_of(const Packet& packet, std::uint32_t base) {
  return (packet.roce.psn.value() - base) & Psn::kMask;
}

// Forgets one side's answers until a time.
std::function<bool(const Departure&)> lose_answers(int side, Time until) {
  return
      [=](const Departure& d) { return d.side == side && d.at < until && info_of(d.packet).is_response(); };
}

NicPair make_pair(bool irn = false) {
  return NicPair(config_of(irn ? TransportMode::kIrn : TransportMode::kRoce));
}

// Requests of `opcode` to the peer's memory at `to`, packet `psn` of them.
PacketRef request(NicPair& pair, Operation operation, std::uint32_t psn, std::uint32_t length) {
  PacketRef p = pair.b.pool.make();
  p->roce.opcode = make_opcode(TransportClass::kRc, operation);
  p->roce.dest = pair.b.qp, p->roce.psn = Psn(psn), p->roce.ack_req = true;
  p->roce.va = pair.b.addr(), p->roce.rkey = pair.b.key, p->roce.dma_length = length;
  p->roce.swap_or_add = 1;
  p->frame_length = 74;
  PacketPool::put_gids(*p, {pair.attr.path.dst_gid, pair.attr.path.src_gid});
  return p;
}

std::string next_answer(NicPair& pair) {
  const PacketRef p = pair.b.nic.poll_transmit(pair.now());
  if (!p) return "nothing";
  return std::string(info_of(*p).name) + "+" + std::to_string(offset_of(*p, kPsn));
}

TEST(NicOrderTest, AnAckForADuplicateNamesItWhereAReadOrAnAtomicWasExecutedBehindIt) {
  for (const WrOpcode fetch : {WrOpcode::kRead, WrOpcode::kFetchAdd}) {
    NicPair pair;
    pair.attr.timeout = 8;  // 1 ms
    pair.connect(kPsn);
    pair.lose = lose_answers(1, Time::zero() + 500_us);
    for (int i = 0; i < 3; ++i) pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 8));
    pair.post(pair.wqe(fetch, 0, 0, 8));
    pair.run();
    std::vector<std::int64_t> named;
    for (const Departure& d : pair.log)
      if (d.side == 1 && !d.dropped && is_plain_ack(d.packet)) named.push_back(offset_of(d.packet, kPsn));
    EXPECT_EQ(named, (std::vector<std::int64_t>{0, 1, 2}));
    EXPECT_EQ(pair.a.cqes.size(), 4u);
  }
}

TEST(NicOrderTest, AnAckForADuplicateStandsForAllThatCameWhereNothingWasFetchedBehindIt) {
  NicPair pair;
  pair.attr.timeout = 8;
  pair.connect(kPsn);
  pair.lose = lose_answers(1, Time::zero() + 500_us);
  pair.post(pair.wqe(WrOpcode::kFetchAdd, 0, 0, 8));
  for (int i = 0; i < 3; ++i) pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 8));
  pair.run();
  std::vector<std::int64_t> named;
  for (const Departure& d : pair.log)
    if (d.side == 1 && !d.dropped && is_plain_ack(d.packet)) named.push_back(offset_of(d.packet, kPsn));
  ASSERT_FALSE(named.empty());
  EXPECT_EQ(named[0], 3);
}

TEST(NicOrderTest, RepeatedAnswersLeaveInTheOrderInWhichTheyAreAskedFor) {
  NicPair pair;
  pair.connect(kPsn);
  const auto ask = [&](Operation operation, std::uint32_t psn, std::uint32_t length) {
    pair.b.nic.on_packet(request(pair, operation, psn, length), pair.now());
  };
  ask(Operation::kFetchAdd, kPsn, 0);
  ask(Operation::kWriteOnly, kPsn + 1, 0);
  ask(Operation::kReadRequest, kPsn + 2, 2 * kMtu);
  EXPECT_EQ(next_answer(pair), "RC_ATOMIC_ACKNOWLEDGE+0");  // is lost
  EXPECT_EQ(next_answer(pair), "RC_ACKNOWLEDGE+1");
  EXPECT_EQ(next_answer(pair), "RC_RDMA_READ_RESPONSE_FIRST+2");
  ask(Operation::kFetchAdd, kPsn, 0);
  ask(Operation::kWriteOnly, kPsn + 1, 0);
  ask(Operation::kReadRequest, kPsn + 2, 2 * kMtu);
  for (const char* answer : {"RC_ATOMIC_ACKNOWLEDGE+0", "RC_ACKNOWLEDGE+1", "RC_RDMA_READ_RESPONSE_FIRST+2",
                             "RC_RDMA_READ_RESPONSE_LAST+3", "nothing"})
    EXPECT_EQ(next_answer(pair), answer);
}

// A NIC in ERR answers no READ any more, and nothing that would acknowledge it.
TEST(NicOrderTest, AnAckBehindAReadResponseThatIsDroppedIsDroppedToo) {
  NicPair pair;
  pair.connect(kPsn);
  const auto ask = [&](Operation operation, std::uint32_t psn, std::uint32_t length) {
    pair.b.nic.on_packet(request(pair, operation, psn, length), pair.now());
  };
  ask(Operation::kWriteOnly, kPsn, 0);
  ask(Operation::kReadRequest, kPsn + 1, kMtu);
  ask(Operation::kFetchAdd, kPsn + 2, 0);
  ask(Operation::kWriteOnly, kPsn + 3, 0);
  QpAttr error = pair.attr;
  error.state = QpState::kErr;
  ASSERT_TRUE(pair.b.nic.modify_qp(pair.b.qp, error, pair.now()));
  EXPECT_EQ(next_answer(pair), "RC_ACKNOWLEDGE+0");
  EXPECT_EQ(next_answer(pair), "nothing");
}

class FetchTest : public testing::TestWithParam<std::tuple<bool, WrOpcode, std::uint32_t>> {};
INSTANTIATE_TEST_SUITE_P(ModesAndOperations, FetchTest,
                         testing::Combine(testing::Bool(),
                                          testing::Values(WrOpcode::kRead, WrOpcode::kFetchAdd),
                                          testing::Values(0, 1, 2)));

// The peer's data are lost and an acknowledgement of their PSN, or of a later one, comes: as Linux rxe sends
// for a duplicate.
TEST_P(FetchTest, IsNotCompletedByAnAcknowledgement) {
  const auto& [irn, operation, beyond] = GetParam();
  NicPair pair = make_pair(irn);
  pair.attr.timeout = 8;
  pair.connect(kPsn);
  const std::uint32_t length = operation == WrOpcode::kRead ? 3 * kMtu : 8;
  pair.b.fill(0, length, 5);
  std::vector<std::byte> before(pair.b.bytes.begin(), pair.b.bytes.begin() + length);
  pair.lose = lose_answers(1, Time::zero() + 500_us);
  pair.post(pair.wqe(operation, 0, 0, length, 1));
  for (std::uint32_t i = 0; i < 2; ++i) pair.post(pair.wqe(WrOpcode::kWrite, 4'096, 4'096, 8, 2 + i));
  pair.run_until(Time::zero() + 100_us);
  PacketRef ack = pair.a.pool.make();
  const std::uint32_t packets = irn ? 1 : (length + kMtu - 1) / kMtu;  // IRN names the PSN that is expected
  ack->roce.opcode = make_opcode(irn ? TransportClass::kIrn : TransportClass::kRc, Operation::kAck);
  ack->roce.dest = pair.a.qp, ack->roce.psn = Psn(kPsn + packets + (irn ? 0 : -1) + beyond);
  ack->roce.syndrome = 0x1f, ack->frame_length = 62;
  PacketPool::put_gids(*ack, {pair.attr.path.dst_gid, pair.attr.path.src_gid});
  pair.a.nic.on_packet(std::move(ack), pair.now());
  pair.run_until(Time::zero() + 200_us);
  EXPECT_TRUE(pair.a.cqes.empty());
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 3u);
  for (const Cqe& cqe : pair.a.cqes) EXPECT_EQ(cqe.status, WcStatus::kSuccess);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), pair.a.bytes.begin()));
}

// --- both ends ask at once

constexpr int kRequests = 80;
constexpr std::size_t kSlot = 8'192, kOperands = 2 << 20, kSource = 1 << 20;  // of each side's memory

struct Side {
  Side(NicPair& p, Endpoint& m, Endpoint& o) : pair(p), mine(m), peers(o) {}
  void ask(Rng& rng) {
    for (int i = 0; i < kRequests; ++i) {
      constexpr WrOpcode kOpcodes[] = {WrOpcode::kWrite, WrOpcode::kRead, WrOpcode::kFetchAdd,
                                       WrOpcode::kCompareSwap};
      SendWqe w;
      w.opcode = kOpcodes[rng.below(4)];
      const bool atomic = is_atomic(w.opcode);
      const auto length = static_cast<std::uint32_t>(atomic ? 8 : rng.below(rng.below(3) == 0 ? 9 : kSlot));
      const std::size_t slot = static_cast<std::size_t>(i) * kSlot;
      const std::size_t word = kOperands + (w.opcode == WrOpcode::kFetchAdd ? 0 : 8);
      w.wr_id = static_cast<std::uint64_t>(i), w.num_sge = 1;
      w.sge[0] = {mine.addr(slot), length, mine.key};
      w.remote_addr = peers.addr(atomic ? word : kSource + slot), w.rkey = peers.key;
      w.compare_add = w.opcode == WrOpcode::kFetchAdd ? 1 : swapped;
      w.swap = swapped + 1;
      expected.push_back(w.opcode == WrOpcode::kFetchAdd ? added++ : atomic ? swapped++ : 0);
      asked.push_back(w.opcode), lengths.push_back(length);
      ASSERT_EQ(mine.nic.post_send(mine.qp, w, pair.now()), PostResult::kOk);
    }
  }
  // Each request has a slot of its own.
  void check(const std::vector<std::byte>& own_before, const std::vector<std::byte>& peers_before) const {
    ASSERT_EQ(mine.cqes.size(), asked.size());
    for (std::size_t i = 0; i < asked.size(); ++i) {
      EXPECT_EQ(mine.cqes[i].wr_id, i);
      EXPECT_EQ(mine.cqes[i].status, WcStatus::kSuccess);
      const std::size_t slot = i * kSlot;
      std::uint64_t value = 0;
      std::memcpy(&value, mine.bytes.data() + slot, sizeof value);
      if (is_atomic(asked[i])) {
        EXPECT_EQ(value, expected[i]) << i;
        continue;
      }
      const bool read = asked[i] == WrOpcode::kRead;
      const std::byte* from = read ? peers_before.data() + kSource + slot : own_before.data() + slot;
      const std::byte* to = read ? mine.bytes.data() + slot : peers.bytes.data() + kSource + slot;
      EXPECT_EQ(std::memcmp(from, to, lengths[i]), 0) << i;
    }
  }
  // PSNs, from `base`, that data alone may answer.
  std::set<std::int64_t> fetched() const {
    std::set<std::int64_t> psns;
    std::int64_t next = 0;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const std::int64_t packets = std::max<std::int64_t>(1, (lengths[i] + kMtu - 1) / kMtu);
      if (asked[i] != WrOpcode::kWrite)
        for (std::int64_t p = 0; p < packets; ++p) psns.insert(next + p);
      next += packets;
    }
    return psns;
  }

  NicPair& pair;
  Endpoint &mine, &peers;
  std::uint64_t added = 0, swapped = 0;
  std::vector<WrOpcode> asked;
  std::vector<std::uint32_t> lengths;
  std::vector<std::uint64_t> expected;
};

struct Network {
  const char* name;
  double loss, reorder;
};

class BothAskTest : public testing::TestWithParam<std::tuple<bool, Network, int>> {};
INSTANTIATE_TEST_SUITE_P(ModesNetworksSeeds, BothAskTest,
                         testing::Combine(testing::Bool(),
                                          testing::Values(Network{"Clean", 0, 0}, Network{"Loses", 0.03, 0},
                                                          Network{"Reorders", 0, 0.05},
                                                          Network{"DoesBoth", 0.03, 0.05}),
                                          testing::Range(1, 6)),
                         [](const auto& mix) {
                           return std::string(std::get<0>(mix.param) ? "Irn" : "Roce") +
                                  std::get<1>(mix.param).name + std::to_string(std::get<2>(mix.param));
                         });

TEST_P(BothAskTest, EveryValueIsRightAndNoAckNamesWhatDataAnswers) {
  const auto& [irn, network, seed] = GetParam();
  SCOPED_TRACE(std::string(network.name) + " " + std::to_string(seed));
  Rng rng = Rng(static_cast<std::uint64_t>(seed)).fork("both-ask");
  NicPair pair = make_pair(irn);
  pair.attr.timeout = 10;
  pair.connect(kPsn);
  Side a(pair, pair.a, pair.b), b(pair, pair.b, pair.a);
  pair.a.fill(0, kOperands, 1), pair.b.fill(0, kOperands, 2);
  const std::vector<std::byte> before_a = pair.a.bytes, before_b = pair.b.bytes;
  pair.lose = [&rng, loss = network.loss](const Departure&) { return rng.bernoulli(loss); };
  pair.overtaken_by = [&rng, part = network.reorder](const Departure&) {
    return rng.bernoulli(part) ? 1 + static_cast<int>(rng.below(4)) : 0;
  };
  a.ask(rng), b.ask(rng);
  pair.run();
  a.check(before_a, before_b);
  b.check(before_b, before_a);
  if (irn) return;
  const std::array<std::set<std::int64_t>, 2> fetched{b.fetched(), a.fetched()};  // answered by a side
  std::array<std::int64_t, 2> last{-1, -1};
  for (const Departure& d : pair.log) {
    const std::int64_t psn = offset_of(d.packet, kPsn + (d.side == 0 ? 0x100 : 0));
    if (is_plain_ack(d.packet)) {
      EXPECT_EQ(fetched[d.side].count(psn), 0u) << psn;
    }
    if (network.loss > 0 || network.reorder > 0 || !info_of(d.packet).is_response()) continue;
    EXPECT_GT(psn, last[d.side]);
    last[d.side] = psn;
  }
}

}  // namespace
}  // namespace rocelab
