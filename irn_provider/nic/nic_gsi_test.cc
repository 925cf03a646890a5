// QP1, the general services interface (IBTA Vol 1, 13.5.1): a datagram QP under the number 1.
#include <gtest/gtest.h>

#include "base/wire/cm/mad.h"
#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kBytes = 256;

QpInit gsi_init(const Endpoint& e, QpType type = QpType::kUd) {
  QpInit init;
  init.pd = e.pd;
  init.send_cq = init.recv_cq = e.cq;
  init.caps = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1, .max_inline = 0};
  init.type = type;
  init.gsi = true;
  return init;
}

class GsiPair : public NicPair {
 public:
  GsiPair() {
    for (Endpoint* e : {&a, &b}) open(*e);
  }
  void open(Endpoint& e) {
    ASSERT_EQ(e.nic.create_qp(gsi_init(e)), kGsiQpn);
    QpAttr state;
    state.qkey = kGsiQkey;
    state.path_mtu = config.active_mtu;
    for (const QpState s : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      state.state = s;
      ASSERT_TRUE(e.nic.modify_qp(kGsiQpn, state, now()));
    }
  }
  void receive_at_b() {
    RecvWqe w;
    w.num_sge = 1;
    w.sge[0] = {b.addr(), kGrhBytes + kBytes, b.key};
    ASSERT_EQ(b.nic.post_recv(kGsiQpn, w, now()), PostResult::kOk);
  }
  void send(std::uint32_t qkey = kGsiQkey, std::uint32_t bytes = kBytes) {
    SendWqe w = wqe(WrOpcode::kSend, 0, 0, bytes, 1);
    w.ah = *a.nic.create_ah(a.pd, attr.path);
    w.remote_qpn = kGsiQpn;
    w.remote_qkey = qkey;
    ASSERT_EQ(a.nic.post_send(kGsiQpn, w, now()), PostResult::kOk);
  }
};

TEST(NicGsiTest, DatagramBetweenTheGsisCarriesTheirNumberAndKey) {
  GsiPair pair;
  pair.receive_at_b();
  pair.send();
  pair.run();
  ASSERT_EQ(pair.log.size(), 1u);
  const RoceHeaders& h = pair.log[0].packet.roce;
  EXPECT_EQ(h.dest, kGsiQpn);
  EXPECT_EQ(h.src_qpn, kGsiQpn);
  EXPECT_EQ(h.qkey, kGsiQkey);
  ASSERT_EQ(pair.b.cqes.size(), 1u);
  EXPECT_EQ(pair.b.cqes[0].byte_len, kGrhBytes + kBytes);
  EXPECT_EQ(pair.b.cqes[0].src_qpn, kGsiQpn);
}

TEST(NicGsiTest, WithoutAGsiTheDatagramIsForAnUnknownQp) {
  GsiPair pair;
  ASSERT_TRUE(pair.b.nic.destroy_qp(kGsiQpn));
  pair.send();
  pair.run();
  EXPECT_EQ(pair.b.nic.counters().rx_unknown_qp, 1u);
  EXPECT_TRUE(pair.b.nic.create_qp(gsi_init(pair.b)).has_value());  // and it may come again
}

TEST(NicGsiTest, AnotherQkeyIsAViolation) {
  GsiPair pair;
  pair.receive_at_b();
  pair.send(0x11111111);
  pair.run();
  EXPECT_EQ(pair.b.nic.counters().qkey_violations, 1u);
  EXPECT_TRUE(pair.b.cqes.empty());
}

// A MAD has 256 bytes. What is longer would not fit the buffers, and end QP1 as it ends other datagram QPs.
TEST(NicGsiTest, ADatagramLongerThanAMadIsDroppedAndQp1GoesOn) {
  GsiPair pair;
  pair.receive_at_b();
  pair.send(kGsiQkey, kBytes + 1);
  pair.run();
  EXPECT_EQ(pair.b.nic.counters().rx_malformed, 1u);
  EXPECT_EQ(pair.b.nic.query_qp(kGsiQpn)->state, QpState::kRts);
  EXPECT_TRUE(pair.b.cqes.empty());
  pair.send();
  pair.run();
  ASSERT_EQ(pair.b.cqes.size(), 1u);
  EXPECT_EQ(pair.b.cqes[0].status, WcStatus::kSuccess);
}

TEST(NicGsiTest, ThereIsOneAndItIsADatagramQp) {
  GsiPair pair;
  EXPECT_FALSE(pair.a.nic.create_qp(gsi_init(pair.a)));
  ASSERT_TRUE(pair.a.nic.destroy_qp(kGsiQpn));
  EXPECT_FALSE(pair.a.nic.create_qp(gsi_init(pair.a, QpType::kRc)));
  EXPECT_TRUE(pair.a.nic.create_qp(gsi_init(pair.a)));
}

TEST(NicGsiTest, OtherQpsKeepTheirNumbersBesideIt) {
  GsiPair pair;
  const Qpn first = pair.a.create_qp(), second = pair.a.create_qp();
  EXPECT_EQ(second.value, first.value + 1);
  EXPECT_NE(first, kGsiQpn);
  ASSERT_TRUE(pair.a.nic.destroy_qp(first));
  EXPECT_NE(pair.a.nic.query_qp(kGsiQpn), nullptr);
}

}  // namespace
}  // namespace rocelab
