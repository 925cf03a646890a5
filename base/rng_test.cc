#include "base/rng.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

namespace rocelab {
namespace {

// Computed apart from the reference C sources of xoshiro256** and splitmix64 (prng.di.unimi.it); seed 0's
// first value, 99ec5f36cb75f2b4, is also the one that other implementations publish.
TEST(RngTest, DrawsTheReferenceSequences) {
  struct Want {
    std::uint64_t seed;
    std::array<std::uint64_t, 4> draws;
  };
  for (const auto& [seed, draws] :
       {Want{0, {0x99ec5f36cb75f2b4, 0xbf6e1f784956452a, 0x1a5f849d4933e6e0, 0x6aa594f1262d2d2c}},
        Want{1, {0xb3f2af6d0fc710c5, 0x853b559647364cea, 0x92f89756082a4514, 0x642e1c7bc266a3a7}},
        Want{42, {0x15780b2e0c2ec716, 0x6104d9866d113a7e, 0xae17533239e499a1, 0xecb8ad4703b360a1}}}) {
    Rng rng(seed);
    for (const std::uint64_t draw : draws) EXPECT_EQ(rng.next(), draw) << "seed " << seed;
  }
}

TEST(RngTest, ForkDependsOnNameAndSeedAndNotOnDraws) {
  Rng a(7), b(7);
  for (int i = 0; i < 100; ++i) b.next();
  EXPECT_EQ(a.fork("sw1/p3").next(), b.fork("sw1/p3").next());
  std::set<std::uint64_t> first_draws{Rng(7).next(), Rng(8).next()};
  int forks = 0;
  for (const std::uint64_t seed : {7u, 8u})
    for (int port = 0; port < 200; ++port, ++forks)
      first_draws.insert(Rng(seed).fork("sw1/p" + std::to_string(port)).next());
  EXPECT_EQ(first_draws.size(), static_cast<std::size_t>(forks) + 2);
}

TEST(RngTest, ForkLeavesItsParentWhereItWas) {
  Rng a(7), b(7);
  a.fork("x");
  EXPECT_EQ(a.next(), b.next());
}

TEST(RngTest, BelowIsUniformOverItsBound) {
  Rng rng(3);
  for (const std::uint64_t bound : {1u, 2u, 3u, 7u, 10u}) {
    std::array<int, 10> counts{};
    for (int i = 0; i < 100'000; ++i) ++counts.at(rng.below(bound));
    const double want = 100'000.0 / static_cast<double>(bound);
    for (std::uint64_t v = 0; v < bound; ++v)
      EXPECT_NEAR(counts[v], want, 5 * 316.3) << v << " of " << bound;  // 5 sqrt(n)
  }
}

// A bound of 3/4 of 2^64: without rejection the lower third of the results would come twice as often.
TEST(RngTest, BelowHasNoModuloBiasAtHugeBounds) {
  Rng rng(4);
  const std::uint64_t bound = 3ull << 62;
  int lower_third = 0;
  for (int i = 0; i < 30'000; ++i) {
    const std::uint64_t draw = rng.below(bound);
    ASSERT_LT(draw, bound);
    lower_third += draw < bound / 3 ? 1 : 0;
  }
  EXPECT_NEAR(lower_third, 10'000, 500);  // biased: 15 000
}

TEST(RngTest, UniformStaysBelowOneAndAveragesAHalf) {
  Rng rng(5);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double u = rng.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.005);
}

TEST(RngTest, BernoulliIsExactAtZeroAndOne) {
  Rng rng(6);
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_FALSE(rng.bernoulli(0));
    ASSERT_TRUE(rng.bernoulli(1));
    hits += rng.bernoulli(0.25) ? 1 : 0;
  }
  EXPECT_NEAR(hits, 2'500, 220);
}

}  // namespace
}  // namespace rocelab
