#include "emu/runner/topology.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "emu/runner/routing.h"

namespace rocelab {
namespace {

TEST(TopologyTest, LeafSpinePortsAreHostsThenSpines) {
  const Topology t = make_leaf_spine(3, 2, 4, {}, {});
  t.check();
  EXPECT_EQ(t.hosts(), 12u);
  EXPECT_EQ(t.switches(), 5u);
  const std::uint32_t leaf2 = t.find("leaf2");
  EXPECT_EQ(t.nodes()[leaf2].links.size(), 6u);
  EXPECT_EQ(t.nodes()[t.neighbour(leaf2, 0)].name, "h5");
  EXPECT_EQ(t.nodes()[t.neighbour(leaf2, 4)].name, "spine1");
  EXPECT_EQ(t.nodes()[t.neighbour(t.find("spine2"), 2)].name, "leaf3");
}

TEST(TopologyTest, LeavesAndSpinesMayHaveLinksSideBySide) {
  const Topology t = make_leaf_spine(2, 3, 1, {}, {100_Gbps, 1_us}, 2);
  t.check();
  EXPECT_EQ(t.links().size(), 2u + 2 * 3 * 2);
  const std::uint32_t leaf2 = t.find("leaf2");
  EXPECT_EQ(t.nodes()[t.neighbour(leaf2, 3)].name, "spine2");
  EXPECT_EQ(t.nodes()[t.neighbour(leaf2, 4)].name, "spine2");
  EXPECT_EQ(t.nodes()[t.find("spine3")].links.size(), 4u);
}

TEST(TopologyTest, DumbbellHasOneTrunk) {
  const Topology t = make_dumbbell(2, 9, {40_Gbps, 2_us}, {100_Gbps, 5_us});
  t.check();
  const std::uint32_t trunk = t.find_link(t.find("s1"), t.find("s2"));
  ASSERT_NE(trunk, Topology::kNoNode);
  EXPECT_EQ(t.links()[trunk].rate, 100_Gbps);
  EXPECT_EQ(t.neighbour(t.find("h2"), 0), t.find("s1"));
  EXPECT_EQ(t.neighbour(t.find("h3"), 0), t.find("s2"));
}

TEST(TopologyTest, FatTreesHaveTheSizesOfTheirArity) {
  struct Case {
    std::uint32_t arity, hosts, switches;
  };
  for (const auto& [arity, hosts, switches] : {Case{2, 2, 5}, Case{4, 16, 20}, Case{6, 54, 45},
                                               Case{8, 128, 80}, Case{10, 250, 125}, Case{16, 1024, 320}}) {
    const Topology t = make_fat_tree({arity, arity / 2, {}, {}, {}});
    t.check();
    EXPECT_EQ(t.hosts(), hosts);
    EXPECT_EQ(t.switches(), switches);
    for (std::uint32_t s = t.hosts(); s < t.nodes().size(); ++s)
      EXPECT_EQ(t.nodes()[s].links.size(), arity) << t.nodes()[s].name;
  }
}

TEST(TopologyTest, FatTreeTiersHaveTheirOwnSpeeds) {
  const Topology t = make_fat_tree({4, 4, {100_Gbps, 1_us}, {200_Gbps, 2_us}, {400_Gbps, 3_us}});
  const auto link = [&](const char* a, const char* b) {
    return t.links()[t.find_link(t.find(a), t.find(b))];
  };
  EXPECT_EQ(t.hosts(), 32u);  // two hosts for each uplink
  EXPECT_EQ(link("h5", "edge2").rate, 100_Gbps);
  EXPECT_EQ(link("edge2", "agg2").rate, 200_Gbps);
  EXPECT_EQ(link("agg2", "core3").rate, 400_Gbps);
  EXPECT_EQ(link("agg2", "core4").delay, 3_us);
  EXPECT_EQ(t.find_link(t.find("agg2"), t.find("core1")), Topology::kNoNode);
  EXPECT_EQ(t.nodes()[t.find("edge3")].pod, 1u);
  EXPECT_THROW(make_fat_tree({5, 2, {}, {}, {}}), std::invalid_argument);
}

TEST(TopologyTest, RingsCloseAndParkingLotsDoNot) {
  const Topology ring = make_ring(4, 2, {}, {}), lot = make_parking_lot(4, 2, {}, {});
  ring.check();
  lot.check();
  EXPECT_EQ(ring.links().size(), 12u);
  EXPECT_EQ(lot.links().size(), 11u);
  EXPECT_NE(ring.find_link(ring.find("s1"), ring.find("s4")), Topology::kNoNode);
  EXPECT_EQ(lot.find_link(lot.find("s1"), lot.find("s4")), Topology::kNoNode);
  EXPECT_EQ(lot.neighbour(lot.find("h3"), 0), lot.find("s2"));
  EXPECT_THROW(make_ring(2, 1, {}, {}), std::invalid_argument);
}

TEST(TopologyTest, TrafficOfAClockwiseRingGoesTheLongWay) {
  const Topology ring = make_ring(4, 1, {}, {}, true);
  const Routing routing(ring);
  for (std::uint32_t src = 0; src < 4; ++src)
    for (std::uint32_t dst = 0; dst < 4; ++dst) {
      if (src == dst) continue;
      EXPECT_EQ(routing.path(src, dst).size(), 2 + (dst + 4 - src) % 4) << src << " to " << dst;
    }
  const std::uint32_t s1 = ring.find("s1"), s2 = ring.find("s2");
  const std::vector<std::uint32_t> ports = routing.next_ports(s1, 3);
  ASSERT_EQ(ports.size(), 1u);
  EXPECT_EQ(ring.neighbour(s1, ports[0]), s2);
}

TEST(TopologyTest, EachNicOfAHostHangsOnItsRail) {
  const Topology t = make_rails({2, 3, 2, 4, {100_Gbps, 1_us}, {400_Gbps, 2_us}});
  t.check();
  EXPECT_EQ(t.hosts(), 24u);
  EXPECT_EQ(t.switches(), 2u * 4 + 2);
  EXPECT_EQ(t.nodes()[5].name, "h2.1");
  EXPECT_EQ(t.machine_of(5), 1u);
  EXPECT_EQ(t.nic_number_of(5), 1u);
  EXPECT_EQ(t.machine_name(1), "h2");
  const auto rail_of = [&](const char* nic) { return t.nodes()[t.neighbour(t.find(nic), 0)].name; };
  EXPECT_EQ(rail_of("h1.0"), "rail1_0");
  EXPECT_EQ(rail_of("h3.3"), "rail1_3");
  EXPECT_EQ(rail_of("h4.3"), "rail2_3");
  const std::uint32_t rail = t.find("rail2_1");
  ASSERT_EQ(t.nodes()[rail].links.size(), 5u);
  EXPECT_EQ(t.nodes()[t.neighbour(rail, 2)].name, "h6.1");
  EXPECT_EQ(t.nodes()[t.neighbour(rail, 3)].name, "spine1");
  EXPECT_EQ(t.links()[t.find_link(rail, t.find("spine2"))].rate, 400_Gbps);
  EXPECT_TRUE(t.reaches(t.find("h1.0"), t.find("h6.3")));
}

TEST(TopologyTest, RailsWithoutSpinesDoNotMeet) {
  const Topology t = make_rails({1, 4, 0, 2, {}, {}});
  t.check();
  EXPECT_TRUE(t.reaches(t.find("h1.1"), t.find("h4.1")));
  EXPECT_FALSE(t.reaches(t.find("h1.0"), t.find("h1.1")));
  EXPECT_THROW(make_rails({2, 4, 0, 2, {}, {}}).check(), std::invalid_argument) << "two groups";
}

TEST(TopologyTest, EachPlaneIsAWholeNetwork) {
  const Topology t = make_planes(make_fat_tree({4, 2, {}, {}, {}}), 2);
  t.check();
  EXPECT_EQ(t.hosts(), 2u * 16);
  EXPECT_EQ(t.switches(), 2u * 20);
  EXPECT_EQ(t.nodes()[t.neighbour(t.find("h3.1"), 0)].name, "p1edge2");
  EXPECT_EQ(t.nodes()[t.find("p1edge3")].pod, 5u) << "pods of planes are apart";
  EXPECT_TRUE(t.reaches(t.find("h1.1"), t.find("h16.1")));
  EXPECT_FALSE(t.reaches(t.find("h1.0"), t.find("h16.1")));
}

TEST(TopologyTest, NicsOfOtherFamiliesHangOnTheHostsSwitch) {
  const Topology t = with_nics(make_ring(3, 2, {}, {}, true), 3);
  t.check();
  EXPECT_EQ(t.hosts(), 18u);
  for (const char* nic : {"h3.0", "h3.1", "h3.2"}) EXPECT_EQ(t.neighbour(t.find(nic), 0), t.find("s2"));
  EXPECT_TRUE(t.links()[t.find_link(t.find("s1"), t.find("s2"))].one_way);
}

TEST(TopologyTest, ANameMeansANicOrAllOfAHost) {
  const Topology t = with_nics(make_star(3, {}), 2);
  EXPECT_EQ(t.find_nics("h2"), (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(t.find_nics("h2.1"), (std::vector<std::uint32_t>{3}));
  EXPECT_TRUE(t.find_nics("h4").empty());
  EXPECT_TRUE(t.find_nics("s1").empty());
  EXPECT_EQ(make_star(3, {}).find_nics("h2"), (std::vector<std::uint32_t>{1}));
}

TEST(TopologyTest, RefusesWhatNoFabricCanBe) {
  Topology t;
  const std::uint32_t a = t.add_host("a"), b = t.add_host("b");
  EXPECT_THROW(t.add_host("a"), std::invalid_argument);
  EXPECT_THROW(t.add_host("a name"), std::invalid_argument);
  EXPECT_THROW(t.add_host("muchtoolongname"), std::invalid_argument);
  const std::uint32_t s = t.add_switch("s"), far = t.add_switch("far");
  EXPECT_THROW(t.add_host("late"), std::invalid_argument);
  EXPECT_THROW(t.add_link(a, b, 1_Gbps, 1_us), std::invalid_argument);
  t.add_link(a, s, 1_Gbps, 1_us);
  EXPECT_THROW(t.add_link(a, far, 1_Gbps, 1_us), std::invalid_argument);
  EXPECT_THROW(t.check(), std::invalid_argument);  // b has no link
  t.add_link(far, b, 1_Gbps, 1_us);
  EXPECT_EQ(t.links().back().a, b);                // a host is always end a
  EXPECT_THROW(t.check(), std::invalid_argument);  // two islands
  t.add_link(s, far, 1_Gbps, 1_us);
  t.check();
}

}  // namespace
}  // namespace rocelab
