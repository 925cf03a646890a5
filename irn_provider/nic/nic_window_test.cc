// Memory windows between two Nics, in both modes: b binds, a uses and invalidates. IBTA Vol 1, 10.6.7.2,
// 10.6.5, 9.4.1.1 (SEND with invalidate).
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPsn = 0xfffff0, kMtu = 1024;
constexpr std::uint32_t kRemote = kAccessRemoteWrite | kAccessRemoteRead | kAccessRemoteAtomic;

class WindowPair : public NicPair {
 public:
  static constexpr std::size_t kBegin = 8192, kLength = 4096;  // of the window, in b's memory

  explicit WindowPair(TransportMode mode, QpType qp_type = QpType::kRc) : NicPair(config_of(mode)) {
    type = qp_type;
    attr.timeout = 8;  // 1 ms
    region = *b.nic.reg_mr(b.pd, b.addr(), b.bytes.size(), b.addr(), kAccessLocalWrite | kAccessMwBind);
    first = *b.nic.alloc_mw(b.pd, MwType::k1), second = *b.nic.alloc_mw(b.pd, MwType::k2);
    connect(kPsn);
  }
  static RKey next(RKey window) { return RKey{(window.value & ~0xffu) | ((window.value + 1) & 0xff)}; }
  SendWqe bind(RKey window, std::uint64_t wr_id = 1) const {
    SendWqe w;
    w.wr_id = wr_id, w.opcode = WrOpcode::kBindMw;
    set_binding(w, {window, next(window), region, b.addr(kBegin), kLength, kRemote});
    return w;
  }
  static SendWqe invalidate(RKey key, std::uint64_t wr_id = 1) {
    SendWqe w;
    w.wr_id = wr_id, w.opcode = WrOpcode::kLocalInvalidate, w.imm = key.value;
    return w;
  }
  PostResult post_at_b(const SendWqe& w) { return b.nic.post_send(b.qp, w, now()); }
  // What `w`, of a, ends with; runs until nothing happens any more.
  WcStatus end_of(const SendWqe& w) {
    const std::size_t before = a.cqes.size();
    EXPECT_EQ(post(w), PostResult::kOk);
    run();
    EXPECT_EQ(a.cqes.size(), before + 1);
    return a.cqes.size() > before ? a.cqes[before].status : WcStatus::kFatalErr;
  }
  SendWqe by_window(WrOpcode opcode, RKey key, std::size_t to, std::uint32_t length,
                    std::uint64_t wr_id = 1) const {
    SendWqe w = wqe(opcode, 0, to, length, wr_id);
    w.rkey = key;
    return w;
  }
  // Both ends again from RESET, for the next case.
  void restart() {
    for (Endpoint* e : {&a, &b}) {
      ASSERT_TRUE(e->nic.modify_qp(e->qp, QpAttr{}, now()));
      bring_up(*e, e->qp, e == &a ? b.qp : a.qp, kPsn, kPsn);
    }
    run();
    a.cqes.clear(), b.cqes.clear();
  }

  RKey region, first, second;
};

class NicWindowTest : public testing::TestWithParam<TransportMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, NicWindowTest, testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

TEST_P(NicWindowTest, APeerWritesReadsAndCountsThroughAWindow) {
  for (const bool type2 : {false, true}) {
    WindowPair pair(GetParam());
    const RKey window = type2 ? pair.second : pair.first, key = WindowPair::next(window);
    ASSERT_EQ(pair.post_at_b(pair.bind(window, 7)), PostResult::kOk);
    pair.run();
    ASSERT_EQ(pair.b.cqes.size(), 1u);
    EXPECT_EQ(pair.b.cqes[0].status, WcStatus::kSuccess);
    EXPECT_EQ(pair.b.cqes[0].opcode, WcOpcode::kBindMw);
    EXPECT_EQ(pair.b.cqes[0].wr_id, 7u);
    EXPECT_TRUE(pair.log.empty()) << "a bind sends nothing";
    pair.a.fill(0, WindowPair::kLength, 1);
    EXPECT_EQ(pair.end_of(pair.by_window(WrOpcode::kWrite, key, WindowPair::kBegin, WindowPair::kLength)),
              WcStatus::kSuccess);
    EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data() + WindowPair::kBegin, WindowPair::kLength),
              0);
    SendWqe read = pair.by_window(WrOpcode::kRead, key, WindowPair::kBegin, WindowPair::kLength);
    read.sge[0].addr = pair.a.addr(65'536);
    EXPECT_EQ(pair.end_of(read), WcStatus::kSuccess);
    EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.a.bytes.data() + 65'536, WindowPair::kLength), 0);
    SendWqe add = pair.by_window(WrOpcode::kFetchAdd, key, WindowPair::kBegin + WindowPair::kLength - 8, 8);
    add.compare_add = 3;
    std::uint64_t before = 0, after = 0;
    const std::byte* word = pair.b.bytes.data() + WindowPair::kBegin + WindowPair::kLength - 8;
    std::memcpy(&before, word, 8);
    EXPECT_EQ(pair.end_of(add), WcStatus::kSuccess);
    std::memcpy(&after, word, 8);
    EXPECT_EQ(after, before + 3);
  }
}

