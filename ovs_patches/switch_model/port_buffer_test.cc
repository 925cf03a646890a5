// One limit for all lossy queues of a port, and lower classes that give way at it.
#include <array>
#include <deque>

#include "base/rng.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

constexpr Bytes kFrame = 1000_B;

// Classes 4 to 7 are strict, 0 to 2 ETS; 3 is lossless.
SwitchConfig config_of(PortRule rule, Bytes port_buffer) {
  SwitchConfig config;
  config.max_frame = 1098_B;
  config.port_buffer = port_buffer;
  config.egress_limit = port_buffer;
  config.port_rule = rule;
  for (int tc = 4; tc < kTrafficClasses; ++tc) config.classes[tc].selection = Selection::kStrict;
  return config;
}

std::vector<std::uint32_t> psns_of(const Bench& bench, int out) {
  std::vector<std::uint32_t> psns;
  for (const Departure& d : bench.sent_by(out)) psns.push_back(d.psn);
  return psns;
}

// Five frames of a class: the first begins to leave at once and no longer counts, the others fill the port.
struct Filled : Bench {
  Filled(PortRule rule, int lossy_class) : Bench(config_of(rule, 4 * kFrame), std::vector<PortConfig>(3)) {
    for (std::uint32_t psn = 0; psn < 5; ++psn)
      send(0, 1, at(1_us) + 1_ps * psn, kFrame, lossy_class, 7, psn);
    run_until(at(1_us) + 10_ps);
  }
};

