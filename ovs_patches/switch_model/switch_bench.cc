// Nanoseconds per packet and hop of SwitchNode: admission, marking, queueing, scheduling, pauses and the
// order of events, without OVS. Each iteration is one window of 2 us at 40 Gb/s in which every port receives
// back-to-back frames of 1098 B at the given load.
#include <benchmark/benchmark.h>

#include <vector>

#include "base/wire/controls.h"
#include "ovs_patches/switch_model/mechanisms/capfc.h"
#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/mechanisms/p4qcn.h"
#include "ovs_patches/switch_model/mechanisms/qcn.h"
#include "ovs_patches/switch_model/mechanisms/rocc.h"
#include "ovs_patches/switch_model/mechanisms/slack.h"
#include "ovs_patches/switch_model/queue.h"
#include "ovs_patches/switch_model/switch_flow.h"
#include "ovs_patches/switch_model/switch_node.h"

namespace rocelab {
namespace {

constexpr Bytes kFrame = 1098_B;
constexpr Duration kWindow = 2_us;

// Where frame `n` of port `in` goes.
using Route = int (*)(int in, std::uint64_t n, int ports);
int permutation(int in, std::uint64_t, int ports) { return (in + 1) % ports; }
int spread(int in, std::uint64_t n, int ports) {
  return static_cast<int>((static_cast<std::uint64_t>(in) * 7 + n * 2654435761u) %
                          static_cast<std::uint64_t>(ports));
}

void run(benchmark::State& state, const SwitchConfig& config, Route route, double load) {
  const int ports = static_cast<int>(state.range(0));
  const std::vector<PortConfig> port_configs(static_cast<std::size_t>(ports));
  PacketPool pool;
  NullTrace trace;
  SwitchNode node(config, port_configs, Rng(1), pool, trace);
  const auto gap = Duration::from_ps(
      static_cast<std::int64_t>(static_cast<double>(wire_time(kFrame, 40_Gbps).ps()) / load));
  std::vector<Time> next(static_cast<std::size_t>(ports));
  for (int i = 0; i < ports; ++i) next[static_cast<std::size_t>(i)] = Time::from_ps(i * 1000);
  std::uint64_t frames = 0, left = 0;
  Time limit = Time::zero();
  for (auto _ : state) {
    limit = limit + kWindow;
    for (int in = 0; in < ports; ++in) {
      Time& due = next[static_cast<std::size_t>(in)];
      for (; due < limit; due = due + gap) {
        PacketRef packet = pool.make();
        packet->frame_length = static_cast<std::uint32_t>(kFrame.count());
        packet->roce.dscp = 24;
        const PortId outs[] = {PortId{static_cast<std::uint16_t>(route(in, frames++, ports))}};
        node.deliver(PortId{static_cast<std::uint16_t>(in)}, outs, std::move(packet), due);
      }
    }
    node.run_until(limit,
                   [&](PortId, PacketRef packet, Time, Time) { left += packet->kind != kind_of<PfcFrame>; });
  }
  state.counters["per_hop"] = benchmark::Counter(static_cast<double>(left),
                                                 benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["queued"] = static_cast<double>(node.model().queued_frames());
}

SwitchConfig base_config() {
  SwitchConfig config;
  config.max_frame = kFrame;
  return config;
}

void BM_PermutationLossless(benchmark::State& state) { run(state, base_config(), permutation, 0.99); }
void BM_SpreadLossless(benchmark::State& state) { run(state, base_config(), spread, 0.7); }
void BM_SpreadVoqEcn(benchmark::State& state) {
  SwitchConfig config = base_config();
  config.queue_order = QueueOrder::kRoundRobin;
  config.classes[3].ecn.enabled = true;
  run(state, config, spread, 0.7);
}
// Eight flows into one port whose queue stands at about Q_ref: PFC alone, what RoCC costs where it works, and
// what Escape costs where nothing is blocked, CaPFC above its XOFF, and P4QCN and QCN above their thresholds.
// RoCC's period of 40 us looks through 137 frames and makes eight CNPs, 182 frames leave meanwhile. Compare
// instructions by callgrind: tests/python/test_switch_instructions.py.
enum Mechanism { kPfcAlone, kRocc, kEscape, kCapfc, kP4qcn, kQcn };
void BM_StandingQueue(benchmark::State& state) {
  SwitchConfig config = base_config();
  config.ingress_buffer = 1_MB;
  config.mechanisms.of<RoccMechanism>().enabled = state.range(0) == kRocc;
  config.mechanisms.of<EscapeMechanism>().enabled = state.range(0) == kEscape;
  if (state.range(0) == kCapfc) {
    CapfcParams& capfc = config.mechanisms.of<CapfcMechanism>();
    capfc.enabled = true;
    capfc.xoff = 100_KB;
    capfc.xon = capfc.warn = 80_KB;
  }
  config.mechanisms.of<P4qcnMechanism>().enabled = state.range(0) == kP4qcn;
  config.mechanisms.of<QcnMechanism>().enabled = state.range(0) == kQcn;
  constexpr int kSenders = 8;
  std::vector<PortConfig> ports(kSenders + 1);
  PacketPool pool;
  NullTrace trace;
  SwitchNode node(config, ports, Rng(1), pool, trace);
  const Duration gap = wire_time(kFrame, 40_Gbps);
  std::uint64_t sent = 0, left = 0;
  Time next = Time::zero(), limit = Time::zero();
  const auto send = [&](Time due) {
    const auto in = static_cast<std::uint16_t>(sent++ % kSenders);
    PacketRef packet = pool.make();
    packet->frame_length = static_cast<std::uint32_t>(kFrame.count());
    packet->payload_length = 1024;
    packet->roce.dscp = 24;
    packet->src = NodeId{in};
    packet->dst = NodeId{kSenders};
    packet->roce.dest = Qpn{4096u + in};
    const PortId outs[] = {PortId{kSenders}};
    node.deliver(PortId{in}, outs, std::move(packet), due);
  };
  for (int i = 0; i < 137; ++i) send(next);  // 150 KB
  for (auto _ : state) {
    limit = limit + kWindow;
    for (; next < limit; next = next + gap) send(next);
    node.run_until(limit,
                   [&](PortId, PacketRef packet, Time, Time) { left += packet->kind == PacketKind::kData; });
  }
  state.counters["per_hop"] = benchmark::Counter(static_cast<double>(left),
                                                 benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["hops"] = static_cast<double>(left);
}
BENCHMARK(BM_StandingQueue)->DenseRange(kPfcAlone, kQcn)->Iterations(5000);

// A whole hop out of a lossy queue in which so many frames wait: first in, first out, without slack and with
// it, and by LSTF. Slacks are drawn so that a frame goes before or behind any of the others.
enum Slacks { kNoSlack, kKeepsSlack, kLeastSlackFirst };
void BM_SlackHop(benchmark::State& state) {
  SwitchConfig config = base_config();
  config.pfc.enabled = false;
  config.egress_limit = 1'000_MB;
  config.mechanisms.of<SlackMechanism>().enabled = state.range(0) != kNoSlack;
  if (state.range(0) == kLeastSlackFirst) config.classes[3].order = QueueOrder::kRanked;
  constexpr std::uint16_t kSenders = 8;
  std::vector<PortConfig> ports(kSenders + 1);
  PacketPool pool;
  NullTrace trace;
  SwitchNode node(config, ports, Rng(1), pool, trace);
  Rng rng(2);
  const Duration gap = wire_time(kFrame, 40_Gbps);
  const auto most = static_cast<std::uint64_t>(2 * state.range(1) * gap.ps());
  std::uint64_t sent = 0, left = 0;
  Time next = Time::zero(), limit = Time::zero();
  const auto send = [&](Time due) {
    const auto in = static_cast<std::uint16_t>(sent++ % kSenders);
    PacketRef packet = pool.make();
    packet->frame_length = static_cast<std::uint32_t>(kFrame.count());
    packet->roce.dscp = 24;
    const auto slack = static_cast<std::int64_t>(rng.below(most));
    if (state.range(0) != kNoSlack) PacketPool::put_slack(*packet, {slack, slack, 0});
    const PortId outs[] = {PortId{kSenders}};
    node.deliver(PortId{in}, outs, std::move(packet), due);
  };
  for (std::int64_t i = 0; i < state.range(1); ++i) send(next);
  for (auto _ : state) {
    limit = limit + kWindow;
    for (; next < limit; next = next + gap) send(next);
    node.run_until(limit, [&](PortId, PacketRef, Time, Time) { ++left; });
  }
  state.counters["per_hop"] = benchmark::Counter(static_cast<double>(left),
                                                 benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["hops"] = static_cast<double>(left);
  state.counters["queued"] = static_cast<double>(node.model().queued_frames());
}
BENCHMARK(BM_SlackHop)
    ->ArgNames({"slack", "depth"})
    ->ArgsProduct({{kNoSlack, kKeepsSlack, kLeastSlackFirst}, {1'000, 20'000}})
    ->Iterations(20'000);

// Extraction under load: so many frames of a blocked flow wait, behind them frames of another come in and are
// taken out.
void BM_Extract(benchmark::State& state) {
  PacketPool pool;  // outlives the queues
  EgressQueues queues(1, QueueOrder::kFifo);
  const auto push = [&](std::uint32_t flow) {
    PacketRef packet = pool.make();
    packet->frame_length = static_cast<std::uint32_t>(kFrame.count());
    packet->roce.dscp = 24;
    packet->roce.dest = Qpn{flow};
    queues.push(PortId{0}, Tc{3}, {std::move(packet), PortId{0}});
  };
  for (std::int64_t i = 0; i < state.range(0); ++i) push(0);
  std::uint64_t taken = 0;
  for (auto _ : state) {
    push(1);
    taken += queues.extract(PortId{0}, Tc{3}, SwitchFlow{{}, {}, Qpn{1}, {}}.key()).has_value();
  }
  state.counters["per_hop"] = benchmark::Counter(static_cast<double>(taken),
                                                 benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["hops"] = static_cast<double>(taken);
}
BENCHMARK(BM_Extract)->Arg(16)->Arg(128)->Arg(1024)->Iterations(20000);
// One frame in, one out, of a queue in which so many wait, by order (QueueOrder): what a rank costs as the
// queue grows. With FullRule::kPushOutLast a queue can also find its last frame.
void BM_Order(benchmark::State& state) {
  constexpr std::uint32_t kFlows = 64;
  PacketPool pool;  // outlives the queues
  EgressQueues queues(1, QueueOrder::kFifo);
  queues.set_rules(Tc{0}, {static_cast<QueueOrder>(state.range(0)), static_cast<FullRule>(state.range(1))},
                   Rng(1));
  EgressQueues::Queue& queue = queues.at(PortId{0}, Tc{0});
  Rng rng(2);
  const auto push = [&] {
    PacketRef packet = pool.make();
    packet->frame_length = static_cast<std::uint32_t>(kFrame.count());
    packet->roce.dest = Qpn{static_cast<std::uint32_t>(rng.below(kFlows))};
    queues.push(queue, PortId{0}, kNoShare, kFrame, std::move(packet),
                static_cast<std::int64_t>(rng.below(64)));
  };
  for (std::int64_t i = 0; i < state.range(2); ++i) push();
  std::uint64_t left = 0;
  for (auto _ : state) {
    push();
    left += queues.pop(queue).packet->frame_length > 0;
  }
  state.counters["per_hop"] = benchmark::Counter(static_cast<double>(left),
                                                 benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["hops"] = static_cast<double>(left);
}
void orders_and_depths(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"order", "full", "depth"})->Iterations(500'000);
  for (const QueueOrder order :
       {QueueOrder::kFifo, QueueOrder::kLifo, QueueOrder::kRandom, QueueOrder::kFair, QueueOrder::kRanked,
        QueueOrder::kLevels, QueueOrder::kRankedFlows, QueueOrder::kSpPifo})
    for (const FullRule full : {FullRule::kRefuse, FullRule::kPushOutLast})
      for (const std::int64_t depth : {16, 128, 1024, 16384})
        bench->Args({static_cast<std::int64_t>(order), static_cast<std::int64_t>(full), depth});
}
BENCHMARK(BM_Order)->Apply(orders_and_depths);

BENCHMARK(BM_PermutationLossless)->Arg(8)->Arg(64)->Arg(256);
BENCHMARK(BM_SpreadLossless)->Arg(8)->Arg(64)->Arg(256);
BENCHMARK(BM_SpreadVoqEcn)->Arg(8)->Arg(64);

}  // namespace
}  // namespace rocelab

BENCHMARK_MAIN();
