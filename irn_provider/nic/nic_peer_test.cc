// A connected QP hears its peer only: what comes from the address that it sends to, to the one that it sends
// from. Whoever knows QPN and PSN, but is elsewhere, changes nothing. Datagram QPs hear everybody.
#include <gtest/gtest.h>

#include <string>

#include "base/wire/frame.h"
#include "irn_provider/cc/cc_algorithm.h"
#include "irn_provider/nic/drop_reason.h"
#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPsn = 0xfffff0, kLength = 100;
constexpr NodeId kElsewhere{7};

struct Kind {
  const char* name;
  TransportMode mode;
  QpType type;
  bool ipv6;
};

Gid address(std::uint8_t host, bool ipv6) {
  return ipv6 ? Gid{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, host}
              : ipv4_mapped({10, 0, 0, host});
}

class PeerPair : public NicPair {
 public:
  explicit PeerPair(const Kind& kind, std::string_view cc = "none") : NicPair(config_with(kind.mode, cc)) {
    type = kind.type;
    here.src_gid = there.dst_gid = address(1, kind.ipv6);
    here.dst_gid = there.src_gid = address(2, kind.ipv6);
    if (type == QpType::kXrcIni) {
      make_xrc();
    } else {
      a.qp = a.create_qp(1024, type), b.qp = b.create_qp(1024, type);
    }
    attr.path = here;
    bring_up(a, a.qp, b.qp, kPsn, kPsn + 0x100);
    attr.path = there;
    bring_up(b, b.qp, a.qp, kPsn + 0x100, kPsn);
    lose = [](const Departure&) { return true; };
    a.fill(0, kLength, 5);
  }
  static NicConfig config_with(TransportMode mode, std::string_view cc) {
    NicConfig config = config_of(mode);
    config.cc = cc_config(cc);
    return config;
  }
  void make_xrc() {
    QpInit initiator, target;
    initiator.type = QpType::kXrcIni, target.type = QpType::kXrcTgt;
    initiator.pd = a.pd, initiator.send_cq = a.cq, initiator.caps = {64, 0, 2, 0, 0};
    target.xrcd = b.nic.alloc_xrcd();
    srq = *b.nic.create_xrc_srq(b.pd, {8, 2, 0}, target.xrcd, b.cq);
    a.qp = *a.nic.create_qp(initiator), b.qp = *b.nic.create_qp(target);
  }
  // A WRITE leaves, and the network has lost it: the packet.
  Packet lost_write() {
    SendWqe w = wqe(WrOpcode::kWrite, 0, 0, kLength);
    w.remote_srqn = srq;
    EXPECT_EQ(post(w), PostResult::kOk);
    run_until(now() + 5_us);
    return log.at(0).packet;
  }
  // `packet` comes to `to` as a frame between `ends`; null: as a packet of the virtual network, from `node`.
  void deliver(Endpoint& to, const Packet& packet, const FrameGids* ends, NodeId node = NodeId{}) {
    PacketRef p = to.pool.clone(packet);
    p->src = node;
    if (ends != nullptr) PacketPool::put_gids(*p, *ends);
    p->payload = a.bytes.data();
    to.nic.on_packet(std::move(p), now());
  }
  bool written() const { return std::memcmp(a.bytes.data(), b.bytes.data(), kLength) == 0; }
  FrameGids between(const PathAddress& receivers) const { return {receivers.dst_gid, receivers.src_gid}; }

  PathAddress here, there;  // of a's QP, and of b's
  Srqn srq{};
};

