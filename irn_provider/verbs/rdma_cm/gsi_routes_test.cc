#include "irn_provider/verbs/rdma_cm/gsi_routes.h"

#include <gtest/gtest.h>

#include "base/trace.h"
#include "base/wire/cm/mad.h"

namespace rocelab::verbs {
namespace {

const Gid kHere = ipv4_mapped({10, 0, 0, 1});
Gid peer(std::uint32_t i) {
  return ipv4_mapped({10, static_cast<std::uint8_t>(i >> 16), static_cast<std::uint8_t>(i >> 8),
                      static_cast<std::uint8_t>(i)});
}
PathAddress path_to(const Gid& to) {
  PathAddress path;
  path.src_gid = kHere;
  path.dst_gid = to;
  return path;
}

class GsiRoutesTest : public ::testing::Test {
 protected:
  GsiRoutesTest() : nic_({}, Qpn{16}, Rng(1), pool_, memory_, trace_), pd_(nic_.alloc_pd()) {}
  Ahn add(std::uint32_t i) {
    const auto ah = routes_.add(nic_, pd_, path_to(peer(i)));
    EXPECT_TRUE(ah) << i;
    return ah.value_or(Ahn{});
  }
  // A datagram that the port does not take yet goes by it.
  void send_by(Ahn ah) {
    if (cq_.value == 0) open_qp1();
    SendWqe wqe;
    wqe.ah = ah;
    wqe.remote_qpn = kGsiQpn;
    wqe.remote_qkey = kGsiQkey;
    ASSERT_EQ(nic_.post_send(kGsiQpn, wqe, Time::zero()), PostResult::kOk);
  }
  void open_qp1() {
    cq_ = *nic_.create_cq(16);
    QpInit init;
    init.pd = pd_, init.send_cq = init.recv_cq = cq_, init.type = QpType::kUd, init.gsi = true;
    init.caps = {16, 16, 1, 1, 0};
    ASSERT_TRUE(nic_.create_qp(init));
    QpAttr attr;
    for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      attr.state = state;
      ASSERT_TRUE(nic_.modify_qp(kGsiQpn, attr, Time::zero()));
    }
  }
  PacketPool pool_;
  NullMemory memory_;
  NullTrace trace_;
  Nic nic_;
  Pdn pd_;
  Cqn cq_{};
  GsiRoutes routes_;
};

TEST_F(GsiRoutesTest, OneHandleServesAllDatagramsBetweenTwoEnds) {
  const Ahn first = add(1), second = add(2);
  EXPECT_NE(first, second);
  EXPECT_EQ(routes_.find(kHere, peer(1)), first);
  EXPECT_EQ(routes_.find(kHere, peer(2)), second);
  EXPECT_FALSE(routes_.find(peer(2), kHere));
}

// More sources than a NIC has address handles.
TEST_F(GsiRoutesTest, AnyNumberOfSourcesTakesABoundedNumberOfHandles) {
  for (std::uint32_t i = 0; i < 70'000; ++i) {
    ASSERT_TRUE(routes_.add(nic_, pd_, path_to(peer(i)))) << i;
    ASSERT_LE(routes_.size(), GsiRoutes::kMost);
  }
  EXPECT_EQ(routes_.size(), GsiRoutes::kMost);
  EXPECT_TRUE(nic_.create_ah(pd_, path_to(peer(0))));
}

TEST_F(GsiRoutesTest, TheOneUsedLongestAgoGoes) {
  for (std::uint32_t i = 0; i < GsiRoutes::kMost; ++i) add(i);
  EXPECT_TRUE(routes_.find(kHere, peer(0)));
  add(GsiRoutes::kMost);
  EXPECT_TRUE(routes_.find(kHere, peer(0)));
  EXPECT_FALSE(routes_.find(kHere, peer(1)));
  EXPECT_TRUE(routes_.find(kHere, peer(2)));
}

TEST_F(GsiRoutesTest, AHandleThatDatagramsWaitForStays) {
  const Ahn awaited = add(0);
  send_by(awaited);
  for (std::uint32_t i = 1; i <= 2 * GsiRoutes::kMost; ++i) add(i);
  EXPECT_EQ(routes_.find(kHere, peer(0)), awaited);
  EXPECT_EQ(routes_.size(), GsiRoutes::kMost);
  ASSERT_TRUE(nic_.poll_transmit(Time::zero()));
  for (std::uint32_t i = 1; i <= GsiRoutes::kMost; ++i) add(3 * GsiRoutes::kMost + i);
  EXPECT_FALSE(routes_.find(kHere, peer(0)));
}

}  // namespace
}  // namespace rocelab::verbs
