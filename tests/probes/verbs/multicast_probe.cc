// Multicast groups: who may join, who gets a copy, what a member cannot do.
#include <array>
#include <cerrno>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

constexpr std::uint32_t kQkey = 0x1234, kEveryMember = 0xffffff;
constexpr std::size_t kGrh = 40;

ibv_gid group_gid(std::uint8_t last) {
  ibv_gid gid{};
  gid.raw[10] = gid.raw[11] = 0xff;
  gid.raw[12] = 239, gid.raw[15] = last;
  return gid;
}

// UD QPs beside the pair of a loopback, which lends memory and CQs.
struct Members : Loopback {
  Members() {
    for (ibv_qp*& qp : qps) {
      ibv_qp_init_attr init{};
      init.send_cq = send_cq, init.recv_cq = recv_cq, init.qp_type = IBV_QPT_UD;
      init.cap = {
          .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
      qp = ibv_create_qp(pd, &init);
      ready_for_datagrams(qp, kQkey);
    }
    ibv_ah_attr address{};
    address.is_global = 1, address.port_num = 1, address.grh.sgid_index = 1, address.grh.hop_limit = 64;
    address.grh.dgid = group_gid(1);
    ah = ibv_create_ah(pd, &address);
    EXPECT_NE(ah, nullptr);
  }
  ~Members() {
    if (ah != nullptr) ibv_destroy_ah(ah);
    for (ibv_qp* qp : qps) EXPECT_EQ(ibv_destroy_qp(qp), 0);
  }
  void receive_on(std::size_t i) {
    ibv_sge into = sge(1000 * (i + 1), 500);
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.wr_id = i, wr.sg_list = &into, wr.num_sge = 1;
    ASSERT_EQ(ibv_post_recv(qps[i], &wr, &bad), 0);
  }
  void send(std::uint32_t qpn, std::uint32_t qkey = kQkey) {
    ibv_sge from = sge(0, 100);
    ibv_send_wr wr{}, *bad = nullptr;
    wr.sg_list = &from, wr.num_sge = 1, wr.opcode = IBV_WR_SEND, wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.ud = {.ah = ah, .remote_qpn = qpn, .remote_qkey = qkey};
    ASSERT_EQ(ibv_post_send(qps[0], &wr, &bad), 0);
  }
  // Which QPs have received by the time that nothing is on its way any more.
  std::array<int, 3> received() {
    std::array<int, 3> count{};
    ibv_wc wc{};
    for (int polls = 0; polls < 1000; ++polls)
      while (ibv_poll_cq(recv_cq, 1, &wc) == 1) {
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
        EXPECT_EQ(wc.byte_len, kGrh + 100);
        EXPECT_EQ(std::memcmp(memory.data() + 1000 * (wc.wr_id + 1) + kGrh, memory.data(), 100), 0);
        ++count.at(wc.wr_id);
      }
    return count;
  }
  std::array<ibv_qp*, 3> qps{};  // 0 sends
  ibv_ah* ah = nullptr;
};

TEST(MulticastProbe, EveryMemberHasACopyAndNobodyElse) {
  Members m;
  const ibv_gid group = group_gid(1), other = group_gid(2);
  ASSERT_EQ(ibv_attach_mcast(m.qps[0], &group, 0), 0);
  ASSERT_EQ(ibv_attach_mcast(m.qps[0], &group, 0), 0) << "joining twice is joining once";
  ASSERT_EQ(ibv_attach_mcast(m.qps[1], &group, 0), 0);
  ASSERT_EQ(ibv_attach_mcast(m.qps[2], &other, 0), 0);
  std::memset(m.memory.data(), 0x5a, 100);
  for (std::size_t i = 0; i < 3; ++i) m.receive_on(i), m.receive_on(i);
  m.send(kEveryMember);
  EXPECT_EQ(m.received(), (std::array{1, 1, 0})) << "the sender is a member, too";
  EXPECT_EQ(ibv_detach_mcast(m.qps[0], &group, 0), 0);
  m.send(kEveryMember);
  EXPECT_EQ(m.received(), (std::array{0, 1, 0}));
  m.send(kEveryMember, kQkey + 1);
  m.send(m.qps[1]->qp_num);  // to a group, but not to all: nobody's
  EXPECT_EQ(m.received(), (std::array{0, 0, 0}));
  EXPECT_EQ(ibv_detach_mcast(m.qps[1], &group, 0), 0);
  EXPECT_EQ(ibv_detach_mcast(m.qps[2], &other, 0), 0);
  m.send(kEveryMember);
  EXPECT_EQ(m.received(), (std::array{0, 0, 0}));
}

TEST(MulticastProbe, OnlyDatagramQpsJoinAndOnlyGroups) {
  Members m;
  const ibv_gid group = group_gid(1);
  EXPECT_EQ(ibv_attach_mcast(m.a, &group, 0), EINVAL) << "an RC QP";
  ibv_gid host = group;
  host.raw[12] = 10;
  EXPECT_EQ(ibv_attach_mcast(m.qps[0], &host, 0), EINVAL);
  EXPECT_EQ(ibv_detach_mcast(m.qps[0], &group, 0), EINVAL) << "no member";
}

TEST(MulticastProbe, ConnectionsDoNotGoToGroups) {
  Members m;
  ibv_qp_attr init = init_attr(), rtr = rtr_attr(group_gid(1), 7);
  ASSERT_EQ(ibv_modify_qp(m.a, &init, kInitMask), 0);
  EXPECT_EQ(ibv_modify_qp(m.a, &rtr, kRtrMask), EINVAL);
}

TEST(MulticastProbe, AMemberIsNotDestroyed) {
  Members m;
  const ibv_gid group = group_gid(1);
  ASSERT_EQ(ibv_attach_mcast(m.qps[1], &group, 0), 0);
  EXPECT_EQ(ibv_destroy_qp(m.qps[1]), EBUSY);
  EXPECT_EQ(ibv_detach_mcast(m.qps[1], &group, 0), 0);
}

TEST(MulticastProbe, AnAddressThatIsDestroyedAtOnceStillServesWhatWasPosted) {
  Members m;
  const ibv_gid group = group_gid(1);
  ASSERT_EQ(ibv_attach_mcast(m.qps[1], &group, 0), 0);
  m.receive_on(1);
  m.send(kEveryMember);
  EXPECT_EQ(ibv_destroy_ah(m.ah), 0);
  m.ah = nullptr;
  EXPECT_EQ(m.received(), (std::array{0, 1, 0}));
  EXPECT_EQ(ibv_detach_mcast(m.qps[1], &group, 0), 0);
}

}  // namespace
}  // namespace rocelab::probe
