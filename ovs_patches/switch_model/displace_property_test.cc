// What lower classes do to higher ones at a port at which they give way (PortRule::kPushOutLower), by two
// switches side by side of which one never sees a lower frame. RC3 (Mittal, 2.1.1, 2.4.1) rests on it: what
// is sent ahead must not harm regular traffic.
#include <algorithm>
#include <map>
#include <set>

#include "base/rng.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

constexpr int kOut = 1, kHighest = 7, kFirstHigh = 4;  // classes 4 to 7 are higher, 0 to 2 lower ones
constexpr Bytes kLongest = 1098_B;
constexpr Rate kRate = 40_Gbps;

SwitchConfig config_of(Bytes port_buffer) {
  SwitchConfig config;
  config.max_frame = kLongest;
  config.port_buffer = config.egress_limit = port_buffer;
  config.port_rule = PortRule::kPushOutLower;
  for (auto& c : config.classes) c.selection = Selection::kStrict, c.lossless = false;
  for (int t = kFirstHigh; t <= kHighest; ++t)  // a step, which draws nothing
    config.classes[t].ecn = {.enabled = true, .k_min = 2_KB, .k_max = 2_KB, .p_max = 1.0};
  return config;
}

struct Arrival {
  Time due;
  int in = 0, tc = 0;
  Bytes length;
  std::uint32_t psn = 0;
};
using Arrivals = std::vector<Arrival>;

// On one link, of random classes and lengths.
void add(Arrivals& all, Rng& rng, int in, std::vector<int> classes, double load, Duration duration) {
  for (Time due = Time::zero();;) {
    const auto more = rng.below(static_cast<std::uint64_t>(kLongest.count()) - 59);
    const Bytes length = 60_B + Bytes::from_count(static_cast<std::int64_t>(more));
    const Duration wire = wire_time(length, kRate);
    const double gaps = rng.uniform() * 2 * (1 / load - 1) * static_cast<double>(wire.ps());
    due = due + wire + Duration::from_ps(static_cast<std::int64_t>(gaps));
    if (due > at(duration)) return;
    const int chosen = classes[rng.below(classes.size())];
    all.push_back({due, in, chosen, length, static_cast<std::uint32_t>(all.size())});
  }
}

Arrivals only(const Arrivals& all, bool high) {
  Arrivals chosen;
  std::ranges::copy_if(all, std::back_inserter(chosen),
                       [&](const Arrival& a) { return (a.tc >= kFirstHigh) == high; });
  return chosen;
}
Arrivals merged(Arrivals a, const Arrivals& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::ranges::stable_sort(a, {}, &Arrival::due);
  return a;
}

struct Left {
  std::vector<Departure> high;
  std::map<std::uint32_t, Bytes> found;  // by PSN: the bytes of higher classes that an arrival found
  std::uint64_t low = 0, displaced = 0;
};

Left run(const SwitchConfig& config, const Arrivals& arrivals, Time until = Time::never()) {
  Bench bench(config, std::vector<PortConfig>(5));
  std::set<std::uint32_t> high;
  Left left;
  for (const Arrival& a : arrivals) {
    bench.run_until(a.due);
    if (a.tc >= kFirstHigh) {
      high.insert(a.psn);
      for (int t = kFirstHigh; t <= kHighest; ++t)
        left.found[a.psn] += bench.node.model().queue_bytes(port(kOut), tc(t));
    }
    bench.send(a.in, kOut, a.due, a.length, a.tc, static_cast<std::uint32_t>(a.tc), a.psn);
  }
  bench.run_until(until);
  for (const Departure& d : bench.sent_by(kOut))
    if (high.contains(d.psn))
      left.high.push_back(d);
    else
      ++left.low;
  left.displaced = bench.counters(kOut).drops_displaced;
  return left;
}