TEST_P(NicWindowTest, WhatLiesBesideTheWindowOrIsForgedIsRefused) {
  WindowPair pair(GetParam());
  const RKey key = WindowPair::next(pair.second);
  ASSERT_EQ(pair.post_at_b(pair.bind(pair.second)), PostResult::kOk);
  constexpr std::size_t kEnd = WindowPair::kBegin + WindowPair::kLength;
  struct Case {
    const char* what;
    RKey rkey;
    std::size_t to;
    std::uint32_t length;
  };
  const Case cases[] = {{"one byte below", key, WindowPair::kBegin - 1, 10},
                        {"one byte beyond", key, kEnd - 2 * kMtu, 2 * kMtu + 1},
                        {"behind it", key, kEnd, 1},
                        {"the key before", pair.second, WindowPair::kBegin, 10},
                        {"a forged low byte", RKey{key.value ^ 0x80}, WindowPair::kBegin, 10},
                        {"a forged number", RKey{key.value ^ 0x400}, WindowPair::kBegin, 10},
                        {"a window that is not bound", pair.first, WindowPair::kBegin, 10},
                        {"its region, which has no remote rights", pair.region, WindowPair::kBegin, 10}};
  for (const Case& c : cases)
    for (const WrOpcode opcode : {WrOpcode::kWrite, WrOpcode::kRead, WrOpcode::kFetchAdd}) {
      SCOPED_TRACE(c.what);
      const std::vector<std::byte> before = pair.b.bytes;
      SendWqe w = pair.by_window(opcode, c.rkey, c.to, c.length);
      if (opcode == WrOpcode::kFetchAdd) w.remote_addr &= ~std::uint64_t{7}, w.sge[0].length = 8;
      if (opcode == WrOpcode::kFetchAdd && c.rkey == key && c.to + c.length == kEnd + 1)
        w.remote_addr = pair.b.addr(kEnd);
      EXPECT_EQ(pair.end_of(w), WcStatus::kRemAccessErr);
      EXPECT_EQ(before, pair.b.bytes);
      pair.restart();
    }
  EXPECT_EQ(pair.end_of(pair.by_window(WrOpcode::kWrite, key, kEnd - 10, 10)), WcStatus::kSuccess)
      << "a window outlives its queue pair's errors and resets";
}

// Type 2 is of the QP that bound it, type 1 of all QPs of its domain.
TEST_P(NicWindowTest, AnotherQueuePairHasType1Only) {
  WindowPair pair(GetParam());
  const Qpn mine = pair.b.qp, peer = pair.a.qp;
  std::tie(pair.a.qp, pair.b.qp) = pair.connect(kPsn);
  ASSERT_EQ(pair.b.nic.post_send(mine, pair.bind(pair.first), pair.now()), PostResult::kOk);
  ASSERT_EQ(pair.b.nic.post_send(mine, pair.bind(pair.second), pair.now()), PostResult::kOk);
  const RKey second = WindowPair::next(pair.second);
  EXPECT_EQ(
      pair.end_of(pair.by_window(WrOpcode::kWrite, WindowPair::next(pair.first), WindowPair::kBegin, 9)),
      WcStatus::kSuccess);
  ASSERT_EQ(pair.post_at_b(WindowPair::invalidate(second, 5)), PostResult::kOk);
  pair.run();
  EXPECT_EQ(pair.b.cqes.back().status, WcStatus::kLocQpOpErr) << "nor may it invalidate it";
  pair.restart();
  EXPECT_EQ(pair.end_of(pair.by_window(WrOpcode::kWrite, second, WindowPair::kBegin, 9)),
            WcStatus::kRemAccessErr);
  pair.a.qp = peer;
  EXPECT_EQ(pair.end_of(pair.by_window(WrOpcode::kWrite, second, WindowPair::kBegin, 9)), WcStatus::kSuccess);
}

