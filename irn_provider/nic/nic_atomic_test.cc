// Compare-and-swap and fetch-and-add between two Nics, in both modes: executed once, in order, whatever is
// lost. IBTA Vol 1, 9.4.5; Mittal, 4.4.2 ("treated similar to a single-packet RDMA Read") and 4.4.3.
#include <gtest/gtest.h>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPsn = 0xfffff0, kMtu = 1024;

class AtomicPair : public NicPair {
 public:
  explicit AtomicPair(TransportMode mode) : NicPair(config_of(mode)) { attr.timeout = 8; }  // 1 ms
  std::uint64_t& word(Endpoint& e, std::size_t offset) {
    return *reinterpret_cast<std::uint64_t*>(e.bytes.data() + offset);
  }
  // The original value comes to `to` of a's memory; `at` is the word of b's.
  SendWqe atomic(WrOpcode opcode, std::size_t to, std::size_t at, std::uint64_t compare_add,
                 std::uint64_t swap = 0, std::uint64_t wr_id = 1) {
    SendWqe w = wqe(opcode, to, at, kAtomicBytes, wr_id);
    w.compare_add = compare_add, w.swap = swap;
    return w;
  }
};

class NicAtomicTest : public testing::TestWithParam<TransportMode> {
 protected:
  bool irn() const { return GetParam() == TransportMode::kIrn; }
};
INSTANTIATE_TEST_SUITE_P(Modes, NicAtomicTest, testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

TEST_P(NicAtomicTest, FetchAddReturnsTheOldValueAtTheTimeOfTheClosedFormula) {
  AtomicPair pair(GetParam());
  pair.connect(kPsn);
  pair.word(pair.b, 64) = 40;
  ASSERT_EQ(pair.post(pair.atomic(WrOpcode::kFetchAdd, 8, 64, 2)), PostResult::kOk);
  pair.run();
  EXPECT_EQ(pair.word(pair.a, 8), 40u);
  EXPECT_EQ(pair.word(pair.b, 64), 42u);
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].opcode, WcOpcode::kFetchAdd);
  EXPECT_EQ(pair.a.cqes[0].byte_len, 8u);
  // Request: Ethernet 14, IPv4 20, UDP 8, BTH 12, AtomicETH 28, ICRC 4, in IRN mode read_WQE_SN 4. Response:
  // AETH 4 and AtomicAckETH 8. In IRN the request's own ACK leaves first: AETH 4.
  const Rate rate = pair.config.link_rate;
  const Duration ack = irn() ? wire_time(62_B, rate) : Duration();
  EXPECT_EQ(pair.a.cqes[0].time, Time::zero() + wire_time(irn() ? 90_B : 86_B, rate) + ack +
                                     wire_time(70_B, rate) + pair.config.link_delay * 2);
  EXPECT_EQ(pair.b.nic.counters().rx_atomic_requests, 1u);
}

TEST_P(NicAtomicTest, CompareSwapSwapsOnlyWhatItExpects) {
  AtomicPair pair(GetParam());
  pair.connect(kPsn);
  pair.word(pair.b, 64) = 7;
  pair.post(pair.atomic(WrOpcode::kCompareSwap, 0, 64, 6, 100, 1));
  pair.post(pair.atomic(WrOpcode::kCompareSwap, 8, 64, 7, 200, 2));
  pair.post(pair.atomic(WrOpcode::kCompareSwap, 16, 64, 7, 300, 3));
  pair.run();
  EXPECT_EQ(pair.word(pair.a, 0), 7u);
  EXPECT_EQ(pair.word(pair.a, 8), 7u);
  EXPECT_EQ(pair.word(pair.a, 16), 200u);
  EXPECT_EQ(pair.word(pair.b, 64), 200u);
  ASSERT_EQ(pair.a.cqes.size(), 3u);
  EXPECT_EQ(pair.a.cqes[2].opcode, WcOpcode::kCompareSwap);
}

// Each of ten additions once, and the values that came back are 0, 1, .., whatever the network does.
TEST_P(NicAtomicTest, EachIsExecutedOnceWhateverIsLost) {
  for (const double loss : {0.05, 0.15, 0.3}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(testing::Message() << "loss " << loss << " seed " << seed);
      AtomicPair pair(GetParam());
      pair.attr.max_rd_atomic = pair.attr.max_dest_rd_atomic = static_cast<std::uint8_t>(1 + seed % 4);
      pair.attr.retry_cnt = 7;
      pair.connect(kPsn);
      Rng rng(seed);
      int drops_in_a_row = 0;
      pair.lose = [&](const Departure&) {  // never so many that a QP gives up
        const bool lost = drops_in_a_row < 5 && rng.bernoulli(loss);
        drops_in_a_row = lost ? drops_in_a_row + 1 : 0;
        return lost;
      };
      if (irn()) pair.overtaken_by = [&](const Departure&) { return rng.bernoulli(0.1) ? 2 : 0; };
      for (std::uint64_t i = 0; i < 10; ++i) {
        ASSERT_EQ(pair.post(pair.atomic(WrOpcode::kFetchAdd, 8 * i, 64, 1, 0, i)), PostResult::kOk);
        if (i % 3 == 0) pair.post(pair.wqe(WrOpcode::kRead, 4096, 4096, 3 * kMtu, 100));
      }
      pair.run();
      EXPECT_EQ(pair.word(pair.b, 64), 10u);
      for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(pair.word(pair.a, 8 * i), i);
      EXPECT_EQ(pair.a.cqes.size(), 14u);
      for (const Cqe& cqe : pair.a.cqes) EXPECT_EQ(cqe.status, WcStatus::kSuccess);
      if (HasFailure()) return;
    }
  }
}

