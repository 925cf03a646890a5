// rocelab_flows and rocelab_perf over an ideal switch: what they record, that it repeats, and how they end
// when a peer dies.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "irn_provider/verbs/test_fabric.h"

namespace rocelab::verbs {
namespace {

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// All values of a member in a JSON document of a member a line, in order.
std::vector<std::string> values(const std::string& json, const std::string& member) {
  std::vector<std::string> result;
  const std::string key = '"' + member + "\": ";
  for (std::size_t at = json.find(key); at != std::string::npos; at = json.find(key, at + 1)) {
    std::string line = json.substr(at + key.size(), json.find('\n', at) - at - key.size());
    if (line.ends_with(',')) line.pop_back();
    result.push_back(line);
  }
  return result;
}

// The n-th value of a member, or what is in its place.
std::string value(const std::string& json, const std::string& member, std::size_t n = 0) {
  const std::vector<std::string> all = values(json, member);
  return n < all.size() ? all[n] : "no " + member + " in: " + json;
}

class FlowsTest : public ::testing::TestWithParam<TransportMode> {
 protected:
  FlowsTest() {
    std::string name = (std::filesystem::temp_directory_path() / "rocelab-flows-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    static int next_port = 23'000 + static_cast<int>(getpid() % 1'000) * 10;
    port_ = next_port++;
  }
  ~FlowsTest() override { std::filesystem::remove_all(folder_); }

  NicConfig nic() const {
    NicConfig config;
    config.mode = GetParam();
    return config;
  }
  // Starts one rocelab_flows on each host. All listen on the loopback interface, under addresses of their
  // own.
  void start(TestFabric& fabric, std::size_t hosts, const std::string& flows,
             const std::vector<std::string>& options) {
    std::ofstream(folder_ / "flows") << flows;
    std::ofstream table(folder_ / "hosts");
    for (std::size_t i = 1; i <= hosts; ++i) table << "h" << i << " 127.1.0." << i << "\n";
    table.close();
    for (std::size_t i = 1; i <= hosts; ++i) {
      std::vector<std::string> command = {ROCELAB_FLOWS,
                                          "--flows",
                                          folder_ / "flows",
                                          "--hosts",
                                          folder_ / "hosts",
                                          "--me",
                                          "h" + std::to_string(i),
                                          "--port",
                                          std::to_string(port_),
                                          "--out",
                                          out(i)};
      command.insert(command.end(), options.begin(), options.end());
      fabric.start(i - 1, command);
    }
  }
  std::string out(std::size_t host) const { return folder_ / ("h" + std::to_string(host) + ".json"); }

  std::filesystem::path folder_;
  int port_ = 0;
};

constexpr char kMixed[] =
    "0 h1 h3 write 2000000 262144 0 1 incast\n"
    "1 h2 h3 send  2000000 65536 1234.567 2\n"
    "2 h3 h1 read  1000001 100000 50000 4\n"
    "3 h1 h2 write 10 10 5000000 1\n"
    "4 h2 h1 send  1 1 5000000.5 1\n";

TEST_P(FlowsTest, EveryOperationArrivesVerifiedAndEveryRunIsTheSame) {
  std::vector<std::string> runs[2];
  for (auto& documents : runs) {
    TestFabric fabric(3, 3, nic());
    start(fabric, 3, kMixed, {"--verify"});
    ASSERT_TRUE(fabric.run());
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(fabric.program(i).exit_code(), 0) << fabric.program(i).output();
    for (std::size_t i = 1; i <= 3; ++i) documents.push_back(read_file(out(i)));
  }
  EXPECT_EQ(runs[0], runs[1]);
  using Strings = std::vector<std::string>;
  EXPECT_EQ(values(runs[0][2], "id"), (Strings{"0", "1", "2"}));
  EXPECT_EQ(values(runs[0][2], "role"), (Strings{"\"sink\"", "\"sink\"", "\"source\""}));
  EXPECT_EQ(values(runs[0][2], "verified"), (Strings{"true", "true", "null"}));
  EXPECT_EQ(values(runs[0][2], "bytes"), (Strings{"2000000", "2000000", "1000001"}));
  EXPECT_EQ(values(runs[0][0], "posted_ps"), (Strings{"0", "50000000", "5000000000", "null"}));
  EXPECT_EQ(value(runs[0][1], "posted_ps"), "1235000") << "rounded up to 1 ns";
  EXPECT_EQ(values(runs[0][1], "posted_ps").back(), "5000001000");
}

TEST_P(FlowsTest, ALoneWriteTakesTheTimeOfTheFormula) {
  TestFabric fabric(2, 2, nic());
  start(fabric, 2, "0 h1 h2 write 1024000 1024000 1000 1\n", {});
  ASSERT_TRUE(fabric.run());
  const std::int64_t posted = std::stoll(value(read_file(out(1)), "posted_ps", 0));
  const std::int64_t placed = std::stoll(value(read_file(out(2)), "placed_ps", 0));
  const bool irn = GetParam() == TransportMode::kIrn;
  const auto frame = [&](std::int64_t headers) {
    return wire_time(Bytes::from_count(1'024 + 58 + headers), nic().link_rate);
  };
  const Duration middle = frame(irn ? 16 : 0), first = frame(16), last = frame(irn ? 24 : 4);
  const Duration want = first + middle * 998 + last + std::max(first, last) + nic().link_delay * 2;
  EXPECT_EQ(posted, 1'000'000);
  EXPECT_NEAR(static_cast<double>(placed - posted), static_cast<double>(want.ps()), 1'000)
      << "the clock has 1 ns";
}

// The receiver is killed in mid-run: its senders end with an error from their own NIC, and say so.
TEST_P(FlowsTest, SendersOfAKilledReceiverEndByTheirRetryLimit) {
  TestFabric fabric(3, 3, nic());
  start(
      fabric, 3,
      "0 h1 h3 write 400000000 1048576 0 1\n1 h2 h3 send 400000000 65536 0 1\n2 h1 h2 write 1000 1000 0 1\n",
      {"--timeout", "10", "--retry-cnt", "2"});
  while (fabric.segment().header().committed_ps.load() < (2_ms).ps()) fabric.drive_once();
  kill(fabric.program(2).pid, SIGKILL);
  ASSERT_TRUE(fabric.run());
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(fabric.program(i).exit_code(), 1) << fabric.program(i).output();
    EXPECT_EQ(value(read_file(out(i + 1)), "status", 0), "\"transport retry counter exceeded\"");
  }
  EXPECT_EQ(value(read_file(out(2)), "status", 1), "\"ok\"") << "the flow between the living";
}

// A sender is killed: the receiver has no completion that would tell it, but its TCP connection ends.
TEST_P(FlowsTest, AReceiverGivesUpOnAKilledSender) {
  TestFabric fabric(2, 2, nic());
  start(fabric, 2, "0 h1 h2 write 400000000 1048576 0 1\n", {});
  while (fabric.segment().header().committed_ps.load() < (2_ms).ps()) fabric.drive_once();
  kill(fabric.program(0).pid, SIGKILL);
  ASSERT_TRUE(fabric.run());
  EXPECT_EQ(fabric.program(1).exit_code(), 1) << fabric.program(1).output();
  EXPECT_EQ(value(read_file(out(2)), "status", 0), "\"h1 is gone\"");
}

TEST_P(FlowsTest, PerfPrintsTheBandwidthOfTheLinkAndTheLatencyOfThePath) {
  const bool irn = GetParam() == TransportMode::kIrn;
  for (const std::string op : {"send", "write", "read"}) {
    TestFabric fabric(2, 2, nic());
    const std::string port = std::to_string(port_);
    fabric.start(1, {ROCELAB_PERF, "--port", port});
    fabric.start(0, {ROCELAB_PERF, "--port", port, "--op", op, "--size", "1048576", "--iters", "50", "--json",
                     out(1), "127.0.0.1"});
    ASSERT_TRUE(fabric.run());
    EXPECT_EQ(fabric.program(1).exit_code(), 0) << fabric.program(1).output();
    const std::string json = read_file(out(1));
    ASSERT_FALSE(json.empty());
    const double goodput = 40.0 * 1'024 / (1'024 + 82 + (irn ? 8 : 0));
    EXPECT_NEAR(std::stod(value(json, "bandwidth_gbps", 0)), goodput, 0.02 * goodput) << op;
    const double one_way_us = 1'048'576 * 8 / goodput / 1e3 + 4 + (op == "read" ? 4 : 0);
    EXPECT_NEAR(std::stod(value(json, "latency_median_us", 0)), one_way_us, 0.02 * one_way_us) << op;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, FlowsTest, ::testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

}  // namespace
}  // namespace rocelab::verbs
