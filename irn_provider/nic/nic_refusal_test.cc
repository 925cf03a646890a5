// What a responder refuses is counted by what was wrong with it, once, and told to its program: in RoCE and
// IRN mode where it draws a NAK, for UC where nothing is heard of it.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/wire/aeth.h"
#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPsn = 0xfffff0, kMtu = 1024;
using Counter = std::uint64_t NicCounters::*;
constexpr Counter kAccess = &NicCounters::resp_remote_access_errors,
                  kInvalid = &NicCounters::resp_remote_invalid_request,
                  kOperation = &NicCounters::resp_remote_operation_errors;

// Of refusals, only `expected` has counted, once.
void expect_one(const Endpoint& e, Counter expected) {
  const NicCounters& c = e.nic.counters();
  for (const Counter each : {kAccess, kInvalid, kOperation}) EXPECT_EQ(c.*each, each == expected ? 1u : 0u);
}

using Event = AsyncEvent::Kind;
std::vector<AsyncEvent> events_of(Endpoint& e) {
  std::vector<AsyncEvent> all;
  while (const auto event = e.nic.poll_event()) all.push_back(*event);
  return all;
}

// Of a message that has a receive WQE its CQE tells, of others an event of the kind that the counter says.
enum class Told : std::uint8_t { kByEvent, kByCqe };

struct Case {
  const char* name;
  Counter counter;
  std::function<void(NicPair&)> ask;
  Told told = Told::kByEvent;
};

SendWqe write_to(NicPair& pair, RKey key, std::uint64_t addr) {
  SendWqe w = pair.wqe(WrOpcode::kWrite, 0, 0, 100);
  w.rkey = key, w.remote_addr = addr;
  return w;
}
void inject(NicPair& pair, Operation operation, std::uint32_t payload, std::size_t to = 0) {
  static const std::vector<std::byte> bytes(2 * kMtu);
  PacketRef p = pair.b.pool.make();
  p->roce.opcode = make_opcode(
      pair.config.mode == TransportMode::kIrn ? TransportClass::kIrn : TransportClass::kRc, operation);
  p->roce.dest = pair.b.qp, p->roce.psn = Psn(kPsn), p->frame_length = 60;
  p->roce.va = pair.b.addr(to), p->roce.rkey = pair.b.key, p->roce.dma_length = payload;
  p->payload = bytes.data(), p->payload_length = payload;
  pair.b.nic.on_packet(std::move(p), pair.now());
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"an unknown R_Key", kAccess,
       [](NicPair& p) { p.post(write_to(p, RKey{p.b.key.value ^ 0x5500}, p.b.addr())); }},
      {"another protection domain", kAccess,
       [](NicPair& p) {
         const Pdn other = p.b.nic.alloc_pd();
         p.post(write_to(p, *p.b.nic.reg_mr(other, p.b.addr(), 4096, p.b.addr(), Endpoint::kAllAccess),
                         p.b.addr()));
       }},
      {"beyond the region", kAccess,
       [](NicPair& p) { p.post(write_to(p, p.b.key, p.b.addr(NicPair::kMemory) - 99)); }},
      {"a region that may not be written", kAccess,
       [](NicPair& p) {
         p.post(write_to(p, *p.b.nic.reg_mr(p.b.pd, p.b.addr(), 4096, p.b.addr(), kAccessRemoteRead),
                         p.b.addr()));
       }},
      {"a region that may not be read", kAccess,
       [](NicPair& p) {
         SendWqe w = p.wqe(WrOpcode::kRead, 0, 0, 100);
         w.rkey = *p.b.nic.reg_mr(p.b.pd, p.b.addr(), 4096, p.b.addr(), kAccessLocalWrite);
         p.post(w);
       }},
      {"a QP that may not be written to", kInvalid,
       [](NicPair& p) {
         QpAttr narrow = *p.b.nic.query_qp(p.b.qp);
         narrow.access_flags = kAccessLocalWrite;
         ASSERT_TRUE(p.b.nic.modify_qp(p.b.qp, narrow, p.now()));
         p.post(p.wqe(WrOpcode::kWrite, 0, 0, 100));
       }},
      {"the middle of no message", kInvalid, [](NicPair& p) { inject(p, Operation::kSendMiddle, kMtu); }},
      {"a packet above the path MTU", kInvalid,
       [](NicPair& p) { inject(p, Operation::kWriteOnly, kMtu + 4); }},
      {"an atomic on no multiple of 8", kInvalid,
       [](NicPair& p) {
         NicPair good(p.config);
         good.connect(kPsn);
         inject(good, Operation::kFetchAdd, 0);
         expect_one(good.b, nullptr);
         inject(p, Operation::kFetchAdd, 0, 4);
       }},
      {"a message longer than its receive WQE", kInvalid,
       [](NicPair& p) {
         p.post_receive(0, 99);
         p.post(p.wqe(WrOpcode::kSend, 0, 0, 100));
       },
       Told::kByCqe},
      {"a receive WQE in memory that is not registered", kOperation,
       [](NicPair& p) {
         RecvWqe w;
         w.num_sge = 1, w.sge[0] = {p.b.addr(), 4096, RKey{p.b.key.value ^ 0x5500}};
         ASSERT_EQ(p.b.nic.post_recv(p.b.qp, w, p.now()), PostResult::kOk);
         p.post(p.wqe(WrOpcode::kSend, 0, 0, 100));
       },
       Told::kByCqe},
  };
  return all;
}

