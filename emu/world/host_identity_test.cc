#include "emu/world/host_identity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace rocelab {
namespace {

HostEntry host(std::uint8_t n) {
  HostEntry h;
  h.ipv4 = 0x0a000100u + n;
  h.ipv6 = ipv6_of(h.ipv4);
  h.mac = {0x02, 0x11, 0x22, 0x33, 0x44, n};
  return h;
}

TEST(HostIdentityTest, GuidAndGidsAreThoseOfLinux) {
  EXPECT_EQ(guid_of({0x02, 0x11, 0x22, 0x33, 0x44, 0x55}),
            (Guid{0x00, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55}));
  EXPECT_EQ(gid_of(host(7), 0),
            (Gid{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x00, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 7}));
  EXPECT_EQ(gid_of(host(7), 1), (Gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 1, 7}));
  EXPECT_EQ(gid_of(host(7), 2), (Gid{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 1, 7}));
  EXPECT_EQ(gids_of(host(7)), 3);
}

TEST(HostIdentityTest, AHostWithoutAnotherIpv6AddressHasTwoGids) {
  HostEntry h = host(7);
  h.ipv6 = {};
  EXPECT_EQ(gids_of(h), 2);
  EXPECT_EQ(index_of(h, Gid{}), -1);
  EXPECT_EQ(index_of(h, gid_of(h, 1)), 1);
  EXPECT_EQ(find_host(std::vector{h}, Gid{}), nullptr);
}

TEST(HostIdentityTest, EachGidFindsItsHostAndNoOtherDoes) {
  const std::vector<HostEntry> hosts = {host(1), host(2), host(3)};
  for (const auto& h : hosts)
    for (int index = 0; index < gids_of(h); ++index) {
      EXPECT_EQ(find_host(hosts, gid_of(h, index)), &h);
      EXPECT_EQ(index_of(h, gid_of(h, index)), index);
    }
  EXPECT_EQ(find_host(hosts, gid_of(host(4), 0)), nullptr);
  EXPECT_EQ(find_host(hosts, gid_of(host(4), 1)), nullptr);
  EXPECT_EQ(find_host(hosts, gid_of(host(4), 2)), nullptr);
  EXPECT_EQ(find_host(hosts, Gid{}), nullptr);
}

TEST(HostIdentityTest, SourcePortsAreRoceOnesAndConstantForAConnection) {
  const Gid a = gid_of(host(1), 1), b = gid_of(host(2), 1);
  const std::uint16_t port = udp_source_port(0, 4096, 4097, a, b);
  EXPECT_GE(port, 0xc000);
  EXPECT_EQ(udp_source_port(0, 4096, 4097, a, b), port);
}

// Hosts whose first QPs have the same numbers, as they do here: their ports must not be the same.
TEST(HostIdentityTest, SourcePortsSpreadOverBucketsWhenQpnsAreAlike) {
  for (const unsigned buckets : {2u, 4u, 16u}) {
    std::vector<int> load(buckets);
    int flows = 0;
    for (std::uint8_t i = 1; i <= 32; ++i) {
      for (std::uint8_t j = 1; j <= 32; ++j) {
        if (i == j) continue;
        ++load[udp_source_port(0, 4096, 4096, gid_of(host(i), 1), gid_of(host(j), 1)) & (buckets - 1)];
        ++flows;
      }
    }
    const double mean = static_cast<double>(flows) / buckets;
    for (const int n : load)
      EXPECT_NEAR(n, mean, 6 * std::sqrt(mean)) << buckets;  // a fair draw stays within that
  }
}

TEST(HostIdentityTest, AFlowLabelChoosesThePortAsInLinux) {
  // rdma_flow_label_to_udp_sport: low 14 bits, xor the 6 high ones, or 0xC000.
  EXPECT_EQ(udp_source_port(0x00001, 1, 2, Gid{}, Gid{}), 0xc001);
  EXPECT_EQ(udp_source_port(0xfffff, 1, 2, Gid{}, Gid{}), 0xc000 | (0x3fff ^ 0x3f));
  EXPECT_EQ(udp_source_port(0x04000, 1, 2, Gid{}, Gid{}), 0xc001);
}

TEST(HostIdentityTest, PortsOfLargeNetworksHaveMacsOfTheirOwn) {
  std::set<Mac> seen;
  for (const std::uint32_t s : {0u, 1u, 255u, 256u, 257u, 1999u, 65535u})
    for (const std::uint32_t p : {0u, 1u, 255u, 256u, 300u}) {
      PortEntry port;
      port.switch_index = s;
      port.port_id = p;
      EXPECT_TRUE(seen.insert(mac_of(port)).second) << s << ", " << p;
    }
}

}  // namespace
}  // namespace rocelab
