// Datagrams: address handles, the GRH in front of the data, answering whoever wrote.
#include <arpa/inet.h>

#include <algorithm>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

constexpr std::uint32_t kQkey = 0x12345;
constexpr std::size_t kGrh = sizeof(ibv_grh);
static_assert(kGrh == 40);

// A UD QP of its own beside the two of a Loopback.
class Datagrams {
 public:
  Datagrams() {
    ibv_qp_init_attr init{};
    init.send_cq = l.send_cq, init.recv_cq = l.recv_cq;
    init.qp_type = IBV_QPT_UD;
    init.cap = {
        .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 16};
    qp = ibv_create_qp(l.pd, &init);
    ready_for_datagrams(qp, kQkey);
    ibv_ah_attr where{};
    where.is_global = 1, where.port_num = 1, where.grh.sgid_index = 1;
    EXPECT_EQ(ibv_query_gid(l.context, 1, 1, &where.grh.dgid), 0);
    ah = ibv_create_ah(l.pd, &where);
  }
  ~Datagrams() {
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(ibv_destroy_ah(ah), 0);
  }
  int send(ibv_ah* to, std::uint32_t qpn, std::size_t offset, std::uint32_t length, unsigned flags = 0) {
    ibv_sge part = l.sge(offset, length);
    ibv_send_wr wr{}, *bad = nullptr;
    wr.sg_list = &part, wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND_WITH_IMM, wr.imm_data = htonl(0xabcd);
    wr.send_flags = IBV_SEND_SIGNALED | flags;
    wr.wr.ud = {.ah = to, .remote_qpn = qpn, .remote_qkey = kQkey};
    return ibv_post_send(qp, &wr, &bad);
  }
  int receive(std::size_t offset, std::uint32_t length) {
    ibv_sge part = l.sge(offset, length);
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.sg_list = &part, wr.num_sge = 1;
    return ibv_post_recv(qp, &wr, &bad);
  }
  Loopback l;
  ibv_qp* qp = nullptr;
  ibv_ah* ah = nullptr;
};

TEST(DatagramProbe, ComesWithTheSendersAddressAndCanBeAnswered) {
  Datagrams d;
  ASSERT_NE(d.ah, nullptr);
  for (std::size_t i = 0; i < 100; ++i) d.l.memory[i] = static_cast<unsigned char>(i + 1);
  ASSERT_EQ(d.receive(4'096, kGrh + 100), 0);
  ASSERT_EQ(d.send(d.ah, d.qp->qp_num, 0, 100), 0);
  ibv_wc wc = d.l.wait(d.l.recv_cq);
  ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.byte_len, kGrh + 100);
  EXPECT_EQ(wc.src_qp, d.qp->qp_num);
  EXPECT_EQ(wc.wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM) | static_cast<unsigned>(IBV_WC_GRH));
  EXPECT_EQ(ntohl(wc.imm_data), 0xabcdu);
  EXPECT_TRUE(std::equal(d.l.memory.begin(), d.l.memory.begin() + 100, d.l.memory.begin() + 4'096 + kGrh));
  EXPECT_EQ(d.l.memory[4'096 + 20], 0x45) << "the IPv4 header is the GRH's second half";
  auto* grh = reinterpret_cast<ibv_grh*>(d.l.memory.data() + 4'096);
  ibv_ah* back = ibv_create_ah_from_wc(d.l.pd, &wc, grh, 1);
  ASSERT_NE(back, nullptr);
  ASSERT_EQ(d.receive(8'192, kGrh + 8), 0);
  ASSERT_EQ(d.send(back, wc.src_qp, 0, 8, IBV_SEND_INLINE), 0);
  EXPECT_EQ(d.l.wait(d.l.recv_cq).byte_len, kGrh + 8);
  EXPECT_EQ(ibv_destroy_ah(back), 0);
}

TEST(DatagramProbe, TellsTheMacOfAnAddressAndRefusesStrangers) {
  Datagrams d;
  ibv_ah_attr where{};
  where.is_global = 1, where.port_num = 1, where.grh.sgid_index = 1;
  ASSERT_EQ(ibv_query_gid(d.l.context, 1, 1, &where.grh.dgid), 0);
  unsigned char mac[6] = {};
  std::uint16_t vlan = 0;
  EXPECT_EQ(ibv_resolve_eth_l2_from_gid(d.l.context, &where, mac, &vlan), 0);
  EXPECT_EQ(mac[0], 2);
  EXPECT_EQ(mac[5], 1);
  EXPECT_EQ(vlan, 0xffff);
  where.grh.dgid.raw[15] = 77;
  EXPECT_EQ(ibv_create_ah(d.l.pd, &where), nullptr) << "no such host";
  EXPECT_EQ(errno, EINVAL);
}

TEST(DatagramProbe, OnlySendsOfAtMostAnMtuWithAnAddress) {
  Datagrams d;
  EXPECT_EQ(d.send(nullptr, d.qp->qp_num, 0, 8), EINVAL);
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(d.l.context, 1, &port), 0);
  const std::uint32_t mtu = 128u << port.active_mtu;
  EXPECT_EQ(d.send(d.ah, d.qp->qp_num, 0, mtu + 1), EINVAL);
}

// As adapters do it; the standard would let the datagram be dropped (DEVIATIONS.md).
TEST(DatagramProbe, ADatagramThatDoesNotFitEndsItsReceiveWqeAndTheQueuePair) {
  Datagrams d;
  ASSERT_EQ(d.receive(4'096, kGrh + 99), 0);
  ASSERT_EQ(d.send(d.ah, d.qp->qp_num, 0, 100), 0);
  EXPECT_EQ(d.l.wait(d.l.recv_cq).status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(d.l.wait(d.l.send_cq).status, IBV_WC_SUCCESS) << "the sender does not hear of it";
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(d.qp, &attr, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attr.qp_state, IBV_QPS_ERR);
}

}  // namespace
}  // namespace rocelab::probe