TEST_P(NicWindowTest, AQueuePairOfAnotherDomainNeitherBindsNorUsesIt) {
  WindowPair pair(GetParam());
  ASSERT_EQ(pair.post_at_b(pair.bind(pair.first)), PostResult::kOk);
  pair.run();
  const Pdn domain = pair.b.pd;
  pair.b.pd = pair.b.nic.alloc_pd();
  std::tie(pair.a.qp, pair.b.qp) = pair.connect(kPsn);
  EXPECT_EQ(
      pair.end_of(pair.by_window(WrOpcode::kWrite, WindowPair::next(pair.first), WindowPair::kBegin, 9)),
      WcStatus::kRemAccessErr);
  pair.restart();
  ASSERT_EQ(pair.post_at_b(pair.bind(pair.second)), PostResult::kOk);
  pair.run();
  EXPECT_EQ(pair.b.cqes.back().status, WcStatus::kMwBindErr);
  EXPECT_NE(domain, pair.b.pd);
}

TEST_P(NicWindowTest, ABindThatFailsEndsTheQueuePairAndWhatIsBehindIt) {
  WindowPair pair(GetParam());
  SendWqe bad = pair.bind(pair.second, 2);
  set_binding(bad, {pair.second, WindowPair::next(pair.second), pair.b.key, pair.b.addr(), 10, kRemote});
  bad.signaled = false;
  SendWqe write =
      pair.wqe(WrOpcode::kWrite, 0, 0, 3 * kMtu, 1);  // from b to a, in flight when its turn comes
  write.sge[0] = {pair.b.addr(), 3 * kMtu, pair.b.key}, write.remote_addr = pair.a.addr(),
  write.rkey = pair.a.key;
  ASSERT_EQ(pair.post_at_b(write), PostResult::kOk);
  ASSERT_EQ(pair.post_at_b(bad), PostResult::kOk);
  write.wr_id = 3;
  ASSERT_EQ(pair.post_at_b(write), PostResult::kOk);
  pair.run();
  ASSERT_EQ(pair.b.cqes.size(), 3u);
  EXPECT_EQ(pair.b.cqes[0].status, WcStatus::kSuccess) << "what stands before it is done first";
  EXPECT_EQ(pair.b.cqes[1].status, WcStatus::kMwBindErr);
  EXPECT_EQ(pair.b.cqes[1].wr_id, 2u);
  EXPECT_EQ(pair.b.cqes[2].status, WcStatus::kWrFlushErr);
  EXPECT_EQ(pair.b.nic.query_qp(pair.b.qp)->state, QpState::kErr);
  EXPECT_EQ(pair.post_at_b(pair.bind(pair.second, 4)), PostResult::kOk);
  pair.run();
  EXPECT_EQ(pair.b.cqes.back().status, WcStatus::kWrFlushErr);
  EXPECT_EQ(pair.b.cqes.back().opcode, WcOpcode::kBindMw);
}

