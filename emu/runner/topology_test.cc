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
