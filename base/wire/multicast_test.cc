#include "base/wire/multicast.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

TEST(MulticastTest, GroupsOfIpv4HaveTheirLast23BitsInTheMac) {
  const Gid group = ipv4_mapped({239, 0xff, 2, 3});
  EXPECT_TRUE(is_multicast(group));
  EXPECT_EQ(multicast_mac(group), (MacAddress{0x01, 0x00, 0x5e, 0x7f, 2, 3}));
}

TEST(MulticastTest, GroupsOfIpv6HaveTheirLast32BitsInTheMac) {
  Gid group{0xff, 0x0e};
  group[12] = 0xaa, group[15] = 1;
  EXPECT_TRUE(is_multicast(group));
  EXPECT_EQ(multicast_mac(group), (MacAddress{0x33, 0x33, 0xaa, 0, 0, 1}));
}

TEST(MulticastTest, HostsAddressesAreNoGroups) {
  EXPECT_FALSE(is_multicast(ipv4_mapped({10, 0, 0, 1})));
  EXPECT_FALSE(is_multicast(ipv4_mapped({255, 255, 255, 255})));
  EXPECT_FALSE(is_multicast(Gid{0xfe, 0x80}));
  EXPECT_FALSE(is_multicast(Gid{}));
}

}  // namespace
}  // namespace rocelab