TEST_P(NicWindowTest, InvalidatedByItsOwnerOrBySendItIsClosed) {
  for (const bool by_peer : {false, true}) {
    WindowPair pair(GetParam());
    const RKey key = WindowPair::next(pair.second);
    ASSERT_EQ(pair.post_at_b(pair.bind(pair.second)), PostResult::kOk);
    ASSERT_EQ(pair.end_of(pair.by_window(WrOpcode::kWrite, key, WindowPair::kBegin, 10)), WcStatus::kSuccess);
    if (by_peer) {
      pair.post_receive(0, 4096, 50);
      SendWqe send = pair.wqe(WrOpcode::kSendInvalidate, 0, 0, kMtu + 5, 9);
      send.imm = key.value;
      EXPECT_EQ(pair.end_of(send), WcStatus::kSuccess);
      EXPECT_EQ(pair.b.cqes.back().status, WcStatus::kSuccess);
      EXPECT_TRUE(pair.b.cqes.back().has_invalidated);
      EXPECT_FALSE(pair.b.cqes.back().has_imm);
      EXPECT_EQ(pair.b.cqes.back().imm, key.value);
      EXPECT_EQ(pair.b.cqes.back().byte_len, kMtu + 5);
    } else {
      ASSERT_EQ(pair.post_at_b(WindowPair::invalidate(key, 9)), PostResult::kOk);
      pair.run();
      EXPECT_EQ(pair.b.cqes.back().status, WcStatus::kSuccess);
      EXPECT_EQ(pair.b.cqes.back().opcode, WcOpcode::kLocalInvalidate);
    }
    EXPECT_EQ(pair.end_of(pair.by_window(WrOpcode::kWrite, key, WindowPair::kBegin, 10)),
              WcStatus::kRemAccessErr);
    pair.restart();
    ASSERT_EQ(pair.post_at_b(pair.bind(key)), PostResult::kOk) << "it can be bound again";
    pair.run();
    EXPECT_EQ(pair.b.cqes.back().status, WcStatus::kSuccess);
    EXPECT_EQ(pair.end_of(pair.by_window(WrOpcode::kWrite, key, WindowPair::kBegin, 10)),
              WcStatus::kRemAccessErr);
    pair.restart();
    EXPECT_EQ(pair.end_of(pair.by_window(WrOpcode::kWrite, WindowPair::next(key), WindowPair::kBegin, 10)),
              WcStatus::kSuccess);
  }
}

// IBTA 9.9.3, class J, as with Linux rxe: acknowledged, the receive WQE in error, the QP too.
TEST_P(NicWindowTest, ASendThatInvalidatesWhatItMayNotEndsItsReceiver) {
  for (const char* what : {"type 1", "the key before", "not bound", "another QP's"}) {
    SCOPED_TRACE(what);
    WindowPair pair(GetParam());
    Qpn binder = pair.b.qp;
    if (what == std::string("another QP's")) binder = pair.connect(kPsn).second;
    RKey key = WindowPair::next(pair.second);
    if (what == std::string("type 1")) key = WindowPair::next(pair.first);
    if (what == std::string("the key before")) key = pair.second;
    for (const RKey window : {pair.first, pair.second})
      if (what != std::string("not bound")) {
        ASSERT_EQ(pair.b.nic.post_send(binder, pair.bind(window), pair.now()), PostResult::kOk);
      }
    pair.post_receive(0, 4096, 50);
    SendWqe send = pair.wqe(WrOpcode::kSendInvalidate, 0, 0, 100, 9);
    send.imm = key.value;
    EXPECT_EQ(pair.end_of(send), WcStatus::kSuccess);
    EXPECT_EQ(pair.b.cqes.back().status, WcStatus::kRemInvReqErr);
    EXPECT_FALSE(pair.b.cqes.back().has_invalidated);
    EXPECT_EQ(pair.b.nic.query_qp(pair.b.qp)->state, QpState::kErr);
  }
}

// IBTA 10.8.3.3: the requester's fence keeps a window open for its READ, also for one whose response is lost.
TEST_P(NicWindowTest, AFencedSendInvalidatesWhenTheReadBeforeItIsDone) {
  WindowPair pair(GetParam());
  const RKey key = WindowPair::next(pair.second);
  ASSERT_EQ(pair.post_at_b(pair.bind(pair.second)), PostResult::kOk);
  pair.b.fill(WindowPair::kBegin, WindowPair::kLength, 6);
  pair.post_receive(0, 4096, 50);
  pair.lose = lose_data(1, {2});
  ASSERT_EQ(pair.post(pair.by_window(WrOpcode::kRead, key, WindowPair::kBegin, WindowPair::kLength, 1)),
            PostResult::kOk);
  SendWqe send = pair.wqe(WrOpcode::kSendInvalidate, 65'536, 0, 100, 2);
  send.imm = key.value, send.fence = true;
  ASSERT_EQ(pair.post(send), PostResult::kOk);
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 2u);
  for (const Cqe& cqe : pair.a.cqes) EXPECT_EQ(cqe.status, WcStatus::kSuccess);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), pair.b.bytes.data() + WindowPair::kBegin, WindowPair::kLength),
            0);
  EXPECT_TRUE(pair.b.cqes.back().has_invalidated);
}

