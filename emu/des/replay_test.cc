// A recorded schedule replayed by LSTF, with real NICs and switches (Mittal, 5.1). DesRun itself holds each
// replay to equal departures from hosts, and to lateness = -slack of every packet: a run that ends has them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>

#include "emu/des/test_runs.h"
#include "emu/runner/scenario.h"

namespace rocelab::des {
namespace {

// Datagrams; queues in two orders.
std::string text(const std::string& topology, const std::string& original,
                 const std::string& replay = "ranked", const std::string& more = "",
                 const std::string& original_more = "") {
  return R"(
transport = ["roce"]
[topology]
delay = "2us"
paths = "single"
)" + topology +
         R"(
[switch]
lossy_buffer = "1000MB"
[slack]
law = "constant"
[[case]]
name = "original"
set.switch.class.3.order = ")" +
         original + "\"\n" + original_more + R"(
[[case]]
name = "replay"
set.slack.law = "replay"
set.slack.of = "original"
set.switch.class.3.order = ")" +
         replay + "\"\n" + more + R"(
[[workload]]
kind = "poisson"
service = "ud"
size_min = "1KB"
size_max = "200KB"
load = 0.5
duration = "1ms"
overload = true
settle = "20ms"
[engine]
limit = "100ms"
)";
}
constexpr char kStar[] = "kind = \"star\"\nhosts = 6\nrate = \"40Gb/s\"\n";
constexpr char kLeafSpine[] =
    "kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4\nrate = \"40Gb/s\"\n"
    "trunk_rate = \"40Gb/s\"\n";

constexpr char kRow[] = "kind = \"parking-lot\"\nswitches = 5\nhosts_per_switch = 2\nrate = \"40Gb/s\"\n";

struct Result {
  NicCounters nics;  // summed
  std::vector<Time> placed;
  std::string hash;
};
RunPlan replay_of(const std::string& scenario_text, std::uint64_t seed = 1) {
  const Scenario scenario = parse_scenario(scenario_text, "t.toml");
  return make_plan(scenario, scenario.settings.at(1), seed);
}
Result outcome(const RunPlan& plan) {
  DesRun run(plan, {});
  while (!run.advance(1000)) {
  }
  EXPECT_TRUE(run.complete());
  Result result;
  for (std::uint32_t h = 0; h < run.plan().world.hosts.size(); ++h)
    if (run.network().takes_part(h)) {
      const NicCounters& c = run.network().host(h).nic().counters();
      result.nics.rx_slack_packets += c.rx_slack_packets;
      result.nics.rx_overdue_packets += c.rx_overdue_packets;
      result.nics.rx_overdue_beyond += c.rx_overdue_beyond;
    }
  for (const FlowOutcome& flow : run.flows()) result.placed.push_back(flow.placed);
  result.hash = to_hex(combine(run.digests()));
  return result;
}

