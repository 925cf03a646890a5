// What theory says about policies, on the compiled programs: packets of one size, arrivals and then one cycle
// per port and slot, a packet served in cycles and preempted; against the best that an algorithm could do
// that knows the future (an exhaustive search, on small instances).
//
// Sources: D. Menikkumbura, OpenQueue, 2.2.4 and 2.5.4; Kogan and others on heterogeneous processing; Aiello
// and others, Competitive queue policies for differentiated services, and later bounds for longest queue
// drop.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "ovs_patches/openqueue/theory_fixture.h"

namespace rocelab {
namespace {

// The most packets that one queue of `room` can send, whatever is dropped and served.
std::size_t best_of_one_queue(const Slots& slots, std::size_t room) {
  using State = std::vector<std::int64_t>;
  std::map<std::pair<std::size_t, State>, std::size_t> known;
  const std::function<std::size_t(std::size_t, State)> best = [&](std::size_t slot,
                                                                  State kept) -> std::size_t {
    if (slot == slots.size()) return kept.size();
    const auto [at, is_new] = known.try_emplace({slot, kept}, 0);
    if (!is_new) return at->second;
    for (const Arrival& arrival : slots[slot]) kept.push_back(arrival.processing);
    std::size_t most = 0;
    for (std::uint32_t subset = 0; subset < 1u << kept.size(); ++subset) {
      State chosen;
      for (std::size_t i = 0; i < kept.size(); ++i)
        if ((subset >> i & 1) != 0) chosen.push_back(kept[i]);
      if (chosen.size() > room) continue;
      std::ranges::sort(chosen);
      if (chosen.empty()) most = std::max(most, best(slot + 1, {}));
      for (std::size_t served = 0; served < chosen.size(); ++served) {
        if (served > 0 && chosen[served] == chosen[served - 1]) continue;
        State rest = chosen;
        const bool done = --rest[served] == 0;
        if (done) rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(served));
        std::ranges::sort(rest);
        most = std::max(most, done + best(slot + 1, std::move(rest)));
      }
    }
    return known[at->first] = most;
  };
  return best(0, {});
}

// Of unit packets for several outputs that share `room`.
std::size_t best_of_shared_memory(const Slots& slots, std::size_t room, std::size_t ports) {
  using State = std::vector<std::size_t>;
  std::map<std::pair<std::size_t, State>, std::size_t> known;
  const std::function<std::size_t(std::size_t, const State&)> best = [&](std::size_t slot,
                                                                         const State& kept) {
    const std::size_t waiting = std::accumulate(kept.begin(), kept.end(), std::size_t{0});
    if (slot == slots.size()) return waiting;
    const auto [at, is_new] = known.try_emplace({slot, kept}, 0);
    if (!is_new) return at->second;
    State most_each = kept;
    for (const Arrival& arrival : slots[slot]) ++most_each[arrival.port];
    std::size_t most = 0;
    State chosen = kept;
    const std::function<void(std::size_t)> choose = [&](std::size_t port) {
      if (std::accumulate(chosen.begin(), chosen.end(), std::size_t{0}) > room) return;
      if (port == ports) {
        State rest = chosen;
        std::size_t served = 0;
        for (std::size_t& queue : rest)
          if (queue > 0) --queue, ++served;
        most = std::max(most, served + best(slot + 1, rest));
        return;
      }
      for (chosen[port] = kept[port]; chosen[port] <= most_each[port]; ++chosen[port]) choose(port + 1);
      chosen[port] = kept[port];
    };
    choose(0);
    return known[at->first] = most;
  };
  return best(0, State(ports));
}

std::string one_queue(const std::string& service, const std::string& drop, std::size_t room) {
  return "on every port { q = Queue(" + std::to_string(room) +
         " packets); out = Port(100%, q); q.procPrio = " + service + "; q.dropFirst = " + drop +
         "; q.congestion = tailDrop; select { else -> q; } }\n"
         "short(p1, p2) = p1.processing < p2.processing;\nlong(p1, p2) = p1.processing > p2.processing;\n";
}

// How much more the best sends than the program, over random instances: the worst.
double worst_ratio(const std::string& service, const std::string& drop) {
  Rng rng(11);
  double worst = 1;
  for (int instance = 0; instance < 400; ++instance) {
    const std::size_t room = 2 + rng.below(2);
    const Slots slots = random_slots(rng, 8, 4, 1, 3);
    SlottedSwitch run(compiled(one_queue(service, drop, room)));
    run.run(slots);
    const std::size_t best = best_of_one_queue(slots, room);
    EXPECT_LE(run.sent.size(), best);
    if (!run.sent.empty())
      worst = std::max(worst, static_cast<double>(best) / static_cast<double>(run.sent.size()));
  }
  return worst;
}

// 2.5.4 calls algorithm C optimal: serve the packet that needs least, push out the one that needs most.
TEST(PolicyTheoryTest, ShortestServedAndLongestPushedOutIsOptimalOnEveryInstance) {
  EXPECT_EQ(worst_ratio("short", "long"), 1.0);
}

// 2.2.4: the two orders are worth being apart. Neither alone is enough.
TEST(PolicyTheoryTest, OneOfTheTwoOrdersAloneIsNotOptimal) {
  const double service_alone = worst_ratio("short", "newest"), drops_alone = worst_ratio("fifo", "long"),
               neither = worst_ratio("fifo", "newest"), wrong_drops = worst_ratio("short", "short");
  EXPECT_GT(service_alone, 1.3);
  EXPECT_GT(drops_alone, 1.0);
  EXPECT_GT(neither, service_alone - 0.01);
  EXPECT_GT(wrong_drops, service_alone) << "dropping the shortest is worse than dropping the newest";
}

std::shared_ptr<const PolicyProgram> longest_queue_drop(std::size_t room, std::size_t ports) {
  const std::string size = std::to_string(room) + " packets";
  return compiled("on every port as p { q = Queue(" + size +
                      "); out = Port(100%, q); q.dropFirst = newest; select { else -> q; } }\n"
                      "b = Buffer(" +
                      size + ", p[*].q);\nb.dropFrom = longest;\nb.congestion = tailDrop;\n",
                  ports);
}

// Longest queue drop sends at least 1 / 1.6918 of the best.
TEST(PolicyTheoryTest, LongestQueueDropIsWithinItsBound) {
  Rng rng(3);
  for (int instance = 0; instance < 1500; ++instance) {
    const std::uint16_t ports = static_cast<std::uint16_t>(2 + rng.below(2));
    const std::size_t room = 3 + rng.below(4);
    const Slots slots = random_slots(rng, 14, 1, ports, room);
    SlottedSwitch run(longest_queue_drop(room, ports));
    run.run(slots, ports);
    const std::size_t best = best_of_shared_memory(slots, room, ports);
    ASSERT_LE(run.sent.size(), best);
    ASSERT_LE(static_cast<double>(best), 1.6918 * static_cast<double>(run.sent.size()));
  }
}

// Who knows that port 0 will have a packet in every slot, and a burst in the end, keeps those of port 1.
TEST(PolicyTheoryTest, LongestQueueDropIsNotOptimal) {
  const Slots slots = {
      std::vector<Arrival>(4, {1, 0, 0}), {}, {{1, 0, 0}}, {{1, 0, 0}}, std::vector<Arrival>(4, {1, 0, 0})};
  Slots with_port_1 = slots;
  with_port_1[0].insert(with_port_1[0].end(), 4, {1, 1, 0});
  with_port_1.erase(with_port_1.begin() + 1);
  SlottedSwitch run(longest_queue_drop(4, 2));
  run.run(with_port_1, 2);
  EXPECT_EQ(run.sent.size(), 9u);
  EXPECT_EQ(best_of_shared_memory(with_port_1, 4, 2), 10u);
}

// 2.2.2: one queue with orders by class does what strict queues in one buffer do, where orders are static.
TEST(PolicyTheoryTest, OneQueueWithStaticOrdersIsAsGoodAsSeveral) {
  Rng rng(5);
  for (int instance = 0; instance < 500; ++instance) {
    const std::size_t room = 2 + rng.below(4);
    Slots slots = random_slots(rng, 30, 1, 1, 5);
    for (auto& slot : slots)
      for (Arrival& arrival : slot) arrival.tc = static_cast<std::uint8_t>(rng.below(3));
    const std::string size = std::to_string(room) + " packets";
    SlottedSwitch one(
        compiled("upper(p1, p2) = p1.class > p2.class;\nlower(p1, p2) = p1.class < p2.class;\n"
                 "on every port { q = Queue(" +
                 size +
                 "); out = Port(100%, q); q.procPrio = upper; q.dropFirst = lower;"
                 " q.congestion = tailDrop; select { else -> q; } }\n"));
    SlottedSwitch several(
        compiled("upper(q1, q2) = q1.index > q2.index;\nlower(q1, q2) = q1.index < q2.index;\n"
                 "on every port as p { q[0..7] = Queue(" +
                 size +
                 "); out = Port(100%, q[*]); q[*].dropFirst = newest;"
                 " out.schedPrio = upper; select { else -> q[packet.class]; } }\n"
                 "b = Buffer(" +
                 size + ", p[*].q[*]);\nb.dropFrom = lower;\nb.congestion = tailDrop;\n"));
    one.run(slots);
    several.run(slots);
    ASSERT_EQ(one.sent, several.sent) << "instance " << instance;
    ASSERT_EQ(one.dropped, several.dropped) << "instance " << instance;
  }
}

}  // namespace
}  // namespace rocelab