// The window is bound again with the same key before a copy of the SEND that invalidated it comes.
TEST_P(NicWindowTest, AReplayedSendInvalidatesNothing) {
  WindowPair pair(GetParam());
  const RKey key = WindowPair::next(pair.second);
  ASSERT_EQ(pair.post_at_b(pair.bind(pair.second)), PostResult::kOk);
  pair.post_receive(0, 4096, 50);
  pair.post_receive(0, 4096, 51);
  SendWqe send = pair.wqe(WrOpcode::kSendInvalidate, 0, 0, 100, 9);
  send.imm = key.value;
  pair.lose = lose_acks(1, {1});
  ASSERT_EQ(pair.post(send), PostResult::kOk);
  bool bound_again = false;
  pair.on_cqe = [&](NicPair&, Endpoint& at, const Cqe& cqe) {
    if (&at != &pair.b || cqe.wr_id != 50) return;
    SendWqe again = pair.bind(pair.second, 2);
    ASSERT_EQ(pair.post_at_b(again), PostResult::kOk);
    bound_again = true;
  };
  pair.run();
  ASSERT_TRUE(bound_again);
  EXPECT_GE(pair.sent([](const Departure& d) {
                  return d.side == 0 && opcode_info(d.packet.roce.opcode).has(Header::kIeth);
                })
                .size(),
            2u)
      << "the acknowledgement was lost";
  EXPECT_EQ(pair.b.cqes.size(), 3u) << "two binds and one message";
  EXPECT_EQ(pair.end_of(pair.by_window(WrOpcode::kWrite, key, WindowPair::kBegin, 10)), WcStatus::kSuccess);
}

// What is posted before a bind leaves before it; what is behind it may count on it. A local invalidate waits
// for all before it (IBTA 10.6.5.1), a fenced bind for READs (10.8.3.3).
TEST_P(NicWindowTest, TheSendQueueKeepsItsOrder) {
  WindowPair pair(GetParam());
  const RKey key = WindowPair::next(pair.second);
  SendWqe read = pair.wqe(WrOpcode::kRead, 0, 0, 3 * kMtu, 1);  // b's READ from a
  read.sge[0] = {pair.b.addr(), 3 * kMtu, pair.b.key}, read.remote_addr = pair.a.addr(),
  read.rkey = pair.a.key;
  std::map<std::uint64_t, Time> done;
  pair.on_cqe = [&](NicPair& p, Endpoint& at, const Cqe& cqe) {
    if (&at == &p.b) done[cqe.wr_id] = cqe.time;
  };
  SendWqe fenced = pair.bind(pair.first, 3);
  fenced.fence = true;
  ASSERT_EQ(pair.post_at_b(read), PostResult::kOk);
  ASSERT_EQ(pair.post_at_b(pair.bind(pair.second, 2)), PostResult::kOk);
  ASSERT_EQ(pair.post_at_b(fenced), PostResult::kOk);
  pair.run_until(pair.now() + 1_us);
  EXPECT_TRUE(done.empty()) << "completions come in order: the READ's first";
  EXPECT_TRUE(pair.b.nic.mr_has_windows(pair.region)) << "the first bind is done when the READ has left";
  EXPECT_EQ(pair.end_of(pair.by_window(WrOpcode::kWrite, key, WindowPair::kBegin, 10)), WcStatus::kSuccess);
  ASSERT_EQ(done.size(), 3u);
  EXPECT_EQ(done[1], done[2]);
  EXPECT_EQ(done[1], done[3]);
  read.wr_id = 4;
  ASSERT_EQ(pair.post_at_b(read), PostResult::kOk);
  ASSERT_EQ(pair.post_at_b(WindowPair::invalidate(key, 5)), PostResult::kOk);
  pair.run_until(pair.now() + 3_us);
  EXPECT_EQ(
      pair.end_of(pair.by_window(WrOpcode::kWrite, WindowPair::next(pair.first), WindowPair::kBegin, 10)),
      WcStatus::kSuccess);
  ASSERT_EQ(done.size(), 5u);
  EXPECT_EQ(done[4], done[5]);
  EXPECT_EQ(pair.end_of(pair.by_window(WrOpcode::kWrite, key, WindowPair::kBegin, 10)),
            WcStatus::kRemAccessErr);
}

