#include "emu/runner/workload.h"

#include <gtest/gtest.h>

#include <set>

#include "emu/runner/formula.h"

namespace rocelab {
namespace {

Settings settings_of(const std::string& workload,
                     const std::string& topology = "kind = \"star\"\nhosts = 9\n") {
  return parse_scenario("transport = \"irn\"\n[topology]\n" + topology + workload, "t.toml").settings.at(0);
}

TEST(WorkloadTest, ExponentialHasMeanAndSpreadOne) {
  Rng rng(7);
  double sum = 0, squares = 0;
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = draw_exponential(rng);
    ASSERT_GE(x, 0);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 1, 0.01);
  EXPECT_NEAR(squares / kDraws, 2, 0.05);
}

TEST(WorkloadTest, IncastJitterFollowsTheSeedAlone) {
  const Settings s = settings_of("[[workload]]\nkind = \"incast\"\nreceiver = \"h9\"\nsize = \"1MB\"\n");
  const std::vector<Flow> a = draw_flows(s, Rng(1)), b = draw_flows(s, Rng(1)), c = draw_flows(s, Rng(2));
  ASSERT_EQ(a.size(), 8u);
  std::set<std::int64_t> starts;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].start, b[i].start);
    EXPECT_EQ(a[i].id, i + 1);
    EXPECT_EQ(a[i].dst, 8u);
    EXPECT_LT(a[i].start, Time::zero() + 1_us);
    EXPECT_TRUE(i == 0 || a[i - 1].start <= a[i].start);
    starts.insert(a[i].start.ps());
  }
  EXPECT_EQ(starts.size(), 8u);
  EXPECT_NE(a[0].start, c[0].start);
}

TEST(WorkloadTest, PermutationSendsFromAndToEveryoneOnce) {
  const Settings s = settings_of("[[workload]]\nkind = \"permutation\"\nsize = \"1MB\"\n");
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::set<std::uint32_t> from, to;
    for (const Flow& f : draw_flows(s, Rng(seed))) {
      EXPECT_NE(f.src, f.dst);
      from.insert(f.src);
      to.insert(f.dst);
    }
    EXPECT_EQ(from.size(), 9u);
    EXPECT_EQ(to.size(), 9u);
  }
}

TEST(WorkloadTest, PoissonLoadsEachLinkAsAsked) {
  const Settings s = settings_of(
      "[[workload]]\nkind = \"poisson\"\nload = 0.7\nduration = \"50ms\"\nsize_min = \"1KB\"\nsize_max = "
      "\"200KB\"\n",
      "kind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 6\n");
  std::vector<double> bytes(18);
  std::set<std::uint32_t> destinations;
  for (const Flow& f : draw_flows(s, Rng(3))) {
    FlowShape shape;
    shape.size = f.size;
    bytes[f.src] += static_cast<double>(wire_bytes_of(shape).count());
    EXPECT_NE(f.src, f.dst);
    EXPECT_LT(f.start, Time::zero() + 50_ms);
    EXPECT_GE(f.size, 1_KB);
    EXPECT_LE(f.size, 200_KB);
    destinations.insert(f.dst);
  }
  double total = 0;
  for (const double b : bytes) total += b / 18;
  EXPECT_NEAR(total * 8 / 50e-3 / 40e9, 0.7, 0.02);
  EXPECT_EQ(destinations.size(), 18u);
}

TEST(WorkloadTest, LabelsOfAScenarioGetTheSameFlows) {
  const Scenario s = parse_scenario(
      "transport = [\"roce\", \"irn+pfc\"]\n[topology]\nkind = \"star\"\nhosts = 9\n[[workload]]\nkind = "
      "\"poisson\"\nload = 0.5\n"
      "duration = \"1ms\"\nsize_min = \"1KB\"\nsize_max = \"9KB\"\n",
      "t.toml");
  const std::vector<Flow> a = draw_flows(s.settings[0], Rng(4)), b = draw_flows(s.settings[1], Rng(4));
  ASSERT_EQ(a.size(), b.size());
  ASSERT_GT(a.size(), 1000u);
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(a[i].start == b[i].start && a[i].size == b[i].size && a[i].dst == b[i].dst);
}

TEST(WorkloadTest, MessagesDefaultToOnePerQueuePair) {
  const std::string incast = "[[workload]]\nkind = \"incast\"\nreceiver = \"h9\"\nsize = \"1MB\"\n";
  EXPECT_EQ(draw_flows(settings_of(incast), Rng(1))[0].message_size, 1_MB);
  EXPECT_EQ(draw_flows(settings_of(incast + "qps = 4\n"), Rng(1))[0].message_size, 250_KB);
  EXPECT_EQ(draw_flows(settings_of(incast + "message_size = \"64KB\"\n"), Rng(1))[0].message_size, 64_KB);
  EXPECT_EQ(draw_flows(settings_of(incast + "message_size = \"2MB\"\n"), Rng(1))[0].message_size, 1_MB);
}

}  // namespace
}  // namespace rocelab
