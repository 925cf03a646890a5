// Two connection managers, message by message: connections, refusals, datagrams, disconnection, and what
// becomes of each when a message is lost.
#include <gtest/gtest.h>

#include "irn_provider/cm/cm_fixture.h"

namespace rocelab::cm {
namespace {

using test::kGid;
using test::kPort;
using test::kQpn;
using test::Pair;

using Sent = std::vector<std::string>;
const Duration kWait = time_of(20) + 2 * time_of(18);  // for the answer to a REQ, REP or DREQ

TEST(CmPairTest, ConnectsWithThreeMessagesAndBothEndsKnowTheQpOfTheOther) {
  Pair pair;
  const Handle listener = pair.listen();
  const std::vector<std::uint8_t> hello = {'h', 'i'}, there = {'y', 'o', 'u'};
  ConnectParams p = pair.request();
  p.private_data = hello;
  p.ece = {0x02726c, 5};
  const Handle active = pair.cm[0].connect(p, pair.now);
  pair.run_for(1_ms);
  const Event request = pair.take(1, EventKind::kRequest);
  EXPECT_EQ(request.listener, listener);
  EXPECT_EQ(request.qpn, kQpn[0]);
  EXPECT_EQ(request.responder_resources, 2);  // its initiator depth
  EXPECT_EQ(request.initiator_depth, 3);
  EXPECT_EQ(request.ece, (Ece{0x02726c, 5}));
  ASSERT_EQ(request.private_data.size(), kConnectPrivateBytes);
  EXPECT_EQ(request.private_data[0], 'h');
  EXPECT_EQ(request.private_data[2], 0);
  const Endpoint* end = pair.cm[1].find(request.handle);
  EXPECT_EQ(end->remote, test::address_of(0, 40'000));
  EXPECT_EQ(end->local, test::address_of(1, kPort));
  AcceptParams a = pair.acceptance();
  a.private_data = there;
  a.ece = {0x02726c, 1};
  ASSERT_TRUE(pair.cm[1].accept(request.handle, a, pair.now));
  pair.run_for(1_ms);
  const Event reply = pair.take(0, EventKind::kReply);
  EXPECT_EQ(reply.handle, active);
  EXPECT_EQ(reply.private_data[1], 'o');
  EXPECT_EQ(reply.ece, (Ece{0x02726c, 1}));
  ASSERT_TRUE(pair.cm[0].establish(active, pair.now));
  pair.run_for(1_ms);
  pair.take(1, EventKind::kEstablished);
  EXPECT_EQ(pair.sent, (Sent{"0 REQ", "1 REP", "0 RTU"}));

  const QpSettings &mine = *pair.cm[0].settings(active), &theirs = *pair.cm[1].settings(request.handle);
  EXPECT_EQ(mine.remote_qpn, kQpn[1]);
  EXPECT_EQ(theirs.remote_qpn, kQpn[0]);
  EXPECT_EQ(mine.send_psn, theirs.receive_psn);
  EXPECT_EQ(theirs.send_psn, mine.receive_psn);
  EXPECT_NE(mine.send_psn, theirs.send_psn);
  EXPECT_EQ(mine.flow_label, theirs.flow_label);
  EXPECT_EQ(mine.remote_gid, kGid[1]);
  EXPECT_EQ(theirs.remote_gid, kGid[0]);
  EXPECT_EQ(mine.initiator_depth, 2);
  EXPECT_EQ(theirs.responder_resources, 2);
}

TEST(CmPairTest, NobodyListeningIsRejectedWithReason8) {
  Pair pair;
  pair.cm[0].connect(pair.request(), pair.now);
  pair.run_for(1_ms);
  EXPECT_EQ(pair.take(0, EventKind::kRejected).reason, 8);
  EXPECT_EQ(pair.cm[1].counters().rx_no_listener, 1u);
  EXPECT_EQ(pair.cm[0].next_timeout(), Time::never());
}

TEST(CmPairTest, ListenersOfOnePortShareItByTheAddressThatIsAskedFor) {
  Pair pair;
  const std::uint64_t service = service_id(PortSpace::kTcp, kPort);
  const Address here = test::address_of(1, kPort);
  pair.cm[1].listen(service, 8, {6, std::nullopt});
  const auto ask = [&](ConnectParams p) {
    pair.cm[0].connect(p, pair.now);
    pair.run_for(1_ms);
  };
  ask(pair.request());  // IPv4: there is a listener, but not for it
  EXPECT_EQ(pair.take(0, EventKind::kRejected).reason, 28);
  const Handle mine = pair.cm[1].listen(service, 8, {4, here.ip});
  ask(pair.request());
  EXPECT_EQ(pair.take(1, EventKind::kRequest).listener, mine);
  ConnectParams elsewhere = pair.request();
  elsewhere.qpn = Qpn{4'098};
  elsewhere.remote.ip[15] = 77;
  ask(elsewhere);
  EXPECT_EQ(pair.take(0, EventKind::kRejected).reason, 28);
  EXPECT_EQ(pair.cm[1].counters().rx_no_listener, 2u);
}

TEST(CmPairTest, RejectionCarriesPrivateDataEitherWay) {
  const std::vector<std::uint8_t> why = {'n', 'o'};
  Pair pair;
  pair.listen();
  pair.cm[0].connect(pair.request(), pair.now);
  pair.run_for(1_ms);
  const Handle passive = pair.take(1, EventKind::kRequest).handle;
  ASSERT_TRUE(pair.cm[1].reject(passive, RejReason::kConsumer, why, pair.now));
  pair.run_for(1_ms);
  const Event rejected = pair.take(0, EventKind::kRejected);
  EXPECT_EQ(rejected.reason, 28);
  EXPECT_EQ(rejected.private_data[1], 'o');

  Pair other;
  other.listen();
  const Handle active = other.cm[0].connect(other.request(), other.now);
  other.run_for(1_ms);
  ASSERT_TRUE(other.cm[1].accept(other.take(1, EventKind::kRequest).handle, other.acceptance(), other.now));
  other.run_for(1_ms);
  other.take(0, EventKind::kReply);
  ASSERT_TRUE(other.cm[0].reject(active, RejReason::kConsumer, why, other.now));
  other.run_for(1_ms);
  EXPECT_EQ(other.take(1, EventKind::kRejected).private_data[0], 'n');
}

TEST(CmPairTest, DisconnectingTellsBothAndTheQpIsFreeAfterTimewait) {
  Pair pair;
  pair.listen();
  const auto [active, passive] = pair.connect();
  ASSERT_TRUE(pair.cm[0].disconnect(active, pair.now));
  pair.run_for(1_ms);
  EXPECT_EQ(pair.take(1, EventKind::kDisconnected).handle, passive);
  EXPECT_TRUE(pair.events[0].empty());
  ASSERT_TRUE(pair.cm[1].disconnect(passive, pair.now));  // the DREP
  pair.run_for(1_ms);
  EXPECT_EQ(pair.take(0, EventKind::kDisconnected).handle, active);
  pair.run();
  EXPECT_EQ(pair.take(0, EventKind::kTimewaitExit).handle, active);
  EXPECT_EQ(pair.take(1, EventKind::kTimewaitExit).handle, passive);
  EXPECT_EQ(pair.sent, (Sent{"0 REQ", "1 REP", "0 RTU", "0 DREQ", "1 DREP"}));
}

TEST(CmPairTest, BothDisconnectingAtOnceEndsWell) {
  Pair pair;
  pair.listen();
  const auto [active, passive] = pair.connect();
  ASSERT_TRUE(pair.cm[0].disconnect(active, pair.now));
  ASSERT_TRUE(pair.cm[1].disconnect(passive, pair.now));
  pair.run_for(1_ms);
  pair.take(0, EventKind::kDisconnected);
  pair.take(1, EventKind::kDisconnected);
  pair.run();
  EXPECT_EQ(pair.count("0 DREQ") + pair.count("1 DREQ"), 2);
}

TEST(CmPairTest, DatagramServiceIsResolvedInTwoMessages) {
  Pair pair;
  pair.listen(PortSpace::kUdp);
  ConnectParams p = pair.request();
  p.space = PortSpace::kUdp;
  const Handle active = pair.cm[0].resolve(p, pair.now);
  pair.run_for(1_ms);
  const Event request = pair.take(1, EventKind::kRequest);
  EXPECT_EQ(request.private_data.size(), kResolvePrivateBytes);
  AcceptParams a;
  a.qpn = kQpn[1];
  a.qkey = 0x01234567;
  ASSERT_TRUE(pair.cm[1].accept(request.handle, a, pair.now));
  pair.run_for(1_ms);
  const Event resolved = pair.take(0, EventKind::kResolved);
  EXPECT_EQ(resolved.handle, active);
  EXPECT_EQ(resolved.qpn, kQpn[1]);
  EXPECT_EQ(resolved.qkey, 0x01234567u);
  EXPECT_EQ(pair.sent, (Sent{"0 SIDR_REQ", "1 SIDR_REP"}));
}

TEST(CmPairTest, DatagramServiceOfAnotherAddressIsRejected) {
  Pair pair;
  pair.cm[1].listen(service_id(PortSpace::kUdp, kPort), 8, {6, std::nullopt});
  ConnectParams p = pair.request();
  p.space = PortSpace::kUdp;
  pair.cm[0].resolve(p, pair.now);
  pair.run_for(1_ms);
  EXPECT_EQ(pair.take(0, EventKind::kRejected).reason, static_cast<std::uint16_t>(SidrStatus::kRejected));
}

TEST(CmPairTest, DatagramServiceThatNobodyOffersIsRefused) {
  Pair pair;
  ConnectParams p = pair.request();
  p.space = PortSpace::kUdp;
  pair.cm[0].resolve(p, pair.now);
  pair.run_for(1_ms);
  EXPECT_EQ(pair.take(0, EventKind::kRejected).reason,
            static_cast<std::uint16_t>(SidrStatus::kUnsupportedServiceId));
}

// --- losses

TEST(CmPairTest, SilentPeerIsUnreachableAfterAllRetriesAndNotBefore) {
  Pair pair;
  pair.lose = [](int, const CmMad&) { return true; };
  pair.cm[0].connect(pair.request(), pair.now);
  const Time end = pair.now + kWait * 16;
  pair.run(Time::from_ps(end.ps() - 1));
  EXPECT_TRUE(pair.events[0].empty());
  EXPECT_EQ(pair.count("0 REQ"), 16);
  pair.run(end);
  pair.take(0, EventKind::kUnreachable);
  EXPECT_EQ(pair.count("0 REJ"), 1);  // in case that it is the way back that is broken
  EXPECT_EQ(pair.cm[0].next_timeout(), Time::never());
}

TEST(CmPairTest, RetryLeavesAtItsDeadlineAndNotOnePicosecondBefore) {
  Pair pair;
  pair.lose = [](int, const CmMad&) { return true; };
  pair.cm[0].connect(pair.request(), pair.now);
  const Time deadline = pair.now + kWait;
  EXPECT_EQ(pair.cm[0].next_timeout(), deadline);
  pair.drain();
  pair.cm[0].on_timeout(Time::from_ps(deadline.ps() - 1));
  EXPECT_FALSE(pair.cm[0].poll_transmit());
  pair.cm[0].on_timeout(deadline);
  EXPECT_TRUE(pair.cm[0].poll_transmit());
  EXPECT_FALSE(pair.cm[0].poll_transmit());
}

// Each message of a connection's life is lost once, in turn: the connection comes to be and ends all the
// same, with one event of each kind.
class CmLossTest : public ::testing::TestWithParam<std::string> {};

TEST_P(CmLossTest, OneLossOfAnyMessageIsRepaired) {
  Pair pair;
  bool lost = false;
  pair.lose = [&](int side, const CmMad& mad) {
    if (lost || std::to_string(side) + " " + name_of(mad.message) != GetParam()) return false;
    return lost = true;
  };
  pair.listen();
  const Handle active = pair.cm[0].connect(pair.request(), pair.now);
  pair.run_for(kWait + 1_ms);
  const Handle passive = pair.take(1, EventKind::kRequest).handle;
  ASSERT_TRUE(pair.cm[1].accept(passive, pair.acceptance(), pair.now));
  pair.run_for(kWait + 1_ms);
  pair.take(0, EventKind::kReply);
  ASSERT_TRUE(pair.cm[0].establish(active, pair.now));
  pair.run_for(time_of(24) + kWait);  // a REP that came twice was answered by an MRA
  pair.take(1, EventKind::kEstablished);
  ASSERT_TRUE(pair.cm[0].disconnect(active, pair.now));
  pair.run_for(kWait + 1_ms);
  pair.take(1, EventKind::kDisconnected);
  ASSERT_TRUE(pair.cm[1].disconnect(passive, pair.now));
  pair.run();
  pair.take(0, EventKind::kDisconnected);
  EXPECT_TRUE(lost);
  EXPECT_EQ(pair.count(GetParam()), 2);
  EXPECT_EQ(pair.events[0].size(), 1u);  // timewait exit
  EXPECT_EQ(pair.events[1].size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Messages, CmLossTest,
                         ::testing::Values("0 REQ", "1 REP", "0 RTU", "0 DREQ", "1 DREP"),
                         [](const auto& message) { return message.param.substr(2); });

// A program that thinks for longer than the peer waits: the peer asks again, is told to be patient (MRA), and
// does not ask for the time it was told.
TEST(CmPairTest, SlowProgramKeepsItsPeerWaitingByMra) {
  Pair pair;
  pair.listen();
  pair.cm[0].connect(pair.request(), pair.now);
  pair.run_for(60'000_ms);
  EXPECT_EQ(pair.count("0 REQ"), 2);
  EXPECT_EQ(pair.count("1 MRA"), 1);
  const Handle passive = pair.take(1, EventKind::kRequest).handle;
  EXPECT_TRUE(pair.events[1].empty());  // one request, though two REQ came
  ASSERT_TRUE(pair.cm[1].accept(passive, pair.acceptance(), pair.now));
  pair.run_for(1_ms);
  pair.take(0, EventKind::kReply);
}

TEST(CmPairTest, PassiveSideWithoutRtuGivesUpAndSaysSo) {
  Pair pair;
  pair.listen();
  pair.cm[0].connect(pair.request(), pair.now);
  pair.run_for(1_ms);
  const Handle passive = pair.take(1, EventKind::kRequest).handle;
  pair.lose = [](int side, const CmMad&) { return side == 0; };
  ASSERT_TRUE(pair.cm[1].accept(passive, pair.acceptance(), pair.now));
  pair.run_for(1_ms);
  pair.take(0, EventKind::kReply);  // and never establishes
  pair.run_for(kWait * 17);
  pair.take(1, EventKind::kUnreachable);
  EXPECT_EQ(pair.take(0, EventKind::kRejected).reason, static_cast<std::uint16_t>(RejReason::kTimeout));
  EXPECT_EQ(pair.count("1 REP"), 16);
}

TEST(CmPairTest, DestroyingSaysGoodByeInEveryState) {
  Pair pair;
  pair.listen();
  Handle active = pair.cm[0].connect(pair.request(), pair.now);
  pair.run_for(1_ms);
  pair.cm[0].destroy(active, pair.now);  // REQ sent: the peer learns by its CA GUID
  pair.run_for(1_ms);
  EXPECT_EQ(pair.events[1].size(), 2u);
  pair.take(1, EventKind::kRequest);
  EXPECT_EQ(pair.take(1, EventKind::kRejected).reason, static_cast<std::uint16_t>(RejReason::kTimeout));

  ConnectParams p = pair.request();
  p.qpn = Qpn{5'000};
  active = pair.cm[0].connect(p, pair.now);
  pair.run_for(1_ms);
  pair.cm[1].destroy(pair.take(1, EventKind::kRequest).handle, pair.now);  // request that nobody answers
  pair.run_for(1_ms);
  EXPECT_EQ(pair.take(0, EventKind::kRejected).reason, 28);

  Pair connected;
  connected.listen();
  const auto [a, b] = connected.connect();
  connected.cm[0].destroy(a, connected.now);
  connected.run_for(1_ms);
  connected.take(1, EventKind::kDisconnected);
  connected.cm[1].destroy(b, connected.now);
  connected.run();
  EXPECT_EQ(connected.count("0 DREQ"), 1);
  EXPECT_EQ(connected.count("1 DREP"), 1);
  EXPECT_TRUE(connected.events[0].empty());
}

}  // namespace
}  // namespace rocelab::cm