// A fenced bind has not been executed while a READ before it has its answer to come.
TEST_P(NicWindowTest, AFencedBindAndALocalInvalidateWaitForAReadInFlight) {
  for (const bool binds : {true, false}) {
    WindowPair pair(GetParam());
    const RKey key = WindowPair::next(pair.second);
    ASSERT_EQ(pair.post_at_b(pair.bind(pair.second, 1)), PostResult::kOk);
    pair.run();
    SendWqe read = pair.wqe(WrOpcode::kRead, 0, 0, kMtu, 2);
    read.sge[0] = {pair.b.addr(), kMtu, pair.b.key}, read.remote_addr = pair.a.addr(), read.rkey = pair.a.key;
    ASSERT_EQ(pair.post_at_b(read), PostResult::kOk);
    SendWqe later = binds ? pair.bind(pair.first, 3) : WindowPair::invalidate(key, 3);
    later.fence = binds;
    ASSERT_EQ(pair.post_at_b(later), PostResult::kOk);
    pair.run_until(pair.now() + 1_us);
    ASSERT_TRUE(pair.b.nic.dealloc_mw(pair.first)) << "the fenced bind finds no window then";
    EXPECT_TRUE(pair.b.nic.mr_has_windows(pair.region));
    pair.run();
    EXPECT_EQ(pair.b.cqes[1].status, WcStatus::kSuccess);
    EXPECT_EQ(pair.b.cqes[2].status, binds ? WcStatus::kMwBindErr : WcStatus::kSuccess);
    EXPECT_EQ(pair.b.nic.mr_has_windows(pair.region), binds);
  }
}

// SQD holds back what has not begun, binds too.
TEST_P(NicWindowTest, ADrainedQueueHoldsABindBack) {
  WindowPair pair(GetParam());
  QpAttr attr = *pair.b.nic.query_qp(pair.b.qp);
  attr.state = QpState::kSqd;
  ASSERT_TRUE(pair.b.nic.modify_qp(pair.b.qp, attr, pair.now()));
  ASSERT_EQ(pair.post_at_b(pair.bind(pair.second)), PostResult::kOk);
  pair.run();
  EXPECT_TRUE(pair.b.cqes.empty());
  attr.state = QpState::kRts;
  ASSERT_TRUE(pair.b.nic.modify_qp(pair.b.qp, attr, pair.now()));
  pair.run();
  ASSERT_EQ(pair.b.cqes.size(), 1u);
  EXPECT_EQ(pair.b.cqes[0].status, WcStatus::kSuccess);
}

// Many binds between WRITEs, unsignaled: nothing is lost, nothing is numbered wrongly, at any loss.
TEST_P(NicWindowTest, BindsBetweenMessagesDisturbNeitherPsnsNorCompletions) {
  WindowPair pair(GetParam());
  pair.lose = [n = 0](const Departure&) mutable { return ++n % 7 == 0; };
  constexpr std::uint64_t kRounds = 60;
  const RKey own = *pair.a.nic.reg_mr(pair.a.pd, pair.a.addr(), 4096, pair.a.addr(), kAccessMwBind);
  RKey window = *pair.a.nic.alloc_mw(pair.a.pd, MwType::k1);
  for (std::uint64_t i = 0; i < kRounds; ++i) pair.post_receive(300'000 + i * 8192, 8192);
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    const auto length = static_cast<std::uint32_t>(100 + i * 90);
    pair.a.fill(i * 8192, length, i);
    SendWqe bind = pair.bind(window, 1000 + i);
    bind.signaled = i % 3 == 0;
    set_binding(bind, {window, WindowPair::next(window), own, pair.a.addr(), 16, kAccessRemoteRead});
    window = WindowPair::next(window);
    ASSERT_EQ(pair.post(bind), PostResult::kOk);
    ASSERT_EQ(pair.post(pair.wqe(WrOpcode::kSend, i * 8192, 0, length, i)), PostResult::kOk);
  }
  pair.run();
  std::vector<std::uint64_t> order;
  for (const Cqe& cqe : pair.a.cqes) {
    EXPECT_EQ(cqe.status, WcStatus::kSuccess);
    order.push_back(cqe.wr_id);
  }
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    if (i % 3 == 0) expected.push_back(1000 + i);
    expected.push_back(i);
  }
  EXPECT_EQ(order, expected);
  ASSERT_EQ(pair.b.cqes.size(), kRounds);
  for (std::size_t i = 0; i < kRounds; ++i)
    EXPECT_EQ(
        std::memcmp(pair.a.bytes.data() + i * 8192, pair.b.bytes.data() + 300'000 + i * 8192, 100 + i * 90),
        0);
}