TEST(PortBufferTest, AFullPortRefusesAnotherClassToo) {
  Filled bench(PortRule::kRefuse, 0);
  bench.send(2, 1, at(1_us) + 20_ps, kFrame, 5, 8, 50);
  bench.run();
  EXPECT_EQ(psns_of(bench, 1), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(bench.counters(1).drops_port_buffer, 1u);
  EXPECT_EQ(bench.counters(1).drops, 1u);
}

TEST(PortBufferTest, AHigherClassPushesOutTheLastFrameOfALowerOne) {
  Filled bench(PortRule::kPushOutLower, 0);
  bench.send(2, 1, at(1_us) + 20_ps, kFrame, 5, 8, 50);
  bench.run();
  EXPECT_EQ(psns_of(bench, 1), (std::vector<std::uint32_t>{0, 50, 1, 2, 3}));
  EXPECT_EQ(bench.counters(1).drops_displaced, 1u);
  EXPECT_EQ(bench.counters(1).drops, 1u);
  EXPECT_EQ(bench.counters(1).lossless_drops, 0u);
  for (const int in : {0, 2}) {
    EXPECT_EQ(bench.node.model().ingress_bytes(port(in), tc(0)), 0_B);
    EXPECT_EQ(bench.node.model().ingress_bytes(port(in), tc(5)), 0_B);
  }
  EXPECT_EQ(bench.pool.in_use(), 0u);
}

TEST(PortBufferTest, ThoseOfTheSameRankAreNotPushedOut) {
  for (const auto& [waiting, arriving] : {std::pair{5, 5}, {0, 1}, {2, 0}}) {
    Filled bench(PortRule::kPushOutLower, waiting);
    bench.send(2, 1, at(1_us) + 20_ps, kFrame, arriving, 8, 50);
    bench.run();
    EXPECT_EQ(psns_of(bench, 1), (std::vector<std::uint32_t>{0, 1, 2, 3, 4})) << waiting << arriving;
    EXPECT_EQ(bench.counters(1).drops_port_buffer, 1u);
  }
}

TEST(PortBufferTest, NothingIsPushedOutWhereItWouldNotMakeRoom) {
  Filled bench(PortRule::kPushOutLower, 6);                       // four frames of class 6 wait
  bench.run_until(at(1_us) + wire_time(kFrame, 40_Gbps) + 1_ns);  // three
  bench.send(0, 1, at(1_us) + 300_ns, 500_B, 4, 7, 40);
  bench.send(2, 1, at(1_us) + 301_ns, kFrame, 5, 8, 50);  // 500 B too many by 4, and 1,000 B are missing
  bench.run();
  EXPECT_EQ(bench.counters(1).drops_displaced, 1u);
  Filled short_of(PortRule::kPushOutLower, 6);
  short_of.run_until(at(1_us) + wire_time(kFrame, 40_Gbps) + 1_ns);
  short_of.send(0, 1, at(1_us) + 300_ns, 400_B, 4, 7, 40);
  short_of.send(2, 1, at(1_us) + 301_ns, 1098_B, 5, 8, 50);  // 498 B are missing, class 4 holds 400
  short_of.run();
  EXPECT_EQ(short_of.counters(1).drops_displaced, 0u);
  EXPECT_EQ(short_of.counters(1).drops_port_buffer, 1u);
}

TEST(PortBufferTest, LosslessFramesDoNotCountAndNeverGiveWay) {
  Filled bench(PortRule::kPushOutLower, 0);
  for (std::uint32_t psn = 60; psn < 70; ++psn)
    bench.send(2, 1, at(1_us) + 20_ps + 1_ps * psn, kFrame, 3, 8, psn);
  bench.send(2, 1, at(1_us) + 200_ps, kFrame, 5, 8, 50);
  bench.run();
  EXPECT_EQ(bench.counters(1).drops_displaced, 1u);
  EXPECT_EQ(bench.counters(1).drops, 1u);
  EXPECT_EQ(psns_of(bench, 1).size(), 5u + 10 + 1 - 1);
}

// A port as lists: strict classes 4 to 7 above class 0, one limit, the rule in the words of its comment.
struct Oracle {
  struct Frame {
    std::uint32_t psn = 0;
    Bytes length;
  };
  std::array<std::deque<Frame>, kTrafficClasses> waiting;
  Bytes limit;
  Time free = Time::zero();
  std::vector<std::uint32_t> left;
  int refused = 0, displaced = 0;

  Bytes held(int below) const {
    Bytes sum;
    for (int tc = 0; tc < below; ++tc)
      for (const Frame& f : waiting[static_cast<std::size_t>(tc)]) sum += f.length;
    return sum;
  }
  void depart_until(Time now) {  // frames that begin before `now`
    while (free < now && held(kTrafficClasses) > 0_B) {
      std::size_t tc = kTrafficClasses - 1;
      while (waiting[tc].empty()) --tc;
      const Frame first = waiting[tc].front();
      waiting[tc].pop_front();
      left.push_back(first.psn);
      free = free + wire_time(first.length, 40_Gbps);
    }
    free = std::max(free, now);
  }
  void arrive(int tc, Frame frame, Time now) {
    const bool idle = free < now && held(kTrafficClasses) == 0_B;
    depart_until(now);
    if (idle || (free == now && held(kTrafficClasses) == 0_B)) free = now;
    Bytes missing = held(kTrafficClasses) + frame.length - limit;
    if (missing > held(tc)) {
      ++refused;
      return;
    }
    for (int lower = 0; missing > 0_B; ++lower)
      for (auto& queue = waiting[static_cast<std::size_t>(lower)]; missing > 0_B && !queue.empty();) {
        missing -= queue.back().length;
        queue.pop_back();
        ++displaced;
      }
    waiting[static_cast<std::size_t>(tc)].push_back(frame);
  }
};

TEST(PortBufferTest, RandomArrivalsAgreeWithAPortOfLists) {
  int refused = 0, displaced = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    Rng rng(seed);
    Bench bench(config_of(PortRule::kPushOutLower, 6_KB), std::vector<PortConfig>(4));
    Oracle oracle{.waiting = {}, .limit = 6_KB, .free = Time::zero(), .left = {}};
    Time now = at(1_us);
    constexpr std::array<int, 5> kClasses = {0, 4, 5, 6, 7};
    for (std::uint32_t psn = 0; psn < 200; ++psn) {
      now = now + Duration::from_ps(static_cast<std::int64_t>(rng.below(120'000)) + 1);
      const int tc = kClasses[rng.below(kClasses.size())];
      const Bytes length = Bytes::from_count(static_cast<std::int64_t>(rng.below(1000)) + 90);
      bench.send(static_cast<int>(rng.below(3)) == 1 ? 2 : 0, 1, now, length, tc, 7, psn);
      oracle.arrive(tc, {psn, length}, now);
      bench.run_until(now + 1_ps);
    }
    bench.run();
    oracle.depart_until(Time::never());
    ASSERT_EQ(psns_of(bench, 1), oracle.left) << "seed " << seed;
    ASSERT_EQ(bench.counters(1).drops_port_buffer, static_cast<std::uint64_t>(oracle.refused));
    ASSERT_EQ(bench.counters(1).drops_displaced, static_cast<std::uint64_t>(oracle.displaced));
    ASSERT_EQ(bench.counters(1).drops,
              bench.counters(1).drops_port_buffer + bench.counters(1).drops_displaced);
    ASSERT_EQ(bench.pool.in_use(), 0u);
    refused += oracle.refused;
    displaced += oracle.displaced;
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(displaced, 1000);
}

// Lower classes only ever cost a higher one the frame that has begun: same order, each at most one wire time
// of the longest lower frame later.
TEST(PortBufferTest, LowerClassesCostAHigherOneAtMostTheFrameThatHasBegun) {
  const Duration most = wire_time(kFrame, 40_Gbps);
  Duration largest{};
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::array<std::vector<Departure>, 2> high;
    for (const bool with_lower : {false, true}) {
      Rng rng(seed);
      Bench bench(config_of(PortRule::kPushOutLower, 30_KB), std::vector<PortConfig>(4));
      Time now = at(1_us);
      for (std::uint32_t psn = 0; psn < 300; ++psn) {
        now = now + Duration::from_ps(static_cast<std::int64_t>(rng.below(200'000)) + 1);
        const bool is_high = rng.below(2) == 0;
        if (is_high || with_lower) bench.send(is_high ? 0 : 2, 1, now, kFrame, is_high ? 6 : 4, is_high, psn);
      }
      bench.run();
      for (const Departure& d : bench.sent_by(1))
        if (d.flow == 1) high[with_lower].push_back(d);
      const SwitchPortCounters counters = bench.counters(1);
      EXPECT_EQ(counters.drops_displaced + counters.drops_port_buffer > 0, with_lower);
    }
    ASSERT_EQ(high[0].size(), high[1].size());
    for (std::size_t i = 0; i < high[0].size(); ++i) {
      ASSERT_EQ(high[0][i].psn, high[1][i].psn);
      const Duration later = high[1][i].time - high[0][i].time;
      ASSERT_GE(later, 0_ps);
      ASSERT_LE(later, most);
      largest = std::max(largest, later);
    }
  }
  EXPECT_GT(largest, most / 2);
}

TEST(PortBufferTest, LimitsThatAPortCannotHaveAreNamed) {
  const std::vector<PortConfig> ports(2);
  const auto problem = [&](auto change) {
    SwitchConfig config = config_of(PortRule::kPushOutLower, 6_KB);
    change(config);
    return problem_of(config, ports);
  };
  EXPECT_EQ(problem([](SwitchConfig&) {}), "");
  EXPECT_NE(problem([](SwitchConfig& c) { c.port_buffer = 200_B; }).find("holds no frame of"),
            std::string::npos);
  EXPECT_NE(problem([](SwitchConfig& c) { c.port_buffer = 0_B; }).find("needs a port_buffer"),
            std::string::npos);
  EXPECT_NE(problem([](SwitchConfig& c) { c.input_buffered = true; }).find("no input_buffered"),
            std::string::npos);
  EXPECT_NE(problem([](SwitchConfig& c) { c.queue_order = QueueOrder::kRoundRobin; }).find("round-robin"),
            std::string::npos);
}

}  // namespace
}  // namespace rocelab
