#include "emu/des/horizons.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <vector>

#include "base/rng.h"

namespace rocelab::des {
namespace {

constexpr Duration kNone = Duration::infinite();

std::vector<Time> horizons_of(const Horizons& ways, const std::vector<Time>& next, Time most) {
  std::vector<Time> found(next.size());
  const Time earliest = ways.find(next, most, found);
  EXPECT_EQ(earliest, *std::ranges::min_element(found));
  return found;
}

TEST(HorizonsTest, EachPartWaitsForItsOwnNeighboursAlone) {
  // 0 and 1 are near each other, 2 is far from 1, and 0 hears of it by 1.
  const Horizons ways({kNone, 1_us, kNone, 1_us, kNone, 10_us, kNone, 10_us, kNone});
  EXPECT_EQ(ways.way(2, 0), 11_us);
  EXPECT_EQ(ways.way(0, 0), 2_us);
  EXPECT_EQ(ways.way(2, 2), 20_us);
  const Time now = Time::zero() + 100_us;
  EXPECT_EQ(horizons_of(ways, {now, now, now}, Time::never()),
            (std::vector<Time>{now + 1_us, now + 1_us, now + 10_us}));
  // A part alone is ahead by as long as an answer to what it sends takes.
  EXPECT_EQ(horizons_of(ways, {Time::never(), Time::never(), now}, Time::never()),
            (std::vector<Time>{now + 11_us, now + 10_us, now + 20_us}));
  EXPECT_EQ(horizons_of(ways, {now, now, now}, now + 2_us),
            (std::vector<Time>{now + 1_us, now + 1_us, now + 2_us}));
}

TEST(HorizonsTest, APartWithoutNeighboursHasTheCallersBound) {
  const Horizons ways({kNone});
  EXPECT_EQ(horizons_of(ways, {Time::zero()}, Time::zero() + 3_us), std::vector<Time>{Time::zero() + 3_us});
}

// Parts that send to neighbours at random whenever they have an event: nothing arrives where a part has been
// already, and every round that has anything to do brings the earliest event about.
TEST(HorizonsTest, NothingArrivesInsideARound) {
  Rng rng(11);
  for (int network = 0; network < 200; ++network) {
    const auto parts = static_cast<std::uint32_t>(2 + rng.below(6));
    std::vector<Duration> between(std::size_t{parts} * parts, kNone);
    for (Duration& latency : between)
      if (rng.below(2) == 0) latency = Duration::from_ps(static_cast<std::int64_t>(1 + rng.below(1'000)));
    const Horizons ways(between);
    std::vector<std::priority_queue<Time, std::vector<Time>, std::greater<>>> events(parts);
    for (auto& queue : events)
      for (std::uint64_t i = rng.below(4); i > 0; --i)
        queue.push(Time::from_ps(static_cast<std::int64_t>(rng.below(2'000))));
    for (int round = 0; round < 50; ++round) {
      std::vector<Time> next(parts, Time::never()), horizons(parts);
      for (std::uint32_t p = 0; p < parts; ++p)
        if (!events[p].empty()) next[p] = events[p].top();
      const Time begin = *std::ranges::min_element(next);
      if (begin.is_never()) break;
      EXPECT_GT(ways.find(next, Time::never(), horizons), begin);
      std::vector<std::pair<std::uint32_t, Time>> sent;
      for (std::uint32_t p = 0; p < parts; ++p)
        for (; !events[p].empty() && events[p].top() < horizons[p]; events[p].pop())
          for (std::uint32_t to = 0; to < parts; ++to)
            if (const Duration latency = between[p * parts + to];
                to != p && latency != kNone && rng.below(3) == 0)
              sent.emplace_back(to, events[p].top() + latency +
                                        Duration::from_ps(static_cast<std::int64_t>(rng.below(2) * 50)));
      for (const auto& [to, due] : sent) {
        ASSERT_GE(due, horizons[to]);
        events[to].push(due);
      }
    }
  }
}

}  // namespace
}  // namespace rocelab::des