class NicRefusalTest : public testing::TestWithParam<TransportMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, NicRefusalTest, testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

TEST_P(NicRefusalTest, ARefusedRequestIsCountedOnceByWhatIsWrongWithIt) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    NicPair pair(config_of(GetParam()));
    pair.connect(kPsn);
    c.ask(pair);
    pair.run_until(pair.now() + 50_us);
    expect_one(pair.b, c.counter);
    EXPECT_EQ(pair.b.nic.query_qp(pair.b.qp)->state, QpState::kErr);
  }
}

// IBTA 9.9.3.1.1, 9.9.3.1.3 and 11.6.3.
TEST_P(NicRefusalTest, ARefusalIsToldByTheReceiveWqeOfItsMessageOrElseByOneEvent) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    NicPair pair(config_of(GetParam()));
    pair.connect(kPsn);
    c.ask(pair);
    pair.run_until(pair.now() + 50_us);
    const bool by_cqe = c.told == Told::kByCqe;
    const Event kind = c.counter == kAccess ? Event::kQpAccessError : Event::kQpRequestError;
    std::vector<AsyncEvent> expected;
    if (!by_cqe) expected.push_back({kind, pair.b.qp.value});
    EXPECT_EQ(events_of(pair.b), expected);
    EXPECT_EQ(pair.b.cqes.size(), by_cqe ? 1u : 0u);
    EXPECT_TRUE(events_of(pair.a).empty()) << "the requester has its CQE";
  }
}

// Answers that come to an end that has sent packets kPsn to kPsn + 2, and whether they are to more than that.
TEST_P(NicRefusalTest, AnAnswerToWhatWasNeverSentIsCountedAndChangesNothing) {
  const bool irn = GetParam() == TransportMode::kIrn;
  struct Answer {
    Operation operation;
    std::uint32_t psn, sack;
    std::uint8_t syndrome;
    bool stray;
  };
  std::vector<Answer> answers = {
      {Operation::kAck, irn ? kPsn : kPsn - 1, 0, kAckNoCredits, false},  // stale
      {Operation::kAck, irn ? kPsn + 4 : kPsn + 3, 0, kAckNoCredits, true},
      {Operation::kAck, kPsn + 1000, 0, kAckNoCredits, true},
      {Operation::kAck, kPsn + 3, 0, kNakRemoteAccess, true},
  };
  if (irn) {
    answers.push_back({Operation::kNack, kPsn, kPsn + 3, kAckNoCredits, true});
    answers.push_back({Operation::kReadResponseOnly, kPsn + 5, 0, kAckNoCredits, true});
  } else {
    answers.push_back({Operation::kAck, kPsn + 3, 0, kNakPsnSequence, true});
  }
  for (const Answer& answer : answers) {
    SCOPED_TRACE(std::to_string(answer.psn - kPsn) + ", syndrome " + std::to_string(answer.syndrome));
    NicPair pair(config_of(GetParam()));
    pair.connect(kPsn);
    pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 3 * kMtu));
    pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 0));
    ASSERT_EQ(pair.a.nic.counters().rx_stray_answers, 0u);
    while (pair.a.nic.counters().tx_packets < 3) pair.run_until(pair.now() + 10_ns);
    PacketRef p = pair.a.pool.make();
    p->roce.opcode = make_opcode(irn ? TransportClass::kIrn : TransportClass::kRc, answer.operation);
    p->roce.dest = pair.a.qp, p->roce.psn = Psn(answer.psn & Psn::kMask), p->roce.sack = Psn(answer.sack);
    p->roce.syndrome = answer.syndrome, p->frame_length = 64;
    pair.a.nic.on_packet(std::move(p), pair.now());
    pair.run_until(pair.now() + 50_us);
    EXPECT_EQ(pair.a.nic.counters().rx_stray_answers, answer.stray ? 1u : 0u);
    EXPECT_EQ(pair.a.nic.query_qp(pair.a.qp)->state, QpState::kRts);
    EXPECT_EQ(pair.a.nic.counters().retransmitted_packets, 0u);
    ASSERT_EQ(pair.a.cqes.size(), 2u);
    for (const Cqe& done : pair.a.cqes) EXPECT_EQ(done.status, WcStatus::kSuccess);
  }
}

