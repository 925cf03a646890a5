// The configuration of a switch as a program: the same departures, records and counters, to the picosecond.
#include "ovs_patches/openqueue/builtin.h"

#include <gtest/gtest.h>

#include <cstring>
#include <tuple>

#include "ovs_patches/openqueue/compile.h"
#include "ovs_patches/switch_model/test_traffic.h"

namespace rocelab {
namespace {

using namespace switch_test;

std::shared_ptr<const PolicyProgram> compiled(const std::string& text, const SwitchConfig& config,
                                              const std::vector<PortConfig>& ports) {
  const CompiledPolicy policy = compile_policy({{{"test.oq", text}}, {}}, config, ports);
  for (const PolicyDiagnostic& diagnostic : policy.diagnostics) ADD_FAILURE() << to_text(diagnostic);
  return policy.program;
}

struct Outcome {
  explicit Outcome(const SwitchConfig& config, const std::vector<PortConfig>& ports)
      : bench(config, ports, &owner) {}
  void run(double load, Time end) {
    feed(bench, owner, 21, 100_us, load);
    bench.node.run_until(end, [&](PortId p, PacketRef packet, Time departed, Time due) {
      bench.sent.push_back({p,
                            departed,
                            due,
                            packet->kind,
                            packet->flow,
                            packet->roce.psn.value(),
                            packet->frame_length,
                            packet->ecn,
                            {}});
      if (packet->frame_slot != kNoFrame) owner.release(packet->frame_slot);
    });
  }
  CountingOwner owner;
  Bench bench;
};

class BuiltinPolicyTest : public ::testing::TestWithParam<std::tuple<const char*, double>> {};

TEST_P(BuiltinPolicyTest, RunsAsTheConfigurationDoes) {
  const auto& [name, load] = GetParam();
  const SwitchConfig config = random_config(name);
  const std::vector<PortConfig> ports(kPortCount);
  const Time end = at(200_us);
  Outcome plain(config, ports), program(config, ports);
  ASSERT_EQ(problem_of_builtin(config), "");
  const auto policy = compiled(builtin_policy(config), config, ports);
  ASSERT_NE(policy, nullptr);
  program.bench.node.set_policies({{Time::zero(), policy, false}});
  plain.run(load, end);
  program.run(load, end);

  ASSERT_EQ(program.bench.sent.size(), plain.bench.sent.size());
  for (std::size_t i = 0; i < plain.bench.sent.size(); ++i) {
    const Departure &a = program.bench.sent[i], &b = plain.bench.sent[i];
    ASSERT_EQ(std::tie(a.port, a.time, a.due, a.kind, a.flow, a.psn, a.frame_length, a.ecn),
              std::tie(b.port, b.time, b.due, b.kind, b.flow, b.psn, b.frame_length, b.ecn))
        << "departure " << i << " at " << to_string(b.time);
  }
  const std::vector<TraceRecord>&records = program.bench.trace.records, &wanted = plain.bench.trace.records;
  ASSERT_EQ(records.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_EQ(std::memcmp(&records[i], &wanted[i], sizeof(TraceRecord)), 0)
        << "record " << i << " at " << to_string(wanted[i].time) << ", kind "
        << static_cast<int>(records[i].kind) << " for " << static_cast<int>(wanted[i].kind);
  for (int p = 0; p < kPortCount; ++p) {
    const SwitchPortCounters a = program.bench.node.model().counters(port(p), end),
                             b = plain.bench.node.model().counters(port(p), end);
    EXPECT_EQ(std::memcmp(&a, &b, sizeof a), 0) << "counters of port " << p;
  }
  EXPECT_EQ(program.owner.references, plain.owner.references);
  EXPECT_GT(wanted.size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Switches, BuiltinPolicyTest,
                         ::testing::Combine(::testing::Values("plain", "lossy", "rocc", "watchdog",
                                                              "telemetry", "capfc"),
                                            ::testing::Values(0.05, 0.3, 0.8, 1.5)),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param)) + "_" +
                                  std::to_string(static_cast<int>(std::get<1>(each.param) * 100));
                         });

}  // namespace
}  // namespace rocelab
