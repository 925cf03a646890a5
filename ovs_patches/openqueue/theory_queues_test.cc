// What theory says about several queues whose packets need different numbers of cycles, on the compiled
// programs: outputs that share a memory, and queues that share a processor.
//
// Sources: D. Menikkumbura, OpenQueue, 2.4.1 and figure 2.3 (b); P. Eugster, K. Kogan, S. Nikolenko, A.
// Sirotkin, "Shared memory buffer management for heterogeneous packet processing", ICDCS 2014 (longest work
// drop).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <sstream>

#include "ovs_patches/openqueue/theory_fixture.h"

namespace rocelab {
namespace {

// A queue of equal packets: how many, and what the first one still needs.
struct Served {
  std::size_t packets = 0;
  std::int64_t left = 0;
  auto operator<=>(const Served&) const = default;
};

void join(Served& queue, std::size_t packets, std::int64_t processing) {
  if (queue.packets == 0 && packets > 0) queue.left = processing;
  queue.packets += packets;
}

// One cycle of the first packet. Whether it is done.
bool cycle(Served& queue, std::int64_t processing) {
  if (queue.packets == 0 || --queue.left > 0) return false;
  queue.left = --queue.packets > 0 ? processing : 0;
  return true;
}

using Queues = std::vector<Served>;
using Works = std::vector<std::int64_t>;  // cycles of a packet, by queue

std::vector<std::size_t> arrivals_of(const std::vector<Arrival>& slot, std::size_t queues) {
  std::vector<std::size_t> arrived(queues);
  for (const Arrival& arrival : slot) ++arrived[arrival.port];
  return arrived;
}

// The most packets that outputs with a processor each can send that share `room`.
std::size_t best_of_shared_memory(const Slots& slots, std::size_t room, const Works& works) {
  std::map<std::pair<std::size_t, Queues>, std::size_t> known;
  const std::function<std::size_t(std::size_t, const Queues&)> best = [&](std::size_t slot,
                                                                          const Queues& kept) {
    if (slot == slots.size())
      return std::accumulate(kept.begin(), kept.end(), std::size_t{0},
                             [](std::size_t sum, const Served& queue) { return sum + queue.packets; });
    const auto [at, is_new] = known.try_emplace({slot, kept}, 0);
    if (!is_new) return at->second;
    Queues full = kept;
    const std::vector<std::size_t> arrived = arrivals_of(slots[slot], works.size());
    for (std::size_t q = 0; q < works.size(); ++q) join(full[q], arrived[q], works[q]);
    std::size_t most = 0;
    const std::function<void(std::size_t, std::size_t, Queues)> choose = [&](std::size_t q, std::size_t used,
                                                                             Queues chosen) {
      if (q < works.size()) {
        for (std::size_t keep = 0; keep <= full[q].packets && used + keep <= room; ++keep) {
          chosen[q] = {keep, keep > 0 ? full[q].left : 0};
          choose(q + 1, used + keep, chosen);
        }
        return;
      }
      std::size_t done = 0;
      for (std::size_t one = 0; one < works.size(); ++one) done += cycle(chosen[one], works[one]);
      most = std::max(most, done + best(slot + 1, chosen));
    };
    choose(0, 0, Queues(works.size()));
    return known[at->first] = most;
  };
  return best(0, Queues(works.size()));
}

// That queues of `room` each can send that share one processor.
std::size_t best_of_one_processor(const Slots& slots, std::size_t room, const Works& works) {
  std::map<std::pair<std::size_t, Queues>, std::size_t> known;
  const std::function<std::size_t(std::size_t, Queues)> best = [&](std::size_t slot, Queues kept) {
    if (slot == slots.size())
      return std::accumulate(kept.begin(), kept.end(), std::size_t{0},
                             [](std::size_t sum, const Served& queue) { return sum + queue.packets; });
    const auto [at, is_new] = known.try_emplace({slot, kept}, 0);
    if (!is_new) return at->second;
    const std::vector<std::size_t> arrived = arrivals_of(slots[slot], works.size());
    for (std::size_t q = 0; q < works.size(); ++q)
      join(kept[q], std::min(arrived[q], room - kept[q].packets), works[q]);
    std::size_t most = 0;
    bool idle = true;
    for (std::size_t q = 0; q < works.size(); ++q) {
      if (kept[q].packets == 0) continue;
      idle = false;
      Queues next = kept;
      const std::size_t done = cycle(next[q], works[q]);
      most = std::max(most, done + best(slot + 1, std::move(next)));
    }
    return known[at->first] = idle ? best(slot + 1, kept) : most;
  };
  return best(0, Queues(works.size()));
}

// Packets of a queue (Arrival::port) need its works.
Slots random_works(Rng& rng, const Works& works, std::size_t length, std::size_t burst, std::size_t most) {
  Slots slots(length);
  std::size_t packets = 0;
  for (auto& slot : slots)
    for (std::size_t q = 0; q < works.size(); ++q) {
      std::size_t n = rng.below(2) == 0 ? 0 : rng.below(2) == 0 ? 1 : burst;
      for (; n > 0 && packets < most; --n, ++packets)
        slot.push_back({works[q], static_cast<std::uint16_t>(q), static_cast<std::uint8_t>(q)});
    }
  return slots;
}

// The queue with the most work left loses its newest packet. What its first packet has had of its cycles is
// not taken off here.
TEST(PolicyQueuesTest, LongestWorkDropSendsAtLeastHalfOfTheBest) {
  Rng rng(17);
  double worst = 1;
  for (int instance = 0; instance < 600; ++instance) {
    const Works works = std::vector<Works>{{1, 2}, {1, 3}, {1, 2, 3}, {1, 4}, {2, 3}}[rng.below(5)];
    const std::size_t room = 2 + rng.below(4);
    const Slots slots = random_works(rng, works, 4 + rng.below(4), room, 12);
    const std::string size = std::to_string(room) + " packets";
    std::string text =
        "most_work(q1, q2) = q1.packets * q1.quantum > q2.packets * q2.quantum;\n"
        "on every port as p { q = Queue(" +
        size + "); out = Port(100%, q); q.dropFirst = newest; select { else -> q; } }\n";
    for (std::size_t q = 0; q < works.size(); ++q)
      text += "p[" + std::to_string(q) + "].q.quantum = " + std::to_string(works[q]) + ";\n";
    text += "b = Buffer(" + size + ", p[*].q);\nb.dropFrom = most_work;\nb.congestion = tailDrop;\n";
    SlottedSwitch run(compiled(text, works.size()));
    run.run(slots, works.size());
    const std::size_t best = best_of_shared_memory(slots, room, works);
    ASSERT_LE(run.sent.size(), best);
    ASSERT_LE(best, 2 * run.sent.size()) << "instance " << instance;
    if (!run.sent.empty())
      worst = std::max(worst, static_cast<double>(best) / static_cast<double>(run.sent.size()));
  }
  EXPECT_GT(worst, 1.0) << "and it is not optimal";
  RecordProperty("worst", std::to_string(worst));
}

constexpr const char* kSchedulers[] = {"longest queue", "shortest queue", "largest processing",
                                       "smallest processing", "cyclic round robin"};

// 2.4.1: which of figure 2.9's schedulers is best "is non-trivial". Each is worse than another on some
// instance. Served packets run to their end.
TEST(PolicyQueuesTest, NoSchedulerOfSeveralQueuesIsBestOnEveryInstance) {
  std::ostringstream text;
  text << std::ifstream(ROCELAB_SOURCE_DIR "/scenarios/openqueue/multi_queue.oq").rdbuf();
  const Works works = {1, 2, 3};
  Rng rng(5);
  double worst[5] = {1, 1, 1, 1, 1};
  bool beaten[5] = {};
  for (int instance = 0; instance < 300; ++instance) {
    const std::size_t room = 1 + rng.below(3);
    const Slots slots = [&] {
      Slots drawn = random_works(rng, works, 4 + rng.below(9), room, 1000);
      for (auto& slot : drawn)
        for (Arrival& arrival : slot) arrival.port = 0;
      return drawn;
    }();
    Slots by_queue = slots;
    for (auto& slot : by_queue)
      for (Arrival& arrival : slot) arrival.port = arrival.tc;
    const std::size_t best = best_of_one_processor(by_queue, room, works);
    std::size_t sent[5];
    for (std::size_t scheduler = 0; scheduler < 5; ++scheduler) {
      SlottedSwitch run(
          compiled(text.str(), 1,
                   {{"B", std::to_string(100 * room) + "B"}, {"scheduler", std::to_string(scheduler)}}));
      run.runs_to_completion = true;
      run.run(slots);
      sent[scheduler] = run.sent.size();
      ASSERT_LE(sent[scheduler], best) << kSchedulers[scheduler];
      if (sent[scheduler] > 0)
        worst[scheduler] =
            std::max(worst[scheduler], static_cast<double>(best) / static_cast<double>(sent[scheduler]));
    }
    for (std::size_t scheduler = 0; scheduler < 5; ++scheduler)
      beaten[scheduler] |= *std::max_element(std::begin(sent), std::end(sent)) > sent[scheduler];
  }
  constexpr double kWorst[] = {1.5, 17.0 / 9, 7.0 / 3, 1.5, 11.0 / 7};  // as they came out
  for (std::size_t scheduler = 0; scheduler < 5; ++scheduler) {
    EXPECT_TRUE(beaten[scheduler]) << kSchedulers[scheduler] << " is best on every instance";
    EXPECT_NEAR(worst[scheduler], kWorst[scheduler], 1e-9) << kSchedulers[scheduler];
  }
}

}  // namespace
}  // namespace rocelab