TEST_P(NicRefusalTest, WhatIsGrantedIsNotCounted) {
  NicPair pair(config_of(GetParam()));
  pair.connect(kPsn);
  pair.post_receive(0, 5000);
  for (const WrOpcode opcode : {WrOpcode::kWrite, WrOpcode::kRead, WrOpcode::kSend})
    pair.post(pair.wqe(opcode, 0, 0, 3 * kMtu));
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 100));  // no receive WQE: RNR NAK
  pair.run_until(pair.now() + 50_us);
  expect_one(pair.b, nullptr);
  EXPECT_GT(pair.b.nic.counters().out_of_buffer, 0u);
}

// Until the request that drew it comes again: no other may draw a NAK (IBTA 9.7.5.2.8).
TEST(NicRnrTest, WhatFollowsARequestThatDrewAnRnrNakDrawsNoAnswer) {
  NicPair pair;
  pair.connect(kPsn);
  for (int i = 0; i < 3; ++i) pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 100));
  pair.run_until(pair.now() + 50_us);
  EXPECT_EQ(pair.sent([](const Departure& d) { return d.side == 0; }).size(), 3u);
  const auto answers = pair.sent([](const Departure& d) { return d.side == 1; });
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(is_rnr_nak(answers[0].packet.roce.syndrome));
  EXPECT_EQ(answers[0].packet.roce.psn, Psn(kPsn));
}

// An old READ that asks for what is not granted draws no answer any more, but is counted.
TEST(NicDuplicateReadTest, ARepeatedReadThatIsNotGrantedIsCounted) {
  NicPair pair;
  pair.connect(kPsn);
  pair.post(pair.wqe(WrOpcode::kRead, 0, 0, 100));
  pair.run();
  const auto repeat = [&](RKey key, std::uint32_t length) {
    PacketRef p = pair.b.pool.make();
    p->roce.opcode = make_opcode(TransportClass::kRc, Operation::kReadRequest);
    p->roce.dest = pair.b.qp, p->roce.psn = Psn(kPsn), p->frame_length = 74;
    p->roce.va = pair.b.addr(), p->roce.rkey = key, p->roce.dma_length = length;
    pair.b.nic.on_packet(std::move(p), pair.now());
  };
  repeat(RKey{pair.b.key.value ^ 0x5500}, 100);
  expect_one(pair.b, kAccess);
  repeat(pair.b.key, 3 * kMtu);  // more than was asked for then
  EXPECT_EQ(pair.b.nic.counters().resp_remote_invalid_request, 1u);
  EXPECT_FALSE(pair.b.nic.has_more());
  EXPECT_EQ(pair.b.nic.counters().duplicate_request, 2u);
}

// The right that the QP lacks is lacking for what looks like a repetition, too.
TEST(NicDuplicateReadTest, ARepeatedReadNeedsTheQueuePairsRight) {
  NicPair pair;
  pair.attr.access_flags = kAccessRemoteWrite;
  pair.connect(kPsn);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 100));
  pair.run();
  PacketRef p = pair.b.pool.make();
  p->roce.opcode = make_opcode(TransportClass::kRc, Operation::kReadRequest);
  p->roce.dest = pair.b.qp, p->roce.psn = Psn(kPsn), p->frame_length = 74;
  p->roce.va = pair.b.addr(), p->roce.rkey = pair.b.key, p->roce.dma_length = 100;
  pair.b.nic.on_packet(std::move(p), pair.now());
  EXPECT_FALSE(pair.b.nic.has_more());
  expect_one(pair.b, kInvalid);
}

// --- UC