TEST_P(NicWindowTest, RegionsAndDomainsStayWhileWindowsNeedThem) {
  WindowPair pair(GetParam());
  Nic& nic = pair.b.nic;
  ASSERT_EQ(pair.post_at_b(pair.bind(pair.second)), PostResult::kOk);
  pair.run();
  EXPECT_TRUE(nic.mr_has_windows(pair.region));
  EXPECT_FALSE(nic.dereg_mr(pair.region));
  EXPECT_FALSE(nic.rereg_mr(pair.region, std::nullopt, std::nullopt, kAccessLocalWrite));
  ASSERT_EQ(pair.post_at_b(WindowPair::invalidate(WindowPair::next(pair.second))), PostResult::kOk);
  pair.run();
  EXPECT_FALSE(nic.mr_has_windows(pair.region));
  EXPECT_TRUE(nic.dereg_mr(pair.region));
  const Pdn domain = nic.alloc_pd();
  const RKey window = *nic.alloc_mw(domain, MwType::k1);
  EXPECT_FALSE(nic.free_pd(domain));
  EXPECT_TRUE(nic.dealloc_mw(window));
  EXPECT_FALSE(nic.dealloc_mw(window));
  EXPECT_TRUE(nic.free_pd(domain));
  EXPECT_FALSE(nic.alloc_mw(domain, MwType::k1));
}

TEST_P(NicWindowTest, AQueuePairThatGoesFreesItsType2Windows) {
  WindowPair pair(GetParam());
  ASSERT_EQ(pair.post_at_b(pair.bind(pair.second)), PostResult::kOk);
  ASSERT_TRUE(pair.b.nic.destroy_qp(pair.b.qp));
  EXPECT_TRUE(pair.b.nic.dereg_mr(pair.region));
}

// A WRITE whose window is closed between its packets.
TEST_P(NicWindowTest, AMessageWhoseWindowIsClosedInItsMiddleIsRefused) {
  WindowPair pair(GetParam());
  const RKey key = WindowPair::next(pair.second);
  ASSERT_EQ(pair.post_at_b(pair.bind(pair.second)), PostResult::kOk);
  ASSERT_EQ(pair.post(pair.by_window(WrOpcode::kWrite, key, WindowPair::kBegin, 4 * kMtu)), PostResult::kOk);
  while (pair.log.size() < 2) pair.run_until(pair.now() + 100_ns);
  ASSERT_EQ(pair.post_at_b(WindowPair::invalidate(key)), PostResult::kOk);
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kRemAccessErr);
}

TEST_P(NicWindowTest, UnreliableConnectionsHaveWindowsAndDatagramsHaveNot) {
  WindowPair uc(GetParam(), QpType::kUc);
  ASSERT_EQ(uc.post_at_b(uc.bind(uc.second)), PostResult::kOk);
  uc.a.fill(0, 10, 4);
  const SendWqe write = uc.by_window(WrOpcode::kWrite, WindowPair::next(uc.second), WindowPair::kBegin, 10);
  EXPECT_EQ(uc.end_of(write), WcStatus::kSuccess);
  EXPECT_EQ(std::memcmp(uc.a.bytes.data(), uc.b.bytes.data() + WindowPair::kBegin, 10), 0);
  ASSERT_EQ(uc.post_at_b(WindowPair::invalidate(WindowPair::next(uc.second))), PostResult::kOk);
  uc.a.fill(0, 10, 5);
  EXPECT_EQ(uc.end_of(write), WcStatus::kSuccess) << "nobody tells it";
  EXPECT_NE(std::memcmp(uc.a.bytes.data(), uc.b.bytes.data() + WindowPair::kBegin, 10), 0);
  EXPECT_EQ(uc.b.nic.counters().rx_dropped_messages, 1u);
  WindowPair ud(GetParam(), QpType::kUd);
  EXPECT_EQ(ud.post_at_b(ud.bind(ud.second)), PostResult::kBadOpcode);
  EXPECT_EQ(ud.post_at_b(WindowPair::invalidate(ud.second)), PostResult::kBadOpcode);
}

TEST_P(NicWindowTest, LocalRequestsCarryNoData) {
  WindowPair pair(GetParam());
  SendWqe w = pair.bind(pair.second);
  w.num_sge = 1;
  EXPECT_EQ(pair.post_at_b(w), PostResult::kBadSge);
  w = WindowPair::invalidate(pair.second);
  w.inline_data = true;
  EXPECT_EQ(pair.post_at_b(w), PostResult::kBadSge);
}

}  // namespace
}  // namespace rocelab
