#include "emu/des/forwarding.h"

#include <gtest/gtest.h>

namespace rocelab::des {
namespace {

HostEntry host(std::uint32_t ipv4) {
  HostEntry entry;
  entry.ipv4 = ipv4;
  return entry;
}

RunPlan two_hosts(std::vector<Route> routes) {
  RunPlan plan;
  plan.world.hosts = {host(0x0a000001), host(0x0a000101)};
  plan.world.switches.resize(1);
  plan.routes = std::move(routes);
  return plan;
}

int out(const Forwarding& f, std::uint16_t host, std::uint16_t src_port) {
  const PortId* port = f.out(f.row(0), NodeId{host}, src_port);
  return port != nullptr ? port->value : -1;
}

TEST(ForwardingTest, TheLongestPrefixWins) {
  const Forwarding f(two_hosts({{0, 0x0a000000, 8, 0, 0, 7}, {0, 0x0a000001, 32, 0, 0, 1}}));
  EXPECT_EQ(out(f, 0, 0xc000), 1);
  EXPECT_EQ(out(f, 1, 0xc000), 7);
}

TEST(ForwardingTest, BucketsGoByTheMaskedSourcePortBeforeTheRuleWithoutOne) {
  const Forwarding f(two_hosts({{0, 0x0a000100, 24, 0, 3, 4},
                                {0, 0x0a000100, 24, 1, 3, 5},
                                {0, 0x0a000100, 24, 2, 3, 4},
                                {0, 0x0a000100, 24, 3, 3, 6},
                                {0, 0x0a000100, 24, 0, 0, 4}}));
  EXPECT_EQ(out(f, 1, 0xc000), 4);
  EXPECT_EQ(out(f, 1, 0xc001), 5);
  EXPECT_EQ(out(f, 1, 0xffff), 6);
  EXPECT_EQ(out(f, 0, 0xc000), -1) << "no rule: nobody";
  EXPECT_EQ(out(f, 9, 0xc000), -1) << "no such host";
}

TEST(ForwardingTest, HostsOfOneBlockMayHaveRulesOfTheirOwn) {
  RunPlan plan = two_hosts({{0, 0x0a000002, 32, 0, 0, 2},
                            {0, 0x0a000004, 30, 0, 0, 3},
                            {0, 0x0a000000, 24, 0, 0, 1},
                            {0, 0x0a000000, 8, 0, 0, 0}});
  plan.world.hosts = {host(0x0a000101), host(0x0a000002), host(0x0a000001), host(0x0a000006),
                      host(0x0a000008)};
  const Forwarding f(plan);
  for (const auto& [index, port] : {std::pair{0, 0}, {1, 2}, {2, 1}, {3, 3}, {4, 1}})
    EXPECT_EQ(out(f, static_cast<std::uint16_t>(index), 0xc000), port) << index;
}

TEST(ForwardingTest, BucketsMayLieInTheHighBits) {
  const Forwarding f(two_hosts({{0, 0x0a000100, 24, 0x0000, 0x0300, 4},
                                {0, 0x0a000100, 24, 0x0100, 0x0300, 5},
                                {0, 0x0a000100, 24, 0x0200, 0x0300, 6},
                                {0, 0x0a000100, 24, 0x0300, 0x0300, 7},
                                {0, 0x0a000100, 24, 0, 0, 4}}));
  EXPECT_EQ(out(f, 1, 0xc0ff), 4);
  EXPECT_EQ(out(f, 1, 0xc1ff), 5);
  EXPECT_EQ(out(f, 1, 0xfeff), 6);
  EXPECT_EQ(out(f, 1, 0xff00), 7);
}

}  // namespace
}  // namespace rocelab::des
