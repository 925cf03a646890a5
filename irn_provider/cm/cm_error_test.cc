// What does not fit: forged, replayed, stale and malformed datagrams, full backlogs. Nothing changes but a
// counter, or the answer is the one that the specification names.
#include <gtest/gtest.h>

#include "irn_provider/cm/cm_fixture.h"

namespace rocelab::cm {
namespace {

using test::kGid;
using test::Pair;

std::array<std::byte, kMadBytes> bytes_of(Message message) {
  std::array<std::byte, kMadBytes> out{};
  CmMad{9, 0, std::move(message)}.write(out);
  return out;
}

// Delivers `message` to side 1 as if from side 0.
void forge(Pair& pair, Message message, const Gid& from = kGid[0]) {
  pair.cm[1].on_mad(bytes_of(std::move(message)), from, kGid[1], pair.now);
  pair.drain();
}

TEST(CmErrorTest, AnswersThatNameNothingAreCounted) {
  Pair pair;
  forge(pair, Rep{});
  forge(pair, Rtu{1, 2, {}});
  forge(pair, Rej{1, 0x99999999, Answered::kReq, 0, RejReason::kConsumer, {}, {}});
  forge(pair, Mra{1, 3, Answered::kReq, 31, {}});
  forge(pair, Drep{1, 2, {}});
  forge(pair, SidrRep{});
  EXPECT_EQ(pair.cm[1].counters().rx_unknown_id, 6u);
  EXPECT_TRUE(pair.sent.empty());
  EXPECT_TRUE(pair.events[1].empty());
}

TEST(CmErrorTest, ListenersAreNobodysPartner) {
  Pair pair;
  const CommId id = pair.cm[1].find(pair.listen())->local_id;
  forge(pair, Rtu{1, id, {}});
  forge(pair, Rej{1, id, Answered::kReq, 0, RejReason::kConsumer, {}, {}});
  EXPECT_EQ(pair.cm[1].counters().rx_unknown_id, 2u);
  EXPECT_EQ(pair.cm[1].find(pair.listen())->state, State::kListen);
}

TEST(CmErrorTest, UnknownConnectionIsGladlyReleased) {  // IBTA 12.9.8.5: its DREP was lost
  Pair pair;
  forge(pair, Dreq{5, 6, Qpn{7}, {}});
  EXPECT_EQ(pair.sent, (std::vector<std::string>{"1 DREP"}));
}

TEST(CmErrorTest, OnlyThePeerEndsAConnection) {
  Pair pair;
  pair.listen();
  const auto [active, passive] = pair.connect();
  const Endpoint& victim = *pair.cm[1].find(passive);
  const CommId mine = victim.local_id, theirs = victim.remote_id;
  forge(pair, Dreq{theirs, mine, victim.local_qpn, {}}, kGid[1]);        // from another port
  forge(pair, Dreq{theirs + 1, mine, victim.local_qpn, {}});             // with another ID
  forge(pair, Dreq{theirs, mine, Qpn{victim.local_qpn.value + 1}, {}});  // of another QP
  forge(pair, Rej{theirs, mine, Answered::kRep, 0, RejReason::kConsumer, {}, {}}, kGid[1]);
  forge(pair, Rej{theirs + 1, mine, Answered::kRep, 0, RejReason::kConsumer, {}, {}});
  EXPECT_EQ(pair.cm[1].counters().rx_wrong_peer, 5u);
  EXPECT_EQ(victim.state, State::kEstablished);
  EXPECT_TRUE(pair.events[1].empty());
}

TEST(CmErrorTest, EveryMessageOfAConnectionReplayedChangesNothing) {
  Pair pair;
  pair.listen();
  const auto [active, passive] = pair.connect();
  const auto history = pair.history;
  for (int round = 0; round < 3; ++round)
    for (const auto& [side, mad] : history) {
      pair.cm[1 - side].on_mad(mad.bytes, mad.local_gid, mad.remote_gid, pair.now);
      pair.run_for(10_us);
    }
  EXPECT_EQ(pair.cm[0].find(active)->state, State::kEstablished);
  EXPECT_EQ(pair.cm[1].find(passive)->state, State::kEstablished);
  EXPECT_TRUE(pair.events[0].empty());
  EXPECT_TRUE(pair.events[1].empty());
  EXPECT_GE(pair.cm[1].counters().rx_duplicates, 6u);  // REQ, RTU
  EXPECT_GE(pair.cm[0].counters().rx_duplicates, 3u);  // REP
}

TEST(CmErrorTest, RequestReplayedAfterTheEndIsStale) {
  Pair pair;
  pair.listen();
  const auto [active, passive] = pair.connect();
  const OutgoingMad request = pair.history.front().second;
  pair.cm[0].disconnect(active, pair.now);
  pair.run_for(1_ms);
  pair.cm[1].disconnect(passive, pair.now);
  pair.run_for(1_ms);
  pair.sent.clear();
  pair.cm[1].on_mad(request.bytes, kGid[0], kGid[1], pair.now);
  pair.drain();
  EXPECT_EQ(pair.sent, (std::vector<std::string>{"1 REJ"}));
}

// Of a peer that was restarted: with the QP number of the connection that it has forgotten.
Req request_again() {
  Req again;
  again.local_id = 0x77;
  again.ca_guid = test::config_of(0).ca_guid;
  again.qpn = test::kQpn[0];
  again.service_id = service_id(PortSpace::kTcp, test::kPort);
  again.mtu = 3;
  return again;
}

// A program that starts behind another one may get its QP number at once.
TEST(CmErrorTest, QpOfAConnectionInTimewaitTakesAnother) {
  Pair pair;
  pair.listen();
  const auto [active, passive] = pair.connect();
  pair.cm[0].disconnect(active, pair.now);
  pair.run_for(1_ms);
  EXPECT_EQ(pair.take(1, EventKind::kDisconnected).handle, passive);
  pair.cm[1].destroy(passive, pair.now);
  pair.run_for(1_ms);
  EXPECT_EQ(pair.take(0, EventKind::kDisconnected).handle, active);
  ASSERT_EQ(pair.cm[0].find(active)->state, State::kTimewait);
  const auto again = pair.connect();
  EXPECT_EQ(pair.cm[0].counters().rx_stale + pair.cm[1].counters().rx_stale, 0u);
  pair.run();  // the first one's timewait ends and takes nothing of the second
  EXPECT_EQ(pair.take(0, EventKind::kTimewaitExit).handle, active);
  forge(pair, request_again());
  EXPECT_EQ(pair.cm[1].counters().rx_stale, 1u) << "the second one is connected";
  pair.run_for(1_ms);
  EXPECT_EQ(pair.take(0, EventKind::kDisconnected).handle, again.active);
}

TEST(CmErrorTest, StaleConnectionIsRejectedAndTheOldOneEndsOnce) {
  Pair pair;
  pair.listen();
  const Handle old = pair.connect().passive;
  forge(pair, request_again());
  EXPECT_EQ(pair.cm[1].counters().rx_stale, 1u);
  EXPECT_EQ(pair.count("1 REJ"), 1);
  EXPECT_EQ(pair.count("1 DREQ"), 1);
  EXPECT_TRUE(pair.events[1].empty()) << "as Linux: when the peer has answered";
  pair.run_for(1_ms);
  pair.cm[0].destroy(pair.take(0, EventKind::kDisconnected).handle, pair.now);
  pair.run();
  EXPECT_EQ(pair.take(1, EventKind::kDisconnected).handle, old);
  pair.take(1, EventKind::kTimewaitExit);
  EXPECT_TRUE(pair.events[1].empty());
}

TEST(CmErrorTest, StaleConnectionWhosePeerIsSilentEndsOnce) {
  Pair pair;
  pair.listen();
  const Handle old = pair.connect().passive;
  pair.lose = [](int, const CmMad&) { return true; };
  forge(pair, request_again());
  pair.run();
  EXPECT_EQ(pair.take(1, EventKind::kDisconnected).handle, old);
  pair.take(1, EventKind::kTimewaitExit);
  EXPECT_TRUE(pair.events[1].empty());
}

// What QP1 may drop first when too much waits: the peer asks again, or is nobody's.
TEST(CmErrorTest, AnswersToStrangersAndDuplicatesAreDispensableAndOwnMessagesAreNot) {
  Pair pair;
  pair.listen();
  pair.connect();
  for (const auto& [side, mad] : pair.history) EXPECT_FALSE(mad.dispensable);
  const auto history = pair.history;
  pair.history.clear();
  for (const auto& [side, mad] : history)
    pair.cm[1 - side].on_mad(mad.bytes, mad.local_gid, mad.remote_gid, pair.now);
  forge(pair, Dreq{5, 6, Qpn{7}, {}});
  forge(pair, request_again());  // REJ, and a DREQ of our own
  EXPECT_EQ(pair.history.size(), 4u);
  for (const auto& [side, mad] : pair.history)
    EXPECT_EQ(mad.dispensable, name_of(CmMad::parse(mad.bytes)->message) != std::string("DREQ"));
}

TEST(CmErrorTest, RequestsThatCannotBeServedAreRejectedWithTheirReason) {
  struct Case {
    const char* what;
    std::function<void(Req&)> damage;
    RejReason reason;
  };
  const Case cases[] = {
      {"RD", [](Req& r) { r.service = Service::kRd; }, RejReason::kInvalidTransport},
      {"XRC", [](Req& r) { r.service = Service::kExtended; }, RejReason::kInvalidTransport},
      {"MTU 0", [](Req& r) { r.mtu = 0; }, RejReason::kInvalidMtu},
      {"MTU 6", [](Req& r) { r.mtu = 6; }, RejReason::kInvalidMtu},
      {"no IP header", [](Req& r) { r.private_data.fill(0xff); }, RejReason::kConsumer},
      {"port", [](Req& r) { ++r.service_id; }, RejReason::kInvalidServiceId},
  };
  for (const Case& c : cases) {
    Pair pair;
    pair.listen();
    Req req;
    req.local_id = 0x88;
    req.mtu = 3;
    req.service_id = service_id(PortSpace::kTcp, test::kPort);
    IpHeader{}.write(req.private_data);
    c.damage(req);
    forge(pair, req);
    ASSERT_EQ(pair.history.size(), 1u) << c.what;
    const auto answer = CmMad::parse(pair.history[0].second.bytes);
    EXPECT_EQ(std::get<Rej>(answer->message).reason, c.reason) << c.what;
    EXPECT_EQ(std::get<Rej>(answer->message).remote_id, 0x88u) << c.what;
    EXPECT_TRUE(pair.events[1].empty()) << c.what;
  }
}

TEST(CmErrorTest, FullBacklogDropsAndServesTheRetry) {
  Pair pair;
  const Handle listener = pair.cm[1].listen(service_id(PortSpace::kTcp, test::kPort), 1);
  ConnectParams p = pair.request();
  pair.cm[0].connect(p, pair.now);
  p.qpn = Qpn{5'000};
  pair.cm[0].connect(p, pair.now);
  pair.run_for(1_ms);
  EXPECT_EQ(pair.cm[1].counters().rx_backlog_full, 1u);
  pair.cm[1].fetched(pair.take(1, EventKind::kRequest).handle);
  pair.run_for(10'000_ms);
  EXPECT_EQ(pair.take(1, EventKind::kRequest).listener, listener);
}

TEST(CmErrorTest, RejectedRequestThatComesAgainDrawsTheSameAnswer) {
  Pair pair;
  pair.listen();
  pair.cm[0].connect(pair.request(), pair.now);
  pair.run_for(1_ms);
  const Handle passive = pair.take(1, EventKind::kRequest).handle;
  ASSERT_TRUE(pair.cm[1].reject(passive, RejReason::kConsumer, {}, pair.now));
  pair.run_for(1_ms);
  const OutgoingMad request = pair.history.front().second, answer = pair.history.back().second;
  pair.cm[1].on_mad(request.bytes, kGid[0], kGid[1], pair.now);
  pair.drain();
  EXPECT_EQ(pair.history.back().second.bytes, answer.bytes);
  EXPECT_TRUE(pair.events[1].empty());
}

TEST(CmErrorTest, PrivateDataThatDoesNotFitIsRefusedAtOnce) {
  Pair pair;
  pair.listen();
  const std::vector<std::uint8_t> big(kConnectPrivateBytes + 1);
  ConnectParams p = pair.request();
  p.private_data = big;
  EXPECT_EQ(pair.cm[0].connect(p, pair.now).value, 0u);
  p.private_data = std::span(big).first(kConnectPrivateBytes);
  EXPECT_NE(pair.cm[0].connect(p, pair.now).value, 0u);
  pair.run_for(1_ms);
  const Handle passive = pair.take(1, EventKind::kRequest).handle;
  const std::vector<std::uint8_t> huge(Rep::kPrivateBytes + 1);
  AcceptParams a = pair.acceptance();
  a.private_data = huge;
  EXPECT_FALSE(pair.cm[1].accept(passive, a, pair.now));
  EXPECT_FALSE(pair.cm[1].reject(passive, RejReason::kConsumer, huge, pair.now));
  EXPECT_EQ(pair.cm[1].find(passive)->state, State::kReqReceived);
}

TEST(CmErrorTest, CallsInTheWrongStateFailAndChangeNothing) {
  Pair pair;
  const Handle listener = pair.listen();
  const auto [active, passive] = pair.connect();
  EXPECT_FALSE(pair.cm[0].establish(active, pair.now));
  EXPECT_FALSE(pair.cm[1].accept(passive, pair.acceptance(), pair.now));
  EXPECT_FALSE(pair.cm[1].reject(passive, RejReason::kConsumer, {}, pair.now));
  EXPECT_FALSE(pair.cm[1].disconnect(listener, pair.now));
  EXPECT_FALSE(pair.cm[1].accept(Handle{999}, pair.acceptance(), pair.now));
  pair.cm[1].destroy(Handle{999}, pair.now);
  EXPECT_TRUE(pair.cm[0].disconnect(active, pair.now));
  EXPECT_FALSE(pair.cm[0].disconnect(active, pair.now));
}

}  // namespace
}  // namespace rocelab::cm
