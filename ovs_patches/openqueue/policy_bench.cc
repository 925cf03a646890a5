// What a queueing policy costs per packet and hop, beside the switch as it is configured: eight senders to
// one port of a lossy class, behind which so many frames stand. One frame arrives for each that leaves.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/check.h"
#include "ovs_patches/openqueue/builtin.h"
#include "ovs_patches/openqueue/compile.h"
#include "ovs_patches/switch_model/switch_node.h"

namespace rocelab {
namespace {

constexpr Bytes kLongest = 1098_B;
constexpr int kSenders = 8;

enum Program { kNone, kBuiltin, kOneQueue, kLongestQueueDrop, kSmallestFirst, kTwoOrders };

std::string text_of(std::int64_t program, const SwitchConfig& config) {
  const std::string one =
      "on every port as p {\n lossless = Queue(20MB);\n q = Queue(20MB);\n out = Port(100%, lossless, q);\n"
      " q.dropFirst = newest;\n select { packet.class == 3 -> lossless; else -> q; }\n}\n";
  switch (program) {
    case kBuiltin:
      return builtin_policy(config);
    case kLongestQueueDrop:
      return one + "b = Buffer(20MB, p[*].q);\nb.dropFrom = longest;\nb.congestion = tailDrop;\n";
    case kSmallestFirst:
      return "small(p1, p2) = p1.size < p2.size;\nlarge(p1, p2) = p1.size > p2.size;\n" + one +
             "p[*].q.procPrio = small;\np[*].q.dropFirst = large;\np[*].q.congestion = tailDrop;\n";
    case kTwoOrders:
      return "small(p1, p2) = p1.size < p2.size;\nlate(p1, p2) = p1.dscp > p2.dscp;\n" + one +
             "p[*].q.procPrio = small;\np[*].q.dropFirst = late;\np[*].q.congestion = tailDrop;\n";
    default:
      return one + "p[*].q.congestion = tailDrop;\n";
  }
}

void BM_StandingPolicy(benchmark::State& state) {
  SwitchConfig config;
  config.max_frame = kLongest;
  config.egress_limit = 20_MB;
  const std::vector<PortConfig> ports(kSenders + 1);
  PacketPool pool;
  NullTrace trace;
  SwitchNode node(config, ports, Rng(1), pool, trace);
  if (state.range(0) != kNone) {
    const CompiledPolicy policy =
        compile_policy({{{"bench.oq", text_of(state.range(0), config)}}, {}}, config, ports);
    for (const PolicyDiagnostic& diagnostic : policy.diagnostics)
      if (!diagnostic.warning) state.SkipWithError(to_text(diagnostic).c_str());
    RL_CHECK(policy.program != nullptr);
    node.set_policies({{Time::zero(), policy.program}});
  }
  Rng rng(2);
  std::uint64_t sent = 0, left = 0;
  Time next = Time::zero(), limit = Time::zero();
  const auto send = [&](Time due) {
    const auto in = static_cast<std::uint16_t>(sent++ % kSenders);
    const Bytes frame = 600_B + Bytes::from_count(static_cast<std::int64_t>(rng.below(499)));
    PacketRef packet = pool.make();
    packet->frame_length = static_cast<std::uint32_t>(frame.count());
    packet->payload_length = 512;
    packet->roce.dest = Qpn{4096u + in};
    const PortId outs[] = {PortId{kSenders}};
    node.deliver(PortId{in}, outs, std::move(packet), due);
    return wire_time(frame, 40_Gbps);
  };
  for (std::int64_t i = 0; i < state.range(1); ++i) send(next);
  for (auto _ : state) {
    limit = limit + 2_us;
    while (next < limit) next = next + send(next);
    node.run_until(limit,
                   [&](PortId, PacketRef packet, Time, Time) { left += packet->kind == PacketKind::kData; });
  }
  state.counters["per_hop"] = benchmark::Counter(static_cast<double>(left),
                                                 benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["hops"] = static_cast<double>(left);
}
void programs_and_depths(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"program", "depth"})->Iterations(20'000);
  for (const std::int64_t program :
       {kNone, kBuiltin, kOneQueue, kLongestQueueDrop, kSmallestFirst, kTwoOrders})
    for (const std::int64_t depth : {128, 4096}) bench->Args({program, depth});
}
BENCHMARK(BM_StandingPolicy)->Apply(programs_and_depths);

}  // namespace
}  // namespace rocelab

BENCHMARK_MAIN();