class NicPeerTest : public testing::TestWithParam<Kind> {
 protected:
  // What comes from anywhere else than `right`: another host, the peer by its other address or to our other
  // one, and ourselves.
  std::vector<FrameGids> wrong(const FrameGids& right) const {
    const bool ipv6 = GetParam().ipv6;
    const Gid other = address(3, ipv6);
    const auto by_other_family = [&](const Gid& gid) { return address(gid[15], !ipv6); };
    return {{other, right.dst},
            {right.src, other},
            {right.dst, right.dst},
            {right.dst, right.src},
            {by_other_family(right.src), right.dst},
            {right.src, by_other_family(right.dst)},
            {by_other_family(right.src), by_other_family(right.dst)},
            {{}, {}}};
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, NicPeerTest,
                         testing::Values(Kind{"Rc", TransportMode::kRoce, QpType::kRc, false},
                                         Kind{"RcIpv6", TransportMode::kRoce, QpType::kRc, true},
                                         Kind{"Irn", TransportMode::kIrn, QpType::kRc, false},
                                         Kind{"IrnIpv6", TransportMode::kIrn, QpType::kRc, true},
                                         Kind{"Uc", TransportMode::kRoce, QpType::kUc, false},
                                         Kind{"Xrc", TransportMode::kRoce, QpType::kXrcIni, false}),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(NicPeerTest, ARequestThatIsNotFromThePeerTouchesNothing) {
  PeerPair pair(GetParam());
  const Packet write = pair.lost_write();
  const FrameGids right = pair.between(pair.there);
  std::uint64_t forged = 0;
  for (const FrameGids& ends : wrong(right)) {
    pair.deliver(pair.b, write, &ends);
    EXPECT_EQ(pair.b.nic.counters().rx_wrong_peer, ++forged);
  }
  pair.deliver(pair.b, write, nullptr, kElsewhere);
  EXPECT_EQ(pair.b.nic.counters().rx_wrong_peer, ++forged);
  EXPECT_FALSE(pair.written());
  EXPECT_FALSE(pair.b.nic.has_more()) << "not even an answer";
  EXPECT_EQ(pair.b.nic.counters().rx_packets, 0u);
  const auto drops = pair.b.trace.of(TraceKind::kDrop);
  ASSERT_EQ(drops.size(), forged);
  EXPECT_EQ(drops[0].mark, static_cast<std::uint8_t>(NicDropReason::kWrongPeer));
  pair.deliver(pair.b, write, &right);
  EXPECT_TRUE(pair.written());
  EXPECT_EQ(pair.b.nic.counters().rx_packets, 1u);
}

TEST_P(NicPeerTest, AnAnswerThatIsNotFromThePeerCompletesNothing) {
  if (GetParam().type == QpType::kUc) GTEST_SKIP() << "UC has no answers";
  PeerPair pair(GetParam());
  const FrameGids to_b = pair.between(pair.there), right = pair.between(pair.here);
  pair.deliver(pair.b, pair.lost_write(), &to_b);
  const PacketRef ack = pair.b.nic.poll_transmit(pair.now());
  ASSERT_TRUE(ack);
  std::uint64_t forged = 0;
  for (const FrameGids& ends : wrong(right)) {
    pair.deliver(pair.a, *ack, &ends);
    EXPECT_EQ(pair.a.nic.counters().rx_wrong_peer, ++forged);
  }
  pair.deliver(pair.a, *ack, nullptr, kElsewhere);
  EXPECT_EQ(pair.a.nic.counters().rx_wrong_peer, forged + 1);
  EXPECT_FALSE(pair.a.nic.poll_cq(pair.a.cq));
  pair.deliver(pair.a, *ack, &right);
  const auto cqe = pair.a.nic.poll_cq(pair.a.cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, WcStatus::kSuccess);
}

TEST_P(NicPeerTest, ACnpThatIsNotFromThePeerSlowsNobody) {
  if (GetParam().type == QpType::kUc) GTEST_SKIP() << "nothing controls UC's rate";
  PeerPair pair(GetParam(), "dcqcn");
  Packet cnp;
  cnp.kind = PacketKind::kCnp;
  cnp.roce.opcode = kCnpOpcode;
  cnp.roce.dest = pair.a.qp;
  cnp.frame_length = 74;
  const FrameGids right = pair.between(pair.here);
  const std::vector<FrameGids> forged = wrong(right);
  for (const FrameGids& ends : forged) pair.deliver(pair.a, cnp, &ends);
  pair.deliver(pair.a, cnp, nullptr, kElsewhere);
  EXPECT_EQ(pair.a.nic.counters().rx_wrong_peer, forged.size() + 1);
  EXPECT_EQ(pair.a.nic.counters().rp_cnp_handled, 0u);
  pair.deliver(pair.a, cnp, &right);
  pair.deliver(pair.a, cnp, nullptr, NodeId{0});
  EXPECT_EQ(pair.a.nic.counters().rp_cnp_handled, 2u);
}

// Two QPs of one NIC: both addresses are its own.
TEST_P(NicPeerTest, AHostsOwnQpsAreEachOthersPeers) {
  if (GetParam().type == QpType::kXrcIni) GTEST_SKIP() << "its ends are different types";
  PeerPair pair(GetParam());
  Endpoint& host = pair.b;
  const Qpn first = host.create_qp(16, pair.type), second = host.create_qp(16, pair.type);
  pair.attr.path.src_gid = pair.attr.path.dst_gid = pair.there.src_gid;
  pair.bring_up(host, first, second, kPsn, kPsn);
  pair.bring_up(host, second, first, kPsn, kPsn);
  SendWqe w = pair.wqe(WrOpcode::kWrite, 0, 200, kLength);
  w.sge[0] = {host.addr(), kLength, host.key};
  ASSERT_EQ(host.nic.post_send(first, w, pair.now()), PostResult::kOk);
  const PacketRef write = host.nic.poll_transmit(pair.now());
  ASSERT_TRUE(write);
  const FrameGids own{pair.there.src_gid, pair.there.src_gid};
  pair.deliver(host, *write, &own);
  EXPECT_EQ(host.nic.counters().rx_wrong_peer, 0u);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data(), host.bytes.data() + 200, kLength), 0);
}

TEST(NicDatagramPeerTest, DatagramQpsHearEverybody) {
  NicPair pair;
  pair.type = QpType::kUd;
  pair.attr.qkey = 0x11111111;
  pair.attr.path_mtu = pair.config.active_mtu;
  pair.connect(kPsn);
  std::vector<std::byte> bytes(kGrhBytes + kLength);
  for (std::uint8_t host = 3; host < 10; ++host) {
    pair.post_receive(0, kGrhBytes + kLength);
    PacketRef p = pair.b.pool.make();
    p->roce.opcode = make_opcode(TransportClass::kUd, Operation::kSendOnly);
    p->roce.dest = pair.b.qp, p->roce.qkey = pair.attr.qkey;
    p->payload = bytes.data() + kGrhBytes, p->payload_length = kLength, p->frame_length = 170;
    p->src = NodeId{host};
    if (host % 2 == 0) PacketPool::put_gids(*p, {address(host, false), address(2, false)});
    pair.b.nic.on_packet(std::move(p), pair.now());
    EXPECT_TRUE(pair.b.nic.poll_cq(pair.b.cq)) << int{host};
  }
  EXPECT_EQ(pair.b.nic.counters().rx_wrong_peer, 0u);
}

}  // namespace
}  // namespace rocelab