TEST_P(NicAtomicTest, ALostAnswerIsReplayedNotExecutedAgain) {
  AtomicPair pair(GetParam());
  pair.connect(kPsn);
  pair.word(pair.b, 64) = 5;
  int answers = 0;
  pair.lose = [&](const Departure& d) {
    return opcode_info(d.packet.roce.opcode).operation == Operation::kAtomicAck && ++answers <= 2;
  };
  pair.post(pair.atomic(WrOpcode::kFetchAdd, 0, 64, 1));
  pair.run();
  EXPECT_EQ(answers, 3);
  EXPECT_EQ(pair.word(pair.a, 0), 5u);
  EXPECT_EQ(pair.word(pair.b, 64), 6u);
}

TEST_P(NicAtomicTest, WaitsForTheWritesBeforeIt) {
  AtomicPair pair(GetParam());
  pair.connect(kPsn);
  pair.word(pair.a, 8) = 1000;
  pair.lose = lose_data(0, {1});  // the WRITE; the atomic arrives first
  pair.post(pair.wqe(WrOpcode::kWrite, 8, 64, 8, 1));
  pair.post(pair.atomic(WrOpcode::kFetchAdd, 16, 64, 1, 0, 2));
  pair.run();
  EXPECT_EQ(pair.word(pair.a, 16), 1000u);
  EXPECT_EQ(pair.word(pair.b, 64), 1001u);
}

TEST_P(NicAtomicTest, KeepsNoMoreOutstandingThanMaxRdAtomicAndFencesHold) {
  AtomicPair pair(GetParam());
  pair.attr.max_rd_atomic = 2;
  pair.connect(kPsn);
  for (std::size_t i = 0; i < 6; ++i) pair.post(pair.atomic(WrOpcode::kFetchAdd, 8 * i, 64, 1, 0, i));
  SendWqe fenced = pair.wqe(WrOpcode::kWrite, 0, 4096, 8, 6);
  fenced.fence = true;
  pair.post(fenced);
  int outstanding = 0, most = 0;
  bool fence_held = true;
  pair.lose = [&](const Departure& d) {
    const OpcodeInfo& info = opcode_info(d.packet.roce.opcode);
    if (info.is_atomic()) most = std::max(most, ++outstanding);
    if (info.operation == Operation::kAtomicAck) --outstanding;
    if (info.is_write()) fence_held = pair.a.cqes.size() == 6;
    return false;
  };
  pair.run();
  EXPECT_EQ(most, 2);
  EXPECT_TRUE(fence_held);
  EXPECT_EQ(pair.word(pair.b, 64), 6u);
}

struct Refusal {
  const char* name;
  std::uint32_t qp_access, region_access;
  std::size_t offset;
  WcStatus status;
};

TEST_P(NicAtomicTest, WhatMayNotBeIsRefusedAndChangesNothing) {
  constexpr std::uint32_t kNoAtomic = kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead;
  for (const Refusal& r :
       {Refusal{"right missing at the QP", kNoAtomic, Endpoint::kAllAccess, 64, WcStatus::kRemInvReqErr},
        Refusal{"right missing at the region", Endpoint::kAllAccess, kNoAtomic, 64, WcStatus::kRemAccessErr},
        Refusal{"out of bounds", Endpoint::kAllAccess, Endpoint::kAllAccess, NicPair::kMemory,
                WcStatus::kRemAccessErr}}) {
    SCOPED_TRACE(r.name);
    AtomicPair pair(GetParam());
    pair.attr.access_flags = r.qp_access;
    pair.connect(kPsn);
    const RKey key =
        *pair.b.nic.reg_mr(pair.b.pd, pair.b.addr(), pair.b.bytes.size(), pair.b.addr(), r.region_access);
    SendWqe w = pair.atomic(WrOpcode::kFetchAdd, 0, r.offset, 1);
    w.rkey = key;
    ASSERT_EQ(pair.post(w), PostResult::kOk);
    pair.run();
    ASSERT_EQ(pair.a.cqes.size(), 1u);
    EXPECT_EQ(pair.a.cqes[0].status, r.status);
    EXPECT_EQ(pair.word(pair.b, 64), 0u);
  }
}

TEST_P(NicAtomicTest, AWordThatIsNotAlignedIsRefusedAtBothEnds) {
  AtomicPair pair(GetParam());
  pair.connect(kPsn);
  EXPECT_EQ(pair.post(pair.atomic(WrOpcode::kFetchAdd, 0, 65, 1)), PostResult::kBadLength);
  // A peer that sends it all the same.
  pair.lose = [](const Departure& d) {
    if (opcode_info(d.packet.roce.opcode).is_atomic()) const_cast<Packet&>(d.packet).roce.va += 4;
    return false;
  };
  pair.post(pair.atomic(WrOpcode::kFetchAdd, 0, 64, 1));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kRemInvReqErr);
  EXPECT_EQ(pair.word(pair.b, 64), 0u);
  EXPECT_EQ(pair.word(pair.b, 72), 0u);
}

TEST_P(NicAtomicTest, ALocalBufferShorterThanTheValueIsRefused) {
  AtomicPair pair(GetParam());
  pair.connect(kPsn);
  SendWqe w = pair.atomic(WrOpcode::kFetchAdd, 0, 64, 1);
  w.sge[0].length = 7;
  EXPECT_EQ(pair.post(w), PostResult::kBadLength);
}

}  // namespace
}  // namespace rocelab
