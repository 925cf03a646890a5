// The window engine against the plain one with sanitizers watching, over small scenarios that have every
// mechanism among them; and what runs do at their ends. Equal traces of every scenario that ships, and of
// every seed twice, are the release build's affair (tests/python/test_determinism.py).
#include "emu/des/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/rng.h"
#include "emu/des/des_run.h"
#include "emu/runner/scenario.h"

namespace rocelab::des {
namespace {

// Long enough for pauses, losses, timeouts and a loop that is broken.
constexpr Duration kCut = 2_ms;

// Faults, links that fail, Escape and Loop Breaker; and those by which the live engine is compared.
std::vector<std::string> small_scenarios() {
  std::vector<std::string> files{"scenarios/loss.toml", "scenarios/link_failure.toml",
                                 "scenarios/escape/ring_deadlock.toml"};
  const std::filesystem::path root = ROCELAB_SOURCE_DIR;
  for (const auto& entry : std::filesystem::directory_iterator(root / "tests/same/scenarios"))
    if (entry.path().extension() == ".toml")
      files.push_back(std::filesystem::relative(entry.path(), root).string());
  std::sort(files.begin(), files.end());
  return files;
}

// The first seed of every label, cut.
std::vector<RunPlan> small_plans(const std::string& file) {
  const Scenario scenario = read_scenario(std::string(ROCELAB_SOURCE_DIR) + "/" + file);
  std::vector<RunPlan> plans;
  for (const Settings& settings : scenario.settings) {
    plans.push_back(make_plan(scenario, settings, scenario.seeds.front()));
    Duration& limit = plans.back().settings.engine.limit;
    limit = std::min(limit, kCut);
  }
  return plans;
}

struct Traces {
  std::string hash;
  std::uint64_t records = 0;
};

Traces traces(const RunPlan& plan, Driver driver, std::uint32_t threads = 1, std::uint32_t parts = 0) {
  DesOptions options;
  options.driver = driver;
  options.threads = threads;
  options.parts = parts;
  DesRun run(plan, options);
  while (!run.advance(1 << 10)) {
  }
  EXPECT_EQ(run.network().late_arrivals(), 0u) << plan.label;
  return {to_hex(combine(run.digests())), run.host_records()};
}

class SmallScenarioTest : public testing::TestWithParam<std::string> {};

TEST_P(SmallScenarioTest, WindowsGiveTheTracesOfTheGlobalOrder) {
  for (const RunPlan& plan : small_plans(GetParam())) {
    const Traces windows = traces(plan, Driver::kWindows), oracle = traces(plan, Driver::kGlobalOrder);
    EXPECT_GT(windows.records, 0u) << plan.label;
    EXPECT_EQ(windows.hash, oracle.hash) << plan.label;
  }
}

TEST_P(SmallScenarioTest, PartsAndThreadsChangeNothing) {
  for (const RunPlan& plan : small_plans(GetParam())) {
    const Traces alone = traces(plan, Driver::kWindows);
    for (const auto& [threads, parts] : {std::pair{2u, 0u}, {3u, 64u}}) {
      const Traces together = traces(plan, Driver::kWindows, threads, parts);
      EXPECT_EQ(alone.hash, together.hash) << plan.label << ", " << threads << " threads, " << parts;
      EXPECT_EQ(alone.records, together.records) << plan.label;
    }
  }
}

// Each link as long as it was or down to an eighth of it: for longer ones buffers have no headroom.
void shorten_links(RunPlan& plan, Rng& rng) {
  World& world = plan.world;
  const auto shortened = [&](Duration delay) { return delay / static_cast<std::int64_t>(1 + rng.below(8)); };
  for (std::size_t p = 0; p < world.ports.size(); ++p) {
    PortEntry& port = world.ports[p];
    if (port.peer_host != kNoPeer)
      world.hosts[port.peer_host].nic.link_delay = port.config.delay = shortened(port.config.delay);
    else if (port.peer_port != kNoPeer && port.peer_port > p)
      world.ports[port.peer_port].config.delay = port.config.delay = shortened(port.config.delay);
  }
  plan.lookahead = lookahead_of(world.view());
}

// Any assignment of switches to parts, however bad, with links as long as they are and of many lengths.
TEST_P(SmallScenarioTest, RandomPartitionsChangeNothing) {
  Rng rng(7);
  for (RunPlan& plan : small_plans(GetParam())) {
    if (plan.original) continue;  // has one part
    plan.settings.engine.limit = std::min(plan.settings.engine.limit, kCut / 4);
    for (int round = 0; round < 2; ++round) {
      if (round == 1) shorten_links(plan, rng);
      const std::string alone = traces(plan, Driver::kWindows).hash;
      Partition partition;
      partition.parts = partition.last_here = static_cast<std::uint32_t>(2 + rng.below(6));
      std::vector<std::uint32_t> of_switch(plan.world.switches.size());
      for (std::uint32_t& part : of_switch) part = static_cast<std::uint32_t>(rng.below(partition.parts));
      for (const HostEntry& host : plan.world.hosts)
        partition.of_node.push_back(of_switch[plan.world.ports[host.port].switch_index]);
      partition.of_node.insert(partition.of_node.end(), of_switch.begin(), of_switch.end());
      DesOptions options;
      options.partition = &partition;
      options.threads = static_cast<std::uint32_t>(1 + rng.below(3));
      DesRun run(plan, options);
      while (!run.advance(1 << 10)) {
      }
      EXPECT_EQ(run.network().late_arrivals(), 0u) << plan.label << ", round " << round;
      EXPECT_EQ(alone, to_hex(combine(run.digests()))) << plan.label << ", round " << round;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, SmallScenarioTest, testing::ValuesIn(small_scenarios()),
                         [](const testing::TestParamInfo<std::string>& file) {
                           std::string name = file.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

constexpr char kStar[] = R"(
transport = ["roce+pfc"]
seeds = [1]
[topology]
kind = "star"
hosts = 3
rate = "40Gb/s"
delay = "2us"
[nic]
path_mtu = "1024B"
[[workload]]
name = "two"
kind = "list"
  [[workload.flow]]
  src = "h1"
  dst = "h3"
  size = "200KB"
  [[workload.flow]]
  src = "h2"
  dst = "h3"
  size = "200KB"
  start = "5us"
[engine]
limit = "10ms"
)";

RunPlan plan_of(const std::string& text, const std::vector<Override>& overrides = {}) {
  const Scenario scenario = parse_scenario(text, "test.toml", overrides);
  return make_plan(scenario, scenario.settings.front(), scenario.seeds.front());
}

TEST(DesRunTest, AFlowAloneTakesTheTimeOfTheClosedFormula) {
  std::string text = kStar;
  text.erase(text.find("  [[workload.flow]]\n  src = \"h2\""),
             text.find("[engine]") - text.find("  [[workload.flow]]\n  src = \"h2\""));
  for (const char* label : {"roce", "roce+pfc", "irn"}) {
    const RunPlan plan = plan_of(text, {{"transport", std::string("[\"") + label + "\"]"}});
    DesRun run(plan, {});
    while (!run.advance(1000)) {
    }
    const FlowOutcome flow = run.flows().at(0);
    ASSERT_TRUE(run.complete());
    EXPECT_EQ(flow.placed - flow.posted, plan.flows[0].alone) << label;
  }
}

TEST(DesRunTest, HowItIsCutIntoStepsChangesNothing) {
  const RunPlan plan = plan_of(kStar);
  std::vector<std::string> hashes;
  for (const std::uint64_t steps : {1, 7, 100'000}) {
    DesRun run(plan, {});
    while (!run.advance(steps)) {
    }
    hashes.push_back(to_hex(combine(run.digests())));
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[0], hashes[2]);
}

// Two racks of short cables, and a long one between them.
TEST(DesRunTest, PartsMeetAsOftenAsTheLinksBetweenThemAsk) {
  std::string text = kStar;
  const std::string star = "kind = \"star\"\nhosts = 3\nrate = \"40Gb/s\"\ndelay = \"2us\"\n";
  ASSERT_NE(text.find(star), std::string::npos);
  text.replace(text.find(star), star.size(),
               "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\nrate = \"40Gb/s\"\n"
               "delay = \"100ns\"\ntrunk_delay = \"20us\"\n");
  const RunPlan plan = plan_of(text);
  DesOptions options;
  DesRun alone(plan, options);
  options.parts = 2;
  DesRun parts(plan, options);
  for (DesRun* run : {&alone, &parts})
    while (!run->advance(1000)) {
    }
  EXPECT_EQ(to_hex(combine(alone.digests())), to_hex(combine(parts.digests())));
  EXPECT_EQ(alone.now(), parts.now());
  EXPECT_LE(parts.rounds(), static_cast<std::uint64_t>(parts.now().seconds() / 20e-6) + 2);
  EXPECT_GT(alone.rounds(), 10 * parts.rounds());
}

TEST(DesRunTest, WithoutTracesTheFlowsAreTheSame) {
  const RunPlan plan = plan_of(kStar);
  DesOptions options;
  options.trace = false;
  DesRun with(plan, {}), without(plan, options);
  while (!with.advance(1000)) {
  }
  while (!without.advance(1000)) {
  }
  ASSERT_EQ(with.flows().size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(with.flows()[i].placed, without.flows()[i].placed);
    EXPECT_EQ(with.flows()[i].cqe, without.flows()[i].cqe);
  }
  EXPECT_TRUE(without.digests().empty());
}

TEST(DesRunTest, ARunThatTheLimitEndsIsIncomplete) {
  const RunPlan plan = plan_of(kStar, {{"engine.limit", "\"20us\""}});
  DesRun run(plan, {});
  while (!run.advance(1000)) {
  }
  EXPECT_FALSE(run.complete());
  EXPECT_EQ(run.now(), Time::zero() + 20_us);
  EXPECT_TRUE(run.flows().at(0).placed.is_never());
}

TEST(DesRunTest, MoreQueuePairsThanANicHasAreRefusedByTheirNumber) {
  RunPlan plan = plan_of(kStar);
  for (HostEntry& host : plan.world.hosts) host.nic.max_qps = 2;
  EXPECT_NO_THROW(DesRun(plan, {}));
  plan.world.hosts[2].nic.max_qps = 1;  // the sink of both flows
  try {
    DesRun run(plan, {});
    FAIL() << "two queue pairs on a NIC that has one";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("host h3 need 2 queue pairs, and its NIC has 1"), std::string::npos)
        << e.what();
  }
}

// Every frame to h3 vanishes: the requesters give up by the verbs attributes, and the run ends before its
// limit.
TEST(DesRunTest, FlowsThatCannotCompleteEndWithTheStatusOfTheirCqe) {
  std::string text = kStar;
  text += "[[fault]]\nfrom = \"s1\"\nto = \"h3\"\ndrop_rate = 1.0\n";
  const RunPlan plan = plan_of(
      text, {{"transport", "[\"roce\"]"}, {"engine.limit", "\"100s\""}, {"timers.verbs_timeout", "8"}});
  DesRun run(plan, {});
  while (!run.advance(1000)) {
  }
  for (const FlowOutcome& flow : run.flows()) {
    EXPECT_EQ(flow.status, static_cast<int>(WcStatus::kRetryExcErr));
    EXPECT_TRUE(flow.placed.is_never());
  }
  EXPECT_LT(run.now(), Time::zero() + 100_s);
  EXPECT_GT(run.network().link_out(2).lost_frames, 0u);
}

// Flows that fail, at different times, and one that does not: when the run ends is no affair of its parts.
TEST(DesRunTest, RunsWhoseFlowsFailEndAtTheSameTimeInAnyNumberOfParts) {
  std::string text = kStar;
  const std::string star = "kind = \"star\"\nhosts = 3\n";
  ASSERT_NE(text.find(star), std::string::npos);
  text.replace(text.find(star), star.size(),
               "kind = \"leaf-spine\"\nleaves = 4\nspines = 1\nhosts_per_leaf = 1\ntrunk_delay = \"20us\"\n");
  text += "[[fault]]\nfrom = \"leaf3\"\nto = \"h3\"\ndrop_rate = 1.0\n";
  text.insert(text.find("[engine]"),
              "  [[workload.flow]]\n  src = \"h4\"\n  dst = \"h2\"\n  size = \"1MB\"\n");
  const RunPlan plan = plan_of(
      text, {{"transport", "[\"roce\"]"}, {"engine.limit", "\"100s\""}, {"timers.verbs_timeout", "8"}});
  std::vector<DesRun::NodeDigest> digests;
  Time end;
  for (const std::uint32_t parts : {1u, 2u, 5u}) {
    DesOptions options;
    options.parts = parts;
    DesRun run(plan, options);
    while (!run.advance(1000)) {
    }
    EXPECT_TRUE(std::ranges::any_of(run.flows(), [](const FlowOutcome& flow) { return flow.status != 0; }));
    EXPECT_FALSE(run.complete());
    if (parts == 1) digests = run.node_digests(), end = run.now();
    EXPECT_EQ(run.now(), end) << parts;
    ASSERT_EQ(run.node_digests().size(), digests.size());
    for (std::size_t i = 0; i < digests.size(); ++i)
      EXPECT_EQ(run.node_digests()[i].digest, digests[i].digest)
          << parts << " parts, node " << digests[i].node;
  }
}

// Of both bottlenecks of the scenario, a switch's port and a NIC, gold gets three quarters.
TEST(DesRunTest, ClassesShareABottleneckByTheirWeights) {
  const Scenario scenario = read_scenario(std::string(ROCELAB_SOURCE_DIR) + "/scenarios/classes.toml");
  for (const Settings& settings : scenario.settings) {
    const RunPlan plan = make_plan(scenario, settings, 1);
    DesRun run(plan, {});
    while (!run.advance(1000)) {
    }
    ASSERT_TRUE(run.complete()) << settings.label;
    const std::vector<FlowOutcome> flows = run.flows();
    ASSERT_EQ(flows.size(), 4u);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      // 8 MB of both classes at line rate.
      const double full = plan.flows[i].alone.seconds() * (plan.flows[i].group == "gold" ? 8.0 / 6 : 8.0 / 2);
      EXPECT_NEAR((flows[i].placed - flows[i].posted).seconds() / full, 1, 0.02)
          << settings.label << " flow " << i << " " << plan.flows[i].group;
    }
  }
}

TEST(DesRunTest, ADscpThatANodesMapLeavesOutIsCountedThere) {
  const std::string text = std::string(kStar) + "[[classes.at]]\nnodes = [\"s1\"]\nothers = \"unknown\"\n";
  DesRun run(plan_of(text), {});
  while (!run.advance(1000)) {
  }
  ASSERT_TRUE(run.complete());
  EXPECT_EQ(run.port_counters(0).unknown_dscp, run.port_counters(0).rx_frames);
  EXPECT_GT(run.port_counters(0).rx_frames, 190u);
  EXPECT_EQ(run.network().host(2).nic().counters().rx_unknown_dscp, 0u);
  EXPECT_GT(run.port_counters(2).queue_peak_bytes[0], 0u);
  EXPECT_EQ(run.port_counters(2).queue_peak_bytes[3], 0u);
}

TEST(DesRunTest, DamagedFramesAreDroppedByTheNicForTheirIcrc) {
  std::string text = kStar;
  text += "[[fault]]\nfrom = \"s1\"\nto = \"h3\"\ncorrupt_rate = 0.05\n";
  const RunPlan plan = plan_of(text, {{"transport", "[\"irn\"]"}});
  DesRun run(plan, {});
  while (!run.advance(1000)) {
  }
  EXPECT_TRUE(run.complete());
  const std::uint64_t damaged = run.network().link_out(2).corrupted_frames;
  EXPECT_GT(damaged, 5u);
  EXPECT_EQ(run.network().host(2).nic().counters().rx_icrc_encapsulated, damaged);
  EXPECT_EQ(traces(plan, Driver::kWindows).hash, traces(plan, Driver::kGlobalOrder).hash);
}

}  // namespace
}  // namespace rocelab::des
