// Who may bind which port: each pair of owners as Linux's cma_check_port() judges it.
#include "irn_provider/verbs/rdma_cm/port_bindings.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "lockstep/test_segment.h"

namespace rocelab::verbs {
namespace {

constexpr std::uint16_t kPort = 3'260;

cm::Address v4(std::uint8_t last, std::uint16_t port = kPort) {
  cm::Address a{4, {}, port};
  if (last != 0) a.ip[12] = 10;
  a.ip[15] = last;
  return a;
}
cm::Address v6(std::uint8_t first, std::uint16_t port = kPort) {
  cm::Address a{6, {}, port};
  a.ip[0] = first;
  return a;
}
PortOwner owner(const cm::Address& address) {
  return {cm::PortSpace::kTcp, address, false, address.ip_version == 4};
}
PortOwner shared(PortOwner who) {
  who.reuse = true;
  return who;
}
PortOwner only(PortOwner who) {
  who.family_only = true;
  return who;
}

class PortBindingsTest : public ::testing::Test {
 protected:
  PortBindingsTest() {
    for (std::uint32_t vf = 0; vf < 2; ++vf) {
      segment_->vfs()[vf].pid.store(100 + vf);
      segment_->vfs()[vf].state.store(lockstep::VfState::kClaimed);
    }
  }
  // What the second of two is told, and that it is the same the other way round.
  int second(PortOwner a, PortOwner b) {
    EXPECT_EQ(ports_.bind(b), 0);
    const int other_way = ports_.bind(a);
    if (other_way == 0) ports_.unbind(a);
    ports_.unbind(b);
    EXPECT_EQ(ports_.bind(a), 0);
    const int told = ports_.bind(b);
    if (told == 0) ports_.unbind(b);
    ports_.unbind(a);
    EXPECT_EQ(told, other_way);
    EXPECT_FALSE(lockstep::PortRegistry(segment_->share_of(0), 0).owner(0, kPort));
    return told;
  }

  lockstep::TestSegment segment_{lockstep::plain_plan(2, 2)};
  PortBindings ports_{lockstep::PortRegistry(segment_->share_of(0), 0)};
  PortBindings neighbour_{lockstep::PortRegistry(segment_->share_of(0), 1)};
};

TEST_F(PortBindingsTest, BothFamiliesAnyAddressGoTogetherIfIpv6IsToldToKeepToItself) {
  EXPECT_EQ(second(owner(v4(0)), owner(v6(0))), EADDRNOTAVAIL);
  EXPECT_EQ(second(owner(v4(0)), only(owner(v6(0)))), 0);
  PortOwner both = owner(v4(0));
  both.family_only = false;
  EXPECT_EQ(second(both, only(owner(v6(0)))), EADDRNOTAVAIL);
}

TEST_F(PortBindingsTest, OneAddressIsInUseAndAnyAddressIsInEverybodysWay) {
  EXPECT_EQ(second(owner(v4(1)), owner(v4(1))), EADDRINUSE);
  EXPECT_EQ(second(owner(v4(1)), owner(v4(2))), 0);
  EXPECT_EQ(second(owner(v4(1)), owner(v4(0))), EADDRNOTAVAIL);
  EXPECT_EQ(second(owner(v4(1)), owner(v6(0xfe))), 0);
  EXPECT_EQ(second(owner(v4(1)), owner(v6(0))), EADDRNOTAVAIL);
  EXPECT_EQ(second(owner(v4(1)), only(owner(v6(0)))), 0);
}

TEST_F(PortBindingsTest, OwnersThatAllReuseShareUntilOneListens) {
  PortOwner a = shared(owner(v4(0))), b = shared(owner(v4(0))), c = owner(v4(0));
  EXPECT_EQ(second(a, b), 0);
  EXPECT_EQ(second(a, c), EADDRNOTAVAIL);
  ASSERT_EQ(ports_.bind(a), 0);
  ASSERT_EQ(ports_.bind(b), 0);
  EXPECT_EQ(ports_.listen(a), EADDRNOTAVAIL);
  ports_.unbind(b);
  EXPECT_EQ(ports_.listen(a), 0);
  EXPECT_EQ(ports_.bind(b), EADDRNOTAVAIL);
  ports_.unbind(a);
  EXPECT_EQ(ports_.bind(b), 0);
}

TEST_F(PortBindingsTest, AnotherProcessHasThePortWhateverItsAddress) {
  PortOwner a = shared(owner(v4(1))), b = shared(owner(v4(2)));
  ASSERT_EQ(ports_.bind(a), 0);
  EXPECT_EQ(neighbour_.bind(b), EADDRINUSE);
  b.space = cm::PortSpace::kUdp;
  EXPECT_EQ(neighbour_.bind(b), 0);
  b.address = a.address;
  b.space = a.space;
  ports_.unbind(a);
  EXPECT_EQ(neighbour_.bind(b), 0);
}

TEST_F(PortBindingsTest, EphemeralPortsAreSomebodysOwnAndTheirNumberIsBounded) {
  constexpr std::size_t kEphemerals = 60'999 - 32'768 + 1;
  std::vector<PortOwner> owners(kEphemerals, shared(owner(v4(1, 0))));
  std::vector<bool> seen(65'536);
  for (PortOwner& each : owners) {
    ASSERT_EQ(ports_.bind(each), 0);
    const std::uint16_t port = each.address.port;
    EXPECT_TRUE(port >= 32'768 && port <= 60'999 && !seen[port]) << port;
    seen[port] = true;
  }
  PortOwner late = shared(owner(v4(1, 0))), neighbours = late;
  EXPECT_EQ(ports_.bind(late), EADDRNOTAVAIL);
  EXPECT_EQ(neighbour_.bind(neighbours), EADDRNOTAVAIL);
  ports_.unbind(owners.back());
  EXPECT_EQ(neighbour_.bind(neighbours), 0);
  EXPECT_EQ(neighbours.address.port, owners.back().address.port);
}

}  // namespace
}  // namespace rocelab::verbs
