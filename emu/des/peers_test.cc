// Runs that several processes share, as threads here: what they find together is what one finds alone.
#include "emu/des/peers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "emu/des/des_run.h"
#include "emu/runner/scenario.h"

namespace rocelab::des {
namespace {

// A place where `ranks` threads meet.
class Table {
 public:
  explicit Table(std::uint32_t ranks) : posted_(ranks), meeting_(ranks) {}

  std::vector<Peers::Buffer> exchange(std::uint32_t rank, const std::vector<Peers::Buffer>& out) {
    posted_[rank] = out;
    meeting_.arrive_and_wait();
    std::vector<Peers::Buffer> in(posted_.size());
    for (std::size_t from = 0; from < in.size(); ++from)
      if (from != rank) in[from] = posted_[from].at(rank);
    meeting_.arrive_and_wait();
    return in;
  }

 private:
  std::vector<std::vector<Peers::Buffer>> posted_;  // by rank
  std::barrier<> meeting_;
};

class Seat final : public Peers {
 public:
  Seat(Table& table, std::uint32_t rank, std::uint32_t ranks) : table_(table), rank_(rank), ranks_(ranks) {}
  std::uint32_t rank() const override { return rank_; }
  std::uint32_t ranks() const override { return ranks_; }
  std::vector<Buffer> exchange(const std::vector<Buffer>& out) override {
    return table_.exchange(rank_, out);
  }

 private:
  Table& table_;
  std::uint32_t rank_, ranks_;
};

struct Found {
  std::map<std::size_t, Digest> digests;  // by node
  std::uint64_t records = 0, received = 0, rounds = 0;
  std::map<std::uint32_t, Time> placed;
};

void add(Found& found, DesRun& run) {
  for (const DesRun::NodeDigest& of : run.node_digests())
    EXPECT_TRUE(found.digests.emplace(of.node, of.digest).second) << "two processes have node " << of.node;
  found.records += run.host_records();
  found.rounds = run.rounds();
  for (std::uint32_t p = 0; p < run.plan().world.ports.size(); ++p)
    found.received += run.port_counters(p).rx_frames;
  for (const FlowOutcome& flow : run.flows())
    if (!flow.placed.is_never()) {
      EXPECT_TRUE(found.placed.emplace(flow.id, flow.placed).second);
    }
}

Found alone(const RunPlan& plan) {
  DesRun run(plan, {});
  while (!run.advance(1 << 10)) {
  }
  Found found;
  add(found, run);
  return found;
}

Found together(const RunPlan& plan, std::uint32_t ranks, std::uint32_t threads) {
  Table table(ranks);
  std::vector<std::unique_ptr<Seat>> seats;
  std::vector<std::unique_ptr<DesRun>> runs(ranks);
  std::vector<std::thread> processes;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    seats.push_back(std::make_unique<Seat>(table, rank, ranks));
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    processes.emplace_back([&, rank] {
      DesOptions options;
      options.threads = threads;
      options.peers = seats[rank].get();
      runs[rank] = std::make_unique<DesRun>(plan, options);
      while (!runs[rank]->advance(1 << 10)) {
      }
    });
  for (std::thread& process : processes) process.join();
  Found found;
  for (const auto& run : runs) add(found, *run);
  return found;
}

void expect_equal(const RunPlan& plan, std::uint32_t ranks, std::uint32_t threads) {
  const Found one = alone(plan), many = together(plan, ranks, threads);
  const std::string what =
      plan.label + ", " + std::to_string(ranks) + " processes of " + std::to_string(threads) + " threads";
  EXPECT_EQ(one.digests, many.digests) << what;
  EXPECT_EQ(one.records, many.records) << what;
  EXPECT_EQ(one.received, many.received) << what;
  EXPECT_EQ(one.placed, many.placed) << what;
}

std::string text_of(const std::string& file) {
  std::ifstream in(std::string(ROCELAB_SOURCE_DIR) + "/" + file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<RunPlan> plans_of(const Scenario& scenario, Duration cut = 500_us) {
  std::vector<RunPlan> found;
  for (const Settings& settings : scenario.settings) {
    if (settings.nic.config.slack.replays()) continue;
    found.push_back(make_plan(scenario, settings, scenario.seeds.front()));
    Duration& limit = found.back().settings.engine.limit;
    limit = std::min(limit, cut);
  }
  return found;
}

std::vector<RunPlan> plans(const std::string& file) {
  return plans_of(read_scenario(std::string(ROCELAB_SOURCE_DIR) + "/" + file));
}

std::size_t switches(const RunPlan& plan) { return plan.world.switches.size(); }

// Losses and failures, telemetry beside frames, slack, levels.
TEST(PeersTest, ProcessesFindTogetherWhatOneFindsAlone) {
  for (const char* file :
       {"scenarios/link_failure.toml", "scenarios/fattree_small.toml", "tests/same/scenarios/hpcc.toml",
        "tests/same/scenarios/lstf.toml", "tests/same/scenarios/leaf_spine_16.toml"})
    for (const RunPlan& plan : plans(file)) {
      ASSERT_GE(switches(plan), 2u) << file;
      expect_equal(plan, 2, 1);
      if (switches(plan) >= 6) expect_equal(plan, 3, 2);
    }
}

// An end learns of its peer's queue pairs a window ahead of the flow's start.
TEST(PeersTest, QueuePairsThatComeLateAreToldOf) {
  std::string text = text_of("tests/same/scenarios/flow_lifetimes.toml");
  const std::string star = "kind = \"star\"\nhosts = 4\n";
  ASSERT_NE(text.find(star), std::string::npos);
  text.replace(text.find(star), star.size(),
               "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n");
  for (const RunPlan& plan : plans_of(parse_scenario(text, "t.toml"), 2500_us)) {
    ASSERT_TRUE(std::ranges::any_of(plan.flows, [](const Flow& f) { return f.connect > Time::zero(); }));
    expect_equal(plan, 2, 1);
    expect_equal(plan, 3, 1);
  }
}

TEST(PeersTest, MoreProcessesThanPartsAreRefused) {
  const RunPlan plan = plans("scenarios/fattree_small.toml").front();
  Table table(1);
  Seat seat(table, 0, 1000);
  DesOptions options;
  options.peers = &seat;
  try {
    const DesRun run(plan, options);
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("1000 processes cannot share a network of "), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace rocelab::des
