#include "emu/runner/routing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "emu/runner/route_walk.h"

namespace rocelab {
namespace {

TEST(RoutingTest, EveryPairIsJoinedByShortestPathsOnEveryBucket) {
  for (const Topology& t : {make_star(5, {}), make_dumbbell(2, 3, {}, {}), make_leaf_spine(3, 3, 2, {}, {}),
                            make_parking_lot(5, 2, {}, {}), make_ring(6, 1, {}, {}), make_ring(7, 2, {}, {}),
                            make_fat_tree({2, 3, {}, {}, {}}), make_fat_tree({4, 2, {}, {}, {}})}) {
    const Routing routing(t);
    const std::vector<Route> rules = routing.rules(Rng(1));
    for (std::uint32_t src = 0; src < t.hosts(); ++src)
      for (std::uint32_t dst = 0; dst < t.hosts(); ++dst)
        for (std::uint32_t port = 0xc000; src != dst && port < 0xc040; ++port)
          ASSERT_EQ(walk(t, routing, rules, src, dst, static_cast<std::uint16_t>(port)),
                    static_cast<int>(routing.path(src, dst).size()))
              << t.kind << " " << src << "->" << dst;
  }
}

TEST(RoutingTest, NicsOfOnePlaneReachEachOtherAndNoneOfAnother) {
  for (Topology t : {make_planes(make_leaf_spine(3, 2, 2, {}, {}), 2), make_planes(make_star(4, {}), 3),
                     make_planes(make_fat_tree({4, 2, {}, {}, {}}), 2), make_rails({1, 4, 0, 2, {}, {}}),
                     make_rails({3, 2, 2, 2, {}, {}}), with_nics(make_dumbbell(2, 2, {}, {}), 2)})
    for (const PathChoice paths : {PathChoice::kAll, PathChoice::kSpread, PathChoice::kFirst}) {
      t.paths = paths;
      const Routing routing(t);
      const std::vector<Route> rules = routing.rules(Rng(1));
      for (std::uint32_t src = 0; src < t.hosts(); ++src)
        for (std::uint32_t dst = 0; dst < t.hosts(); ++dst) {
          if (src == dst) continue;
          const std::uint16_t port = static_cast<std::uint16_t>(0xc000 + src);
          const int expected = t.reaches(src, dst) ? static_cast<int>(routing.path(src, dst).size()) : -1;
          ASSERT_EQ(walk(t, routing, rules, src, dst, port), expected) << t.kind << " " << src << "->" << dst;
        }
    }
}

TEST(RoutingTest, GroupsAreFloodedInEachPlane) {
  const Topology t = make_planes(make_leaf_spine(2, 2, 2, {}, {}), 2);
  const Routing routing(t);
  std::map<std::uint32_t, std::set<std::uint32_t>> ports;  // of each switch: of all its rules
  for (const Route& r : routing.group_rules())
    ports[r.switch_index].insert(r.group_ports.begin(), r.group_ports.end());
  for (const char* name : {"p0leaf1", "p0leaf2", "p1leaf1", "p1leaf2"})
    EXPECT_EQ(ports[t.find(name) - t.hosts()].size(), 3u) << name << ": two NICs and a way to the other leaf";
}

// Two switches with `links` between them, hosts h1 and h2.
Topology side_by_side(int links) {
  Topology t;
  t.add_host("h1");
  t.add_host("h2");
  t.add_switch("s1");
  t.add_switch("s2");
  t.add_link(0, 2, 40_Gbps, 1_us);
  t.add_link(1, 3, 40_Gbps, 1_us);
  for (int i = 0; i < links; ++i) t.add_link(2, 3, 40_Gbps, 1_us);
  return t;
}

TEST(RoutingTest, LinksSideBySideShareTheFlows) {
  const Topology t = side_by_side(2);
  const Routing routing(t);
  const std::vector<Route> rules = routing.rules(Rng(1));
  EXPECT_EQ(routing.next_ports(2, 1), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(routing.next_ports(3, 0), (std::vector<std::uint32_t>{1, 2}));
  std::map<int, int> uses;
  for (std::uint32_t port = 0xc000; port < 0xc400; ++port)
    ++uses[forwarded(rules, 0, routing.address(1).ipv4, static_cast<std::uint16_t>(port))];
  EXPECT_EQ(uses, (std::map<int, int>{{1, 512}, {2, 512}}));
  int copies = 0;  // of a datagram to a group: it crosses one of the two
  for (const Route& r : routing.group_rules())
    if (r.switch_index == 0 && r.port_id == Route::kAnyPort) copies = static_cast<int>(r.group_ports.size());
  EXPECT_EQ(copies, 2);  // the host, and the other switch once
}

TEST(RoutingTest, OfLinksSideBySideThoseAliveGoOn) {
  const Topology t = side_by_side(3);
  std::vector<bool> dead(t.links().size());
  dead[3] = true;  // the second
  const Routing routing(t, dead);
  EXPECT_EQ(routing.next_ports(2, 1), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(routing.next_ports(3, 0), (std::vector<std::uint32_t>{1, 3}));
  dead[2] = dead[4] = true;  // none is left: what goes on is lost there
  EXPECT_EQ(Routing(t, dead).next_ports(2, 1), (std::vector<std::uint32_t>{1, 2, 3}));
}

TEST(RoutingTest, BucketsAreEvenAndFollowTheSeed) {
  const Topology t = make_leaf_spine(9, 6, 6, {}, {});
  const Routing routing(t);
  const std::vector<Route> rules = routing.rules(Rng(1));
  std::map<std::uint32_t, int> uses;
  for (const Route& r : rules)
    if (r.switch_index == 0 && r.src_port_mask != 0) ++uses[r.port_id];
  ASSERT_EQ(uses.size(), 6u);
  for (const auto& [port, n] : uses) EXPECT_TRUE(n == 21 || n == 22) << port << ": " << n;
  EXPECT_EQ(rules, routing.rules(Rng(1)));
  EXPECT_NE(rules, routing.rules(Rng(2)));
}

TEST(RoutingTest, OneRuleSetServesAllRemoteHosts) {
  const Topology t = make_leaf_spine(9, 6, 6, {}, {});
  std::size_t leaf = 0, spine = 0;
  for (const Route& r : Routing(t).rules(Rng(1))) {
    leaf += r.switch_index == 0;
    spine += r.switch_index == 9;
  }
  EXPECT_EQ(leaf,
            6u + 128 + 1);  // own hosts, buckets for everybody else, one rule for traffic without a bucket
  EXPECT_EQ(spine, 9u);     // one prefix for each leaf
}

TEST(RoutingTest, FatTreeAddressesAggregateByPodAndSoDoTheRules) {
  const Topology t = make_fat_tree({6, 3, {}, {}, {}});
  const Routing routing(t);
  EXPECT_EQ(ipv4_text(routing.address(t.find("h9")).ipv4), "10.0.2.3");
  EXPECT_EQ(ipv4_text(routing.address(t.find("h10")).ipv4), "10.0.4.1");  // pod 2 begins at a multiple of 4
  std::map<std::uint32_t, std::size_t> rules;
  for (const Route& r : routing.rules(Rng(1))) ++rules[r.switch_index + t.hosts()];
  EXPECT_EQ(rules[t.find("edge1")], 3u + 128 + 1);  // own hosts; buckets for everybody else and the rest
  EXPECT_EQ(rules[t.find("agg1")], 3u + 128 + 1);   // edge switches of the pod; buckets for other pods
  EXPECT_EQ(rules[t.find("core9")], 6u);            // one for each pod
}

TEST(RoutingTest, FlowsSpreadOverAllPathsOfAFatTree) {
  const Topology t = make_fat_tree({6, 3, {}, {}, {}});
  const Routing routing(t);
  std::vector<Route> rules;  // of the first pod, without its hosts' own: all source ports are tried
  for (const Route& r : routing.rules(Rng(1)))
    if (r.prefix_length < 32 && (r.switch_index < 3 || (r.switch_index >= 18 && r.switch_index < 21)))
      rules.push_back(r);
  std::map<std::uint32_t, int> uses;  // of cores, from one edge switch
  const std::uint32_t edge = t.find("edge1"), far = routing.address(t.find("h54")).ipv4;
  for (std::uint32_t port = 0xc000; port <= 0xffff; ++port) {
    const auto source = static_cast<std::uint16_t>(port);
    const auto up = static_cast<std::uint32_t>(forwarded(rules, edge - t.hosts(), far, source));
    const std::uint32_t agg = t.neighbour(edge, up);
    const auto further = static_cast<std::uint32_t>(forwarded(rules, agg - t.hosts(), far, source));
    ++uses[t.neighbour(agg, further)];
  }
  ASSERT_EQ(uses.size(), 9u);
  const int even = 0x4000 / 9;  // 43 or 42 of 128 buckets at each of two tiers
  for (const auto& [core, n] : uses) EXPECT_NEAR(n, even, even * 0.04) << t.nodes()[core].name;
}

TEST(RoutingTest, DeadLinksAreRoutedAround) {
  const Topology t = make_fat_tree({4, 2, {}, {}, {}});
  std::vector<bool> dead(t.links().size());
  for (const auto& [a, b] : {std::pair{"edge1", "agg1"}, std::pair{"agg4", "core3"}})
    dead[t.find_link(t.find(a), t.find(b))] = true;
  const Routing routing(t, dead);
  const std::vector<Route> rules = routing.rules(Rng(1));
  for (std::uint32_t src = 0; src < t.hosts(); ++src)
    for (std::uint32_t dst = 0; dst < t.hosts(); ++dst)
      for (std::uint32_t port = 0xc000; src != dst && port < 0x10000; port += 97) {
        std::uint32_t node = t.neighbour(src, 0);
        for (int links = 1; node != dst; ++links) {
          ASSERT_LT(links, 10);
          const int out =
              forwarded(rules, node - t.hosts(), routing.address(dst).ipv4, static_cast<std::uint16_t>(port));
          ASSERT_GE(out, 0);
          const auto taken = static_cast<std::uint32_t>(out);
          ASSERT_FALSE(dead[t.nodes()[node].links[taken]]);
          node = t.neighbour(node, taken);
        }
      }
}

TEST(RoutingTest, FramesForWhoIsCutOffDieAtTheDeadLink) {
  const Topology t = make_parking_lot(4, 1, {}, {});
  std::vector<bool> dead(t.links().size());
  dead[t.find_link(t.find("s2"), t.find("s3"))] = true;
  const Routing routing(t, dead);
  const std::vector<Route> rules = routing.rules(Rng(1));
  // The walk ignores that the link is dead: every frame still takes the one way there is, and none circles.
  for (std::uint32_t src = 0; src < 4; ++src)
    for (std::uint32_t dst = 0; dst < 4; ++dst)
      EXPECT_TRUE(src == dst || walk(t, routing, rules, src, dst, 0xc000) ==
                                    static_cast<int>(src < dst ? dst - src : src - dst) + 2);
}

TEST(RoutingTest, BucketsOfSwitchesFarFromAFailureStay) {
  const Topology t = make_leaf_spine(4, 4, 1, {}, {});
  std::vector<bool> dead(t.links().size());
  dead[t.find_link(t.find("leaf1"), t.find("spine1"))] = true;
  const auto of_leaf2 = [&](const std::vector<Route>& rules, std::uint32_t block) {
    std::vector<int> ports;
    for (std::uint32_t source = 0; source < 64; ++source)
      ports.push_back(forwarded(rules, 1, 10u << 24 | block << 8 | 1, static_cast<std::uint16_t>(source)));
    return ports;
  };
  const std::vector<Route> before = Routing(t).rules(Rng(1)), after = Routing(t, dead).rules(Rng(1));
  EXPECT_EQ(of_leaf2(before, 2), of_leaf2(after, 2));
  EXPECT_NE(of_leaf2(before, 0), of_leaf2(after, 0));  // spine1 no longer leads to leaf1
}

// Who gets a datagram to a group from `src`, by how many copies, by the rules alone.
std::map<std::uint32_t, int> flooded(const Topology& t, const std::vector<Route>& rules, std::uint32_t src) {
  std::map<std::uint32_t, int> copies;
  struct Frame {
    std::uint32_t node, in_port;
  };
  const Link& access = t.links()[t.nodes()[src].links[0]];
  std::vector<Frame> waiting = {{access.b, access.b_port}};
  for (std::size_t i = 0; i < waiting.size() && i < 1000; ++i) {
    const auto [node, in_port] = waiting[i];
    const Route* best = nullptr;
    for (const Route& r : rules)
      if (r.switch_index == node - t.hosts() &&
          (r.port_id == in_port || (r.port_id == Route::kAnyPort && best == nullptr)))
        best = &r;
    if (best == nullptr) continue;
    for (const std::uint32_t port : best->group_ports) {
      if (port == in_port && best->port_id == Route::kAnyPort) continue;
      const Link& link = t.links()[t.nodes()[node].links[port]];
      const std::uint32_t next = link.a == node ? link.b : link.a;
      if (t.is_host(next))
        ++copies[next];
      else
        waiting.push_back({next, link.a == next ? link.a_port : link.b_port});
    }
  }
  return copies;
}

TEST(RoutingTest, GroupsReachEveryHostOnce) {
  for (const Topology& t :
       {make_star(5, {}), make_dumbbell(2, 3, {}, {}), make_leaf_spine(3, 3, 2, {}, {}),
        make_parking_lot(5, 2, {}, {}), make_ring(6, 1, {}, {}), make_fat_tree({4, 2, {}, {}, {}})}) {
    const std::vector<Route> rules = Routing(t).group_rules();
    for (std::uint32_t src = 0; src < t.hosts(); ++src) {
      const auto copies = flooded(t, rules, src);
      EXPECT_EQ(copies.size(), t.hosts()) << t.kind << " from " << src;
      for (const auto& [host, n] : copies) EXPECT_EQ(n, 1) << t.kind << " from " << src << " to " << host;
    }
  }
}

TEST(RoutingTest, GroupsGoAroundADeadLink) {
  const Topology t = make_leaf_spine(3, 2, 2, {}, {});
  std::vector<bool> dead(t.links().size());
  dead[t.find_link(t.find("leaf1"), t.find("spine1"))] = true;
  const auto copies = flooded(t, Routing(t, dead).group_rules(), 0);
  EXPECT_EQ(copies.size(), t.hosts());
  for (const auto& [host, n] : copies) EXPECT_EQ(n, 1) << host;
}

TEST(RoutingTest, RulesForGroupsMatchTheGroupBitAndGoBackToTheSendersHost) {
  Route route;
  route.group_ports = {0, 1};
  route.port_id = 1;
  EXPECT_EQ(openflow(route),
            (std::vector<std::string>{"priority=905,udp,dl_dst=01:00:00:00:00:00/"
                                      "01:00:00:00:00:00,tp_dst=4791,in_port=2,actions=output:1,in_port",
                                      "priority=905,udp6,dl_dst=01:00:00:00:00:00/"
                                      "01:00:00:00:00:00,tp_dst=4791,in_port=2,actions=output:1,in_port"}));
  route.port_id = Route::kAnyPort;
  EXPECT_EQ(
      openflow(route).front(),
      "priority=900,udp,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00,tp_dst=4791,actions=output:1,output:2");
}

TEST(RoutingTest, RulesMatchTheMacThatCarriesTheAddress) {
  const Topology t = make_star(2, {});
  const Routing routing(t);
  EXPECT_EQ(ipv4_text(routing.address(1).ipv4), "10.0.0.2");
  EXPECT_EQ(mac_text(routing.address(1).mac), "02:00:0a:00:00:02");
  EXPECT_EQ(
      openflow(Route{0, routing.address(1).ipv4, 32, 0, 0, 1}),
      (std::vector<std::string>{"priority=1320,dl_dst=02:00:0a:00:00:02/ff:ff:ff:ff:ff:ff,actions=output:2",
                                "priority=1320,arp,arp_tpa=10.0.0.2/32,actions=output:2"}));
  EXPECT_EQ(openflow(Route{0, 10u << 24 | 3u << 8, 24, 5, 63, 7}),
            (std::vector<std::string>{"priority=1245,udp,dl_dst=02:00:0a:00:03:00/"
                                      "ff:ff:ff:ff:ff:00,tp_dst=4791,tp_src=0x5/0x3f,actions=output:8",
                                      "priority=1245,udp6,dl_dst=02:00:0a:00:03:00/"
                                      "ff:ff:ff:ff:ff:00,tp_dst=4791,tp_src=0x5/0x3f,actions=output:8"}));
}

TEST(RoutingTest, RulesOfAChangeMaySendAFrameBack) {
  EXPECT_EQ(
      openflow(Route{0, 10u << 24 | 2, 32, 0, 0, 1}, true).front(),
      "priority=1320,dl_dst=02:00:0a:00:00:02/ff:ff:ff:ff:ff:ff,actions=load:0->OXM_OF_IN_PORT[],output:2");
}

TEST(RoutingTest, AHostsOwnRuleSendsBackWhatItSendsToItself) {
  const Topology t = make_star(2, {});
  const std::vector<Route> rules = Routing(t).rules(Rng(1));
  ASSERT_EQ(rules.size(), 2u);  // one switch: nothing but its hosts
  for (const Route& route : rules) {
    EXPECT_TRUE(route.to_host);
    EXPECT_NE(openflow(route).front().find("actions=load:0->OXM_OF_IN_PORT[],output:"), std::string::npos);
  }
}

TEST(RoutingTest, RefusesMoreHostsThanAPrefixHolds) {
  EXPECT_NO_THROW(Routing(make_star(254, {})));
  const Topology crowded = make_star(255, {});
  EXPECT_THROW(Routing{crowded}, std::invalid_argument);
}

// Hosts of one edge switch leave by different ports, and so do edge switches of a pod at the tier above.
TEST(RoutingTest, WithSinglePathsEachDestinationHasOneWay) {
  FatTreeShape shape;
  shape.arity = 4, shape.hosts_per_edge = 2;
  Topology topology = make_fat_tree(shape);
  topology.paths = PathChoice::kSpread;
  const Routing routing(topology);
  const std::uint32_t edge = topology.find("edge1"), agg = topology.find("agg1");
  std::set<std::uint32_t> at_edge, at_agg;
  for (std::uint32_t h = 4; h < 8; ++h) {  // of the second pod
    ASSERT_EQ(routing.next_ports(edge, h).size(), 1u);
    ASSERT_EQ(routing.next_ports(agg, h).size(), 1u);
    at_edge.insert(routing.next_ports(edge, h)[0]);
    at_agg.insert(routing.next_ports(agg, h)[0]);
  }
  EXPECT_EQ(at_edge.size(), 2u);
  EXPECT_EQ(at_agg.size(), 2u);
  for (const Route& rule : routing.rules(Rng(1))) EXPECT_EQ(rule.src_port_mask, 0) << "a bucket";
}

TEST(RoutingTest, TheRulesOfSinglePathsAreThoseOfTheirRoutes) {
  Topology topology = make_leaf_spine(3, 3, 4, {}, {});
  topology.paths = PathChoice::kSpread;
  const Routing routing(topology);
  const std::vector<Route> rules = routing.rules(Rng(1));
  for (std::uint32_t s = 0; s < topology.switches(); ++s)
    for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
      const auto match =
          std::ranges::find_if(rules, [&](const Route& rule) {  // the most specific comes first
            const std::uint32_t mask = rule.prefix_length == 0 ? 0 : ~0u << (32 - rule.prefix_length);
            return rule.switch_index == s && (routing.address(h).ipv4 & mask) == (rule.prefix & mask);
          });
      ASSERT_NE(match, rules.end());
      EXPECT_EQ(match->port_id, routing.next_ports(topology.hosts() + s, h).at(0))
          << "switch " << s << " host " << h;
    }
}

TEST(RoutingTest, FirstPathsTakeTheFirstPortsForAll) {
  Topology topology = make_leaf_spine(3, 3, 4, {}, {});
  topology.paths = PathChoice::kFirst;
  const Routing routing(topology);
  for (const char* leaf : {"leaf1", "leaf2", "leaf3"})
    for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
      const std::vector<std::uint32_t> ports = routing.next_ports(topology.find(leaf), h);
      ASSERT_EQ(ports.size(), 1u);
      if (topology.neighbour(h, 0) != topology.find(leaf)) {
        EXPECT_EQ(topology.neighbour(topology.find(leaf), ports[0]), topology.find("spine1"));
      }
    }
  for (const Route& rule : routing.rules(Rng(1))) EXPECT_EQ(rule.src_port_mask, 0) << "a bucket";
}

TEST(RoutingTest, ASinglePathThatFailsMovesToAnother) {
  Topology topology = make_leaf_spine(2, 2, 2, {}, {});
  topology.paths = PathChoice::kSpread;
  std::vector<bool> dead(topology.links().size());
  const std::uint32_t leaf = topology.find("leaf1"), host = topology.find("h3");
  const std::uint32_t port = Routing(topology).next_ports(leaf, host).at(0);
  dead[topology.nodes()[leaf].links[port]] = true;
  const std::vector<std::uint32_t> other = Routing(topology, dead).next_ports(leaf, host);
  ASSERT_EQ(other.size(), 1u);
  EXPECT_NE(other[0], port);
}

}  // namespace
}  // namespace rocelab
