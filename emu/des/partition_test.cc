// Partitions of topologies that scenarios have: parts are of about equal work, hosts are with their switch,
// and few links lead away.
#include "emu/des/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "base/rng.h"
#include "emu/world/test_worlds.h"

namespace rocelab::des {
namespace {

// `pods` pods of two switches with hosts below two without, and four above them all.
World clos(std::uint32_t pods, std::uint32_t hosts) {
  WorldBuilder w;
  std::vector<std::uint32_t> cores;
  for (int c = 0; c < 4; ++c) cores.push_back(w.add_switch());
  for (std::uint32_t pod = 0; pod < pods; ++pod) {
    const std::uint32_t edge[] = {w.add_switch(), w.add_switch()}, top[] = {w.add_switch(), w.add_switch()};
    for (const std::uint32_t e : edge) {
      for (std::uint32_t h = 0; h < hosts; ++h) w.link_host(w.add_host(), e);
      for (const std::uint32_t t : top) w.link_switches(e, t);
    }
    for (std::uint32_t i = 0; i < 4; ++i) w.link_switches(top[i / 2], cores[i]);
  }
  return w.make();
}

std::vector<double> even_work(const World& world) {
  return std::vector<double>(world.hosts.size() + world.switches.size(), 1.0);
}

std::vector<double> work_of_parts(const World& world, const std::vector<double>& work,
                                  const Partition& partition) {
  std::vector<double> sums(partition.parts);
  for (std::size_t node = 0; node < world.hosts.size() + world.switches.size(); ++node)
    sums.at(partition.part_of(node)) += work[node];
  return sums;
}

// Hosts are with their switches, every part has one, and no part has more than its share and the largest
// switch with its hosts.
void expect_good(const World& world, const std::vector<double>& work, const Partition& partition) {
  std::vector<double> of_switch(work.begin() + static_cast<std::ptrdiff_t>(world.hosts.size()), work.end());
  std::vector<int> switches(partition.parts);
  for (std::size_t h = 0; h < world.hosts.size(); ++h) {
    const std::uint32_t at = world.ports[world.hosts[h].port].switch_index;
    EXPECT_EQ(partition.part_of(h), partition.part_of(world.hosts.size() + at));
    of_switch[at] += work[h];
  }
  for (std::size_t s = 0; s < world.switches.size(); ++s)
    ++switches.at(partition.part_of(world.hosts.size() + s));
  for (const int count : switches) EXPECT_GT(count, 0);
  const double share = std::accumulate(work.begin(), work.end(), 0.0) / partition.parts;
  for (const double sum : work_of_parts(world, work, partition))
    EXPECT_LE(sum, share + *std::ranges::max_element(of_switch));
}

TEST(PartitionTest, PodsStayTogether) {
  const World world = clos(8, 4);
  const Partition two = make_partition(world, even_work(world), 2);
  ASSERT_EQ(two.parts, 2u);
  expect_good(world, even_work(world), two);
  std::size_t away = 0, between_switches = 0;
  for (const PortEntry& port : world.ports) {
    if (port.peer_port == kNoPeer) continue;
    ++between_switches;
    away += two.part_of(world.hosts.size() + port.switch_index) !=
            two.part_of(world.hosts.size() + world.ports[port.peer_port].switch_index);
  }
  EXPECT_LE(static_cast<double>(away), 0.35 * static_cast<double>(between_switches));
}

TEST(PartitionTest, AnyNumberOfPartsOfRandomNetworksWithRandomWork) {
  Rng rng(5);
  for (int round = 0; round < 300; ++round) {
    WorldBuilder w;
    const std::uint64_t switches = 1 + rng.below(20);
    for (std::uint64_t s = 0; s < switches; ++s) {
      const std::uint32_t at = w.add_switch();
      for (std::uint64_t h = rng.below(4); h > 0; --h) w.link_host(w.add_host(), at);
      if (s > 0) w.link_switches(at, static_cast<std::uint32_t>(rng.below(s)));
    }
    const World world = w.make();
    std::vector<double> work = even_work(world);
    for (double& amount : work) amount = static_cast<double>(rng.below(100));
    const auto parts = static_cast<std::uint32_t>(1 + rng.below(24));
    const Partition partition = make_partition(world, work, parts);
    EXPECT_EQ(partition.parts, std::min<std::size_t>(parts, switches));
    expect_good(world, work, partition);
  }
}

// Racks with cables of 1 us at most, and 20 us between them.
TEST(PartitionTest, LongLinksAreCutWherePartsStayEven) {
  for (const std::uint32_t racks : {4u, 5u}) {
    WorldBuilder w;
    const std::uint32_t middle = w.add_switch();
    for (std::uint32_t rack = 0; rack < racks; ++rack) {
      const std::uint32_t a = w.add_switch(), b = w.add_switch();
      for (const std::uint32_t at : {a, b})
        for (int h = 0; h < 4; ++h) w.link_host(w.add_host(), at, 40_Gbps, 100_ns);
      w.link_switches(a, b, 10_Gbps, 1_us);
      w.link_switches(b, middle, 100_Gbps, 20_us);
    }
    const World world = w.make();
    const Partition partition = make_partition(world, even_work(world), 4);
    Duration shortest = Duration::infinite();
    for (std::size_t p = 0; p < world.ports.size(); ++p)
      if (const std::uint32_t peer = world.ports[p].peer_port; peer != kNoPeer)
        if (partition.part_of(world.hosts.size() + world.ports[p].switch_index) !=
            partition.part_of(world.hosts.size() + world.ports[peer].switch_index))
          shortest = std::min(shortest, world.ports[p].config.delay);
    // Five racks in four parts would leave one with twice the work of the others.
    EXPECT_EQ(shortest, racks == 4 ? 20_us : 1_us);
  }
}

TEST(PartitionTest, OneSwitchIsOnePart) {
  const World world = star(10);
  EXPECT_EQ(make_partition(world, even_work(world), 4).parts, 1u);
}

}  // namespace
}  // namespace rocelab::des
