#include "emu/runner/topology.h"

#include <gtest/gtest.h>

#include <stdexcept>

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