class UcPair : public NicPair {
 public:
  UcPair() {
    type = QpType::kUc;
    connect(kPsn);
  }
  void send(Operation operation, std::uint32_t psn, std::uint32_t payload, std::uint32_t dma_length = 0) {
    static const std::vector<std::byte> bytes(2 * kMtu);
    PacketRef p = b.pool.make();
    p->roce.opcode = make_opcode(TransportClass::kUc, operation);
    p->roce.dest = b.qp, p->roce.psn = Psn(kPsn + psn), p->frame_length = 60;
    p->roce.va = b.addr(), p->roce.rkey = b.key, p->roce.dma_length = dma_length;
    p->payload = bytes.data(), p->payload_length = payload;
    b.nic.on_packet(std::move(p), now());
  }
  struct Counts {
    std::uint64_t dropped = 0, incomplete = 0, invalid = 0, access = 0, no_wqe = 0, stray = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
  };
  Counts counts() const {
    const NicCounters& c = b.nic.counters();
    return {c.rx_dropped_messages,       c.rx_incomplete_messages, c.resp_remote_invalid_request,
            c.resp_remote_access_errors, c.out_of_buffer,          c.rx_stray_packets};
  }
};
void PrintTo(const UcPair::Counts& c, std::ostream* to) {
  *to << c.dropped << " dropped, " << c.incomplete << " incomplete, " << c.invalid << " invalid, " << c.access
      << " access, " << c.no_wqe << " without WQE, " << c.stray << " stray";
}

TEST(UcRefusalTest, AMessageOfWhichAPacketIsLostIsIncompleteAndItsRestIsStray) {
  for (const auto& [lost, counts] :
       {std::pair{1, UcPair::Counts{.stray = 2}}, std::pair{2, UcPair::Counts{.dropped = 1, .incomplete = 1}},
        std::pair{3, UcPair::Counts{.dropped = 1, .incomplete = 1}}}) {
    SCOPED_TRACE(lost);
    UcPair pair;
    pair.lose = lose_data(0, {lost});
    pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 3 * kMtu, 1));
    pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 100, 2));
    pair.run();
    EXPECT_EQ(pair.counts(), counts);
  }
}

TEST(UcRefusalTest, WhatIsNotAllowedIsCountedByWhatIsWrongWithIt) {
  using Counts = UcPair::Counts;
  using enum Operation;
  const Counts invalid{.dropped = 1, .invalid = 1};
  struct Step {
    const char* name;
    Counts counts;
    std::function<void(UcPair&)> go;
  };
  const Step steps[] = {
      {"an R_Key of nothing",
       {.dropped = 1, .access = 1},
       [](UcPair& p) {
         p.b.key.value ^= 0x5500;
         p.send(kWriteOnly, 0, 100, 100);
       }},
      {"beyond the region",
       {.dropped = 1, .access = 1},
       [](UcPair& p) { p.send(kWriteFirst, 0, kMtu, NicPair::kMemory + 1); }},
      {"a region that goes in the midst",
       {.dropped = 1, .access = 1},
       [](UcPair& p) {
         p.send(kWriteFirst, 0, kMtu, 2 * kMtu);
         ASSERT_TRUE(p.b.nic.dereg_mr(p.b.key));
         p.send(kWriteLast, 1, kMtu);
       }},
      {"more than said", invalid, [](UcPair& p) { p.send(kWriteOnly, 0, 101, 100); }},
      {"less than said", invalid, [](UcPair& p) { p.send(kWriteOnly, 0, 99, 100); }},
      {"a short first packet", invalid, [](UcPair& p) { p.send(kWriteFirst, 0, kMtu - 4, 2 * kMtu); }},
      {"a message in a message", invalid,
       [](UcPair& p) {
         p.send(kWriteFirst, 0, kMtu, 2 * kMtu);
         p.send(kWriteOnly, 1, 100, 100);
       }},
      {"the end of another kind", invalid,
       [](UcPair& p) {
         p.send(kWriteFirst, 0, kMtu, 2 * kMtu);
         p.send(kSendLast, 1, 100);
       }},
      {"no receive WQE",
       {.no_wqe = 1, .stray = 1},
       [](UcPair& p) {
         p.send(kSendFirst, 0, kMtu);
         p.send(kSendLast, 1, 100);
       }},
      {"the middle and the end of nothing",
       {.stray = 2},
       [](UcPair& p) {
         p.send(kSendMiddle, 0, kMtu);
         p.send(kWriteLast, 1, 100);
       }},
  };
  for (const Step& step : steps) {
    SCOPED_TRACE(step.name);
    UcPair pair;
    step.go(pair);
    EXPECT_EQ(pair.counts(), step.counts);
    EXPECT_EQ(pair.b.nic.query_qp(pair.b.qp)->state, QpState::kRts);
    EXPECT_TRUE(events_of(pair.b).empty()) << "IBTA 9.9.3.1.4, class D";
  }
}

}  // namespace
}  // namespace rocelab