// I: held back (higher classes alone are more than the port can send, so that it never comes to the lower
// ones), lower frames change neither when a higher one leaves, nor whether it is dropped or marked, to the
// picosecond.
TEST(DisplacePropertyTest, LowerClassesThatAreHeldChangeNothing) {
  std::uint64_t displaced = 0, marked = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    const SwitchConfig config =
        config_of(Bytes::from_count(4'000 + static_cast<std::int64_t>(rng.below(20'000))));
    Arrivals all;
    constexpr Duration kLoaded = 60_us;
    for (const int in : {0, 2}) add(all, rng, in, {4, 5, 6, 7}, 0.98, kLoaded);
    for (const int in : {3, 4}) add(all, rng, in, {0, 1, 2}, 0.7, kLoaded);
    const Arrivals high = only(all, true);
    // A higher frame is there before the first lower one.
    Arrivals low = only(all, false);
    std::erase_if(low, [&](const Arrival& a) { return a.due < at(2_us); });
    const Left with = run(config, merged(high, low), at(kLoaded));
    const Left without = run(config, merged(high, {}), at(kLoaded));
    ASSERT_EQ(with.low, 0u) << "seed " << seed << ": they are held";
    ASSERT_EQ(with.high.size(), without.high.size()) << "seed " << seed;
    for (std::size_t i = 0; i < with.high.size(); ++i) {
      ASSERT_EQ(with.high[i].psn, without.high[i].psn) << "seed " << seed;
      ASSERT_EQ(with.high[i].time, without.high[i].time) << "seed " << seed;
      ASSERT_EQ(with.high[i].ecn, without.high[i].ecn) << "seed " << seed;
      marked += with.high[i].ecn == Ecn::kCe;
    }
    displaced += with.displaced - without.displaced;
  }
  EXPECT_GT(displaced, 1'000u);
  EXPECT_GT(marked, 1'000u);
}

// Up to the first arrival whose fate differs, which is one at which the port was nearly full.
void expect_late_by_residuals(const Left& with, const Left& without, const Arrivals& high, Bytes limit,
                              int ports, std::uint64_t& compared) {
  std::map<std::uint32_t, Time> a, b;
  for (const Departure& d : with.high) a[d.psn] = d.time;
  for (const Departure& d : without.high) b[d.psn] = d.time;
  const Duration residual = wire_time(kLongest, kRate) * ports;
  for (const Arrival& h : high) {
    if (a.contains(h.psn) != b.contains(h.psn)) {
      if (limit > 0_B) {
        EXPECT_GT(without.found.at(h.psn) + kLongest * 2, limit) << "PSN " << h.psn << " found room";
      }
      return;
    }
    if (!a.contains(h.psn)) continue;
    const Duration later = a[h.psn] - b[h.psn];
    ASSERT_GE(later, Duration{}) << "PSN " << h.psn;
    ASSERT_LE(later, residual) << "PSN " << h.psn;
    ++compared;
  }
}

std::vector<std::uint32_t> psns_of(const Left& left) {
  std::vector<std::uint32_t> psns;
  for (const Departure& d : left.high) psns.push_back(d.psn);
  return psns;
}

// II: flowing, lower frames delay a higher one by at most the one that has begun, and its order is the same.
TEST(DisplacePropertyTest, LowerClassesThatFlowDelayByAFrameAtMost) {
  std::uint64_t compared = 0, low = 0;
  for (std::uint64_t seed = 100; seed < 300; ++seed) {
    Rng rng(seed);
    const Bytes limit = Bytes::from_count(3'000 + static_cast<std::int64_t>(rng.below(30'000)));
    Arrivals all;
    for (const int in : {0, 2}) add(all, rng, in, {kFirstHigh}, 0.2 + 0.3 * rng.uniform(), 60_us);
    for (const int in : {3, 4}) add(all, rng, in, {0, 1, 2}, 0.5, 60_us);
    const Arrivals high = merged(only(all, true), {});
    const Left with = run(config_of(limit), merged(all, {})), without = run(config_of(limit), high);
    expect_late_by_residuals(with, without, high, limit, 1, compared);
    if (with.high.size() == without.high.size()) {
      EXPECT_EQ(psns_of(with), psns_of(without)) << "seed " << seed;
    }
    low += with.low;
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, 10'000u);
  EXPECT_GT(low, 10'000u) << "lower frames do leave between higher ones";
}

// Three in a row, each with lower frames of its own: at most three of them.
TEST(DisplacePropertyTest, ThreePortsDelayByThreeFramesAtMost) {
  std::uint64_t compared = 0;
  for (std::uint64_t seed = 300; seed < 350; ++seed) {
    Rng rng(seed);
    const SwitchConfig config = config_of(10_MB);  // nothing of the higher class is dropped
    Arrivals first;
    for (const int in : {0, 2}) add(first, rng, in, {kFirstHigh}, 0.35, 60_us);
    const Arrivals sent = merged(first, {});
    Arrivals with_in = sent, without_in = sent;
    Left with, without;
    for (int hop = 0; hop < 3; ++hop) {
      Arrivals crossing = with_in;
      const auto count = static_cast<std::size_t>(first.size());
      for (const int in : {3, 4}) add(crossing, rng, in, {0, 1, 2}, 0.6, 70_us);
      for (std::size_t i = with_in.size(); i < crossing.size(); ++i)
        crossing[i].psn = static_cast<std::uint32_t>(count + i);
      with = run(config, merged(crossing, {})), without = run(config, merged(without_in, {}));
      const auto next = [&](const Left& left) {
        Arrivals arrivals;
        for (const Departure& d : left.high)
          arrivals.push_back({d.due, 0, kFirstHigh, Bytes::from_count(d.frame_length), d.psn});
        return arrivals;
      };
      with_in = next(with), without_in = next(without);
    }
    expect_late_by_residuals(with, without, sent, 0_B, 3, compared);
    EXPECT_EQ(psns_of(with), psns_of(without)) << "seed " << seed;
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, 2'000u);
}

}  // namespace
}  // namespace rocelab
