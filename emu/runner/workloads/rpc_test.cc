#include "emu/runner/workloads/rpc.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/plan.h"
#include "emu/runner/workload.h"

namespace rocelab {
namespace {

std::string text_of(const std::string& keys, int hosts = 4) {
  return "transport = \"roce\"\n[topology]\nkind = \"star\"\nrate = \"10Gb/s\"\nhosts = " +
         std::to_string(hosts) + "\n[[workload]]\nkind = \"rpc\"\n" + keys;
}

std::vector<Flow> flows_of(const std::string& keys, int hosts = 4, std::uint64_t seed = 1) {
  return draw_flows(parse_scenario(text_of(keys, hosts), "t.toml").settings.at(0), Rng(seed));
}

std::string complaint(const std::string& keys) {
  const std::string said = complaint_of([&] { parse_scenario(text_of(keys), "t.toml"); });
  return said.starts_with("t.toml:") ? said.substr(said.find(' ') + 1) : said;
}

constexpr char kOpen[] = "size = \"4KB\"\nload = 0.2\nduration = \"10ms\"\n";
constexpr char kClosed[] = "size = \"4KB\"\nrequests = 5\njitter = \"0us\"\n";

// Request and response by the number of their RPC.
std::map<std::uint32_t, std::pair<const Flow*, const Flow*>> rpcs_of(const std::vector<Flow>& flows) {
  std::map<std::uint32_t, std::pair<const Flow*, const Flow*>> rpcs;
  for (const Flow& flow : flows)
    (flow.step == 0 ? rpcs[flow.request].first : rpcs[flow.request].second) = &flow;
  return rpcs;
}

TEST(RpcTest, AResponseGoesBackAServiceTimeAfterItsRequest) {
  const auto flows = flows_of(std::string(kOpen) + "response_size = \"64KB\"\nservice_time = \"3us\"\n");
  ASSERT_GT(flows.size(), 100u);
  for (const auto& [number, rpc] : rpcs_of(flows)) {
    const auto& [request, response] = rpc;
    ASSERT_NE(request, nullptr);
    ASSERT_NE(response, nullptr);
    EXPECT_EQ(response->src, request->dst);
    EXPECT_EQ(response->dst, request->src);
    EXPECT_EQ(response->after, (std::vector<FlowEnd>{{request->id, 3_us}}));
    EXPECT_EQ(response->after_count, 1u);
    EXPECT_EQ(request->size, 4_KB);
    EXPECT_EQ(response->size, 64_KB);
    EXPECT_TRUE(request->after.empty());
    EXPECT_EQ(request->due, request->start);
  }
}

TEST(RpcTest, WithoutAResponseSizeResponsesAreAsLargeAsTheirRequests) {
  std::set<Bytes> sizes;
  const auto flows =
      flows_of("size_min = \"1KB\"\nsize_max = \"9KB\"\nevery = \"20us\"\nduration = \"2ms\"\n");
  for (const auto& [number, rpc] : rpcs_of(flows)) {
    EXPECT_EQ(rpc.first->size, rpc.second->size);
    sizes.insert(rpc.first->size);
  }
  EXPECT_GT(sizes.size(), 100u);
}

// 4 hosts of 10 Gb/s over 200 ms: some 5,900 flows of 4 x 1024 bytes and headers, 2 % of deviation.
TEST(RpcTest, TheLoadIsThatOfTheLargerDirection) {
  for (const char* sizes : {"size = \"4096B\"\n", "size = \"64B\"\nresponse_size = \"4096B\"\n"}) {
    const auto flows = flows_of(std::string(sizes) + "load = 0.2\nduration = \"200ms\"\n");
    const double wire = 4 * (1024 + 14 + 20 + 8 + 12 + 4 + 24) + 16 +
                        4;  // about: the first has a RETH, the last an immediate
    const double load = static_cast<double>(flows.size()) / 2 * wire * 8 / (4 * 10e9 * 0.2);
    EXPECT_NEAR(load, 0.2, 0.005) << sizes;
  }
}

TEST(RpcTest, APairsRequestsWaitWhereSoManyAreUnderWay) {
  const auto flows = flows_of(std::string(kOpen) + "outstanding = 3\n", 3);
  const auto rpcs = rpcs_of(flows);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> responses;  // of a pair
  std::size_t waiting = 0;
  for (const auto& [number, rpc] : rpcs) {
    std::vector<std::uint32_t>& earlier = responses[{rpc.first->src, rpc.first->dst}];
    std::vector<FlowEnd> expected;
    if (earlier.size() >= 3) expected.push_back({earlier[earlier.size() - 3], {}});
    EXPECT_EQ(rpc.first->after, expected);
    EXPECT_EQ(rpc.first->after_count, expected.size());
    waiting += expected.size();
    earlier.push_back(rpc.second->id);
  }
  EXPECT_EQ(waiting, rpcs.size() - 3 * responses.size());
}

TEST(RpcTest, EachPlaceOfAClosedLoopHasOneRequestAfterTheOther) {
  const auto flows =
      flows_of(std::string(kClosed) + "outstanding = 2\nthink = \"7us\"\nthink_times = \"constant\"\n");
  const auto rpcs = rpcs_of(flows);
  ASSERT_EQ(rpcs.size(), 4u * 2 * 5);
  std::size_t first = 0;
  for (const auto& [number, rpc] : rpcs) {
    EXPECT_TRUE(rpc.first->due.is_never());
    if (rpc.first->after.empty()) {
      ++first;
      continue;
    }
    const Flow& before = *rpcs.at(number - 1).second;
    EXPECT_EQ(before.dst, rpc.first->src) << "the same client";
    EXPECT_EQ(rpc.first->after, (std::vector<FlowEnd>{{before.id, 7_us}}));
  }
  EXPECT_EQ(first, 8u);
}

TEST(RpcTest, ThinkTimesAreExponentialUnlessConstant) {
  const auto flows = flows_of("size = \"1KB\"\nrequests = 2000\nthink = \"10us\"\n", 3);
  double sum = 0, squares = 0, n = 0;
  for (const Flow& flow : flows) {
    if (flow.step != 0 || flow.after.empty()) continue;
    const double us = flow.after[0].delay.seconds() * 1e6;
    sum += us, squares += us * us, ++n;
  }
  EXPECT_NEAR(sum / n, 10, 0.5);
  EXPECT_NEAR(squares / n - sum / n * sum / n, 100, 12) << "an exponential's variance is its mean squared";
}

TEST(RpcTest, RequestsAndResponsesOfPlacesHaveQueuePairsOfTheirOwn) {
  std::map<std::uint32_t, std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>>> users;
  for (const Flow& flow : flows_of("size = \"4KB\"\nrequests = 40\noutstanding = 2\n", 2)) {
    ASSERT_NE(flow.connection, 0u);
    users[flow.connection].insert({flow.src, flow.dst, flow.step});
  }
  EXPECT_EQ(users.size(), 8u) << "two hosts ask each other in two places each";
  for (const auto& [connection, who] : users) EXPECT_EQ(who.size(), 1u) << connection;
}

TEST(RpcTest, RpcsMayHaveQueuePairsEach) {
  for (const Flow& flow : flows_of(std::string(kOpen) + "queue_pairs = \"ahead\"\n"))
    EXPECT_EQ(flow.connection, 0u);
}

TEST(RpcTest, ClientsAskServersOnly) {
  for (const Flow& flow :
       flows_of(std::string(kOpen) + "senders = [\"h1\", \"h2\"]\nreceivers = [\"h2\", \"h4\"]\n")) {
    const auto [client, server] =
        flow.step == 0 ? std::pair(flow.src, flow.dst) : std::pair(flow.dst, flow.src);
    EXPECT_LE(client, 1u);
    EXPECT_TRUE(server == 1 || server == 3);
    EXPECT_NE(client, server);
  }
}

// Each host sends its requests and the others' responses.
TEST(RpcTest, BothDirectionsCountAgainstTheLinks) {
  EXPECT_EQ(complaint("size = \"4KB\"\nload = 0.49\nduration = \"1ms\"\n"), "none");
  EXPECT_NE(complaint("size = \"4KB\"\nload = 0.51\nduration = \"1ms\"\n").find("overload = true"),
            std::string::npos);
  EXPECT_EQ(complaint("size = \"4KB\"\nload = 0.51\nduration = \"1ms\"\noverload = true\n"), "none");
}

TEST(RpcTest, RefusesContradictions) {
  const auto expect = [](const std::string& keys, const std::string& part) {
    EXPECT_NE(complaint(keys).find(part), std::string::npos) << keys << complaint(keys);
  };
  expect("size = \"1KB\"\n", "needs load or every (open loop), or requests (closed loop)");
  expect("size = \"1KB\"\nload = 0.1\n", "duration");
  expect("size = \"1KB\"\nload = 0.1\nevery = \"1us\"\nduration = \"1ms\"\n", "every excludes load");
  expect(std::string(kClosed) + "load = 0.1\n", "requests is of a closed loop, and excludes load");
  expect(std::string(kClosed) + "duration = \"1ms\"\n", "duration is of an open loop");
  expect(std::string(kClosed) + "outstanding = \"unlimited\"\n",
         "outstanding of a closed loop must be a number");
  expect(std::string(kOpen) + "think = \"1us\"\n", "think is of a closed loop");
  expect(std::string(kOpen) + "op = \"read\"\n", "op must be \"write\" or \"send\"");
  expect(std::string(kOpen) + "service = \"uc\"\n", "service must be \"rc\"");
  expect(std::string(kOpen) + "stop = \"1ms\"\n", "stop is not for RPCs");
  expect(std::string(kOpen) + "queue_pairs = \"per-flow\"\n",
         "queue_pairs must be \"persistent\" or \"ahead\"");
  expect(std::string(kOpen) + "receivers = [\"h1\"]\n", "leave \"h1\" no server");
  expect(std::string(kOpen) + "response_size = \"1KB\"\nresponse_cdf = \"x\"\n",
         "response_size excludes response_cdf");
  expect(std::string(kOpen) + "respons_size = \"1KB\"\n", "did you mean \"response_size\"?");
  expect("size = \"1KB\"\nrequests = 1000000\noutstanding = 10\n", "more than 10000000 flows");
}

}  // namespace
}  // namespace rocelab
