#include "emu/runner/workloads/closed_loop.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/plan.h"
#include "emu/runner/workload.h"

namespace rocelab {
namespace {

std::string text_of(const std::string& keys) {
  return "transport = \"roce\"\n[topology]\nkind = \"star\"\nrate = \"10Gb/s\"\nhosts = 4\n"
         "[[workload]]\nkind = \"closed-loop\"\njitter = \"0us\"\n" +
         keys;
}

std::vector<Flow> flows_of(const std::string& keys, std::uint64_t seed = 1) {
  return draw_flows(parse_scenario(text_of(keys), "t.toml").settings.at(0), Rng(seed));
}

std::string complaint(const std::string& keys) {
  const std::string said = complaint_of([&] { parse_scenario(text_of(keys), "t.toml"); });
  return said.starts_with("t.toml:") ? said.substr(said.find(' ') + 1) : said;
}

constexpr char kTwoPairs[] = "senders = [\"h1\", \"h2\"]\nreceivers = [\"h4\"]\nflows = 5\n";

TEST(ClosedLoopTest, AConnectionSendsOneFlowAfterTheOther) {
  const auto flows =
      flows_of(std::string(kTwoPairs) +
               "size = \"4KB\"\nconnections = 3\nthink = \"7us\"\nthink_times = \"constant\"\n");
  ASSERT_EQ(flows.size(), 2u * 3 * 5);
  std::map<std::uint32_t, std::vector<const Flow*>> connections;
  for (const Flow& flow : flows) connections[flow.connection].push_back(&flow);
  ASSERT_EQ(connections.size(), 6u);
  for (const auto& [number, chain] : connections) {
    ASSERT_EQ(chain.size(), 5u);
    EXPECT_TRUE(chain[0]->after.empty());
    EXPECT_EQ(chain[0]->start, Time::zero());
    for (std::size_t i = 1; i < chain.size(); ++i) {
      EXPECT_EQ(chain[i]->after, (std::vector<FlowEnd>{{chain[i - 1]->id, 7_us}}));
      EXPECT_EQ(chain[i]->after_count, 1u);
      EXPECT_EQ(std::tie(chain[i]->src, chain[i]->dst), std::tie(chain[0]->src, chain[0]->dst));
    }
  }
}

TEST(ClosedLoopTest, ThinkTimesAreExponentialUnlessTheyAreConstant) {
  const auto flows =
      flows_of("senders = [\"h1\"]\nreceivers = [\"h4\"]\nflows = 4000\nsize = \"4KB\"\nthink = \"10us\"\n");
  double sum = 0, squares = 0;
  for (const Flow& flow : flows)
    if (!flow.after.empty()) {
      const double us = static_cast<double>(flow.after[0].delay.ps()) / 1e6;
      sum += us;
      squares += us * us;
    }
  const double n = static_cast<double>(flows.size() - 1), mean = sum / n;
  EXPECT_NEAR(mean, 10, 0.5);                         // 3 standard errors
  EXPECT_NEAR(squares / n / (mean * mean), 2, 0.25);  // of a constant 1
}

TEST(ClosedLoopTest, WithQueuePairsAheadEachFlowHasItsOwn) {
  for (const Flow& flow : flows_of(std::string(kTwoPairs) + "size = \"4KB\"\nqueue_pairs = \"ahead\"\n")) {
    EXPECT_EQ(flow.connection, 0u);
    EXPECT_EQ(flow.after.size(), flow.after_count);
  }
}

TEST(ClosedLoopTest, SizesFollowFromTheSeed) {
  const std::string keys = std::string(kTwoPairs) + "size_min = \"1KB\"\nsize_max = \"9KB\"\n";
  const auto sizes = [&](std::uint64_t seed) {
    std::vector<Bytes> all;
    for (const Flow& flow : flows_of(keys, seed)) all.push_back(flow.size);
    return all;
  };
  EXPECT_EQ(sizes(1), sizes(1));
  EXPECT_NE(sizes(1), sizes(2));
}

TEST(ClosedLoopTest, ContradictionsAreNamed) {
  const auto expect = [](const std::string& said, const char* part) {
    EXPECT_NE(said.find(part), std::string::npos) << said;
  };
  const auto with = [](const std::string& keys) { return complaint("size = \"4KB\"\n" + keys); };
  expect(with(""), "flows");
  expect(with("flows = 2\nop = \"read\"\n"), "op must be \"write\" or \"send\"");
  expect(with("flows = 2\nservice = \"uc\"\n"), "service must be \"rc\"");
  expect(with("flows = 2\nstop = \"1ms\"\n"), "stop is not for a closed loop");
  expect(with("flows = 2\nqueue_pairs = \"per-flow\"\n"), "queue_pairs");
  expect(with("flows = 1000000\n"), "flows makes more than 10000000 flows of 12 connections");
  expect(with("flows = 2\nsenders = [\"h1\"]\nreceivers = [\"h1\"]\n"),
         "receivers leave no sender anybody to send to");
}

}  // namespace
}  // namespace rocelab