// One congestion point for each packet: the receiver's port. The replay is the original, packet by packet.
TEST(ReplayTest, BehindOneSwitchEachOrderIsReplayedExactly) {
  for (const char* order : {"fifo", "lifo", "random", "fair"}) {
    SCOPED_TRACE(order);
    const RunPlan plan = replay_of(text(kStar, order));
    const Result original = outcome(*plan.original), replay = outcome(plan);
    EXPECT_GT(replay.nics.rx_slack_packets, 3'000u);
    EXPECT_EQ(replay.nics.rx_slack_packets, original.nics.rx_slack_packets);
    EXPECT_EQ(replay.nics.rx_overdue_packets, 0u);
    EXPECT_EQ(replay.placed, original.placed);
  }
}

// Queue pairs that last as long as their flows change no packet's times, in the original or in its replay.
TEST(ReplayTest, QueuePairsOfEachFlowChangeNothing) {
  const auto with = [](const char* queue_pairs) {
    std::string all = text(kLeafSpine, "random");
    const std::string_view key = "settle = ";
    return replay_of(all.insert(all.find(key), "queue_pairs = \"" + std::string(queue_pairs) + "\"\n"));
  };
  const RunPlan ahead = with("ahead"), own = with("per-flow");
  for (const bool replayed : {false, true}) {
    const Result a = outcome(replayed ? ahead : *ahead.original), b = outcome(replayed ? own : *own.original);
    EXPECT_GT(a.nics.rx_slack_packets, 3'000u);
    EXPECT_EQ(b.nics.rx_slack_packets, a.nics.rx_slack_packets);
    EXPECT_EQ(b.nics.rx_overdue_packets, a.nics.rx_overdue_packets);
    EXPECT_EQ(b.nics.rx_overdue_beyond, a.nics.rx_overdue_beyond);
    EXPECT_EQ(b.placed, a.placed);
  }
}

// Several congestion points, links that are overloaded, and no preemption: a tenth is late, one in a hundred
// by more than a frame; with FIFO in place of LSTF, and the same slacks, most are late.
TEST(ReplayTest, OverSeveralSwitchesFewAreLateByMoreThanAFrame) {
  std::uint64_t packets = 0, late = 0, beyond = 0, late_fifo = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Result replay = outcome(replay_of(text(kLeafSpine, "random"), seed));
    packets += replay.nics.rx_slack_packets;
    late += replay.nics.rx_overdue_packets;
    beyond += replay.nics.rx_overdue_beyond;
    late_fifo += outcome(replay_of(text(kLeafSpine, "random", "fifo"), seed)).nics.rx_overdue_packets;
  }
  EXPECT_GT(packets, 30'000u);
  EXPECT_GT(late, 0u);
  EXPECT_LT(late, packets / 6);
  EXPECT_LT(beyond, packets / 50);
  EXPECT_GT(late_fifo, 5 * late);
}

const std::string kShortestFirst = "set.slack.law = \"flow-size\"\nset.switch.slack.rank = \"initial\"\n";
const std::string kPreempt = "set.switch.class.3.preempt = true\n";
// 5.1.3 (7): the instants at which packets left the network, as static priorities. Where paths are of one
// length they are LSTF's ranks.
std::string by_priorities() {
  std::string scenario = text(kRow, "random", "ranked", "set.switch.slack.rank = \"initial\"\n");
  const std::string law = "set.slack.law = \"replay\"";
  return scenario.replace(scenario.find(law), law.size(), "set.slack.law = \"replay-exit\"");
}

// 5.1.3 (5): most of what is late in the replay of shortest first waited for frames that were already on the
// wire; the rest has more than two congestion points.
TEST(ReplayTest, WithPreemptionFewerAreLate) {
  std::uint64_t late = 0, late_preemptive = 0, shortest_first = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto replayed = [&](const std::string& more) {
      return outcome(replay_of(text(kLeafSpine, "ranked", "ranked", more, kShortestFirst), seed)).nics;
    };
    late += replayed("").rx_overdue_packets;
    const NicCounters preemptive = replayed(kPreempt);
    late_preemptive += preemptive.rx_overdue_packets;
    EXPECT_GT(preemptive.rx_slack_packets, 10'000u);
    shortest_first += outcome(replay_of(text(kLeafSpine, "random"), seed)).nics.rx_overdue_packets;
  }
  EXPECT_GT(late, 2 * shortest_first) << "shortest first is harder to replay than a random order";
  EXPECT_LT(late_preemptive, late / 4);
}

TEST(ReplayTest, StaticPrioritiesReplayWorseThanLeastSlack) {
  std::uint64_t late = 0, beyond = 0, least_slack_beyond = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const NicCounters priorities = outcome(replay_of(by_priorities(), seed)).nics;
    late += priorities.rx_overdue_packets;
    beyond += priorities.rx_overdue_beyond;
    least_slack_beyond += outcome(replay_of(text(kRow, "random"), seed)).nics.rx_overdue_beyond;
  }
  EXPECT_GT(late, 0u);
  EXPECT_GT(beyond, 2 * least_slack_beyond);
}

// A.1: by the times of all switches nobody is late at any number of congestion points, where LSTF is. Frames
// have room for them in the original, too, which LSTF does not read. Without preemption the original, whose
// wires are never idle while frames wait, comes about once more.
TEST(ReplayTest, ByTheTimesOfAllSwitchesNobodyIsLate) {
  const auto plan_of = [](const char* topology, const std::string& law, const std::string& more,
                          std::uint64_t seed) {
    std::string scenario = text(topology, "random", "ranked", more);
    const std::string replay = "set.slack.law = \"replay\"", constant = "law = \"constant\"";
    scenario.replace(scenario.find(replay), replay.size(), "set.slack.law = \"" + law + "\"");
    scenario.insert(scenario.find(constant), "hop_times = true\n");
    return replay_of(scenario, seed);
  };
  for (const char* topology : {kLeafSpine, kRow}) {
    std::uint64_t packets = 0, by_slack = 0;
    for (const std::uint64_t seed : {1, 2, 3}) {
      const NicCounters omniscient = outcome(plan_of(topology, "omniscient", kPreempt, seed)).nics;
      EXPECT_EQ(omniscient.rx_overdue_packets, 0u);
      packets += omniscient.rx_slack_packets;
      by_slack += outcome(plan_of(topology, "replay", kPreempt, seed)).nics.rx_overdue_packets;
      const RunPlan without_preemption = plan_of(topology, "omniscient", "", seed);
      EXPECT_EQ(outcome(without_preemption).placed, outcome(*without_preemption.original).placed);
    }
    EXPECT_GT(packets, 10'000u);
    EXPECT_GT(by_slack, 0u) << "LSTF would have done";
  }
}

// Any number of replays of one recording, from a file or with the original in each, are one result; and the
// original is the same run whether it is recorded or not.
TEST(ReplayTest, ARecordingIsReplayedAsItsOriginalIs) {
  const std::string folder = ::testing::TempDir() + "replay-test." + std::to_string(::getpid());
  const ScheduleFile file{folder + ".schedule", "random-1"};
  const RunPlan plan = replay_of(text(kLeafSpine, "random"));
  EXPECT_TRUE(plan.original->exact_starts);
  DesOptions recording;
  recording.record = true;
  DesRun original(*plan.original, recording);
  while (!original.advance(1000)) {
  }
  EXPECT_EQ(to_hex(combine(original.digests())), outcome(*plan.original).hash);
  original.save_schedule(file);
  const std::string alone = outcome(plan).hash;
  for (int i = 0; i < 2; ++i) {
    DesOptions options;
    options.schedule = file;
    DesRun run(plan, options);
    while (!run.advance(1000)) {
    }
    EXPECT_EQ(to_hex(combine(run.digests())), alone);
  }
  DesOptions other;
  other.schedule = {file.path, "random-2"};
  EXPECT_THROW(DesRun(plan, other), std::runtime_error);
  ::unlink(file.path.c_str());
}

TEST(ReplayTest, BothDriversAndEveryRunGiveOneResult) {
  for (const std::string& more : {std::string(), kPreempt}) {
    const RunPlan plan = replay_of(text(kLeafSpine, "random", "ranked", more));
    std::vector<std::string> hashes;
    for (const Driver driver : {Driver::kWindows, Driver::kGlobalOrder}) {
      DesOptions options;
      options.driver = driver;
      DesRun run(plan, options);
      while (!run.advance(1000)) {
      }
      hashes.push_back(to_hex(combine(run.digests())));
    }
    EXPECT_EQ(hashes[0], hashes[1]);
    EXPECT_EQ(hashes[0], outcome(plan).hash);
  }
}

TEST(ReplayTest, AReplayThatLosesPacketsIsNone) {
  const RunPlan plan = replay_of(text(kStar, "fifo", "ranked", "set.switch.lossy_buffer = \"20KB\"\n"));
  try {
    outcome(plan);
    FAIL() << "it ended";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("frames were dropped, and nothing may be: raise"),
              std::string::npos)
        << error.what();
  }
}

TEST(ReplayTest, PacketsOfAReplayTakeThePathsOfTheirOriginal) {
  const auto says = [](const std::string& replay) {
    try {
      replay_of(text(kLeafSpine, "random", "ranked", replay));
    } catch (const ScenarioError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(says(""), "none");
  EXPECT_NE(says("set.topology.paths = \"first\"\n").find("in which packets take other paths"),
            std::string::npos);
}

TEST(ReplayTest, AnOriginalThatLosesPacketsCannotBeReplayed) {
  const Scenario scenario = parse_scenario(text(kStar, "fifo"), "t.toml", {{"switch.lossy_buffer", "20KB"}});
  try {
    const DesRun run(make_plan(scenario, scenario.settings.at(1), 1), {});
    FAIL() << "it ran";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("packets have not arrived: raise switch.lossy_buffer"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace rocelab::des
