// Loop Breaker in the switch: rings that deadlock are broken by one master at a time, and what is only slow
// loses nothing.
#include <cstring>
#include <limits>
#include <string>

#include "base/wire/controls.h"
#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/mechanisms/loop_breaker.h"
#include "ovs_patches/switch_model/test_ring.h"

namespace rocelab {
namespace {

using namespace switch_test;

constexpr Duration kInterval = 100_us;

SwitchConfig breaking(LoopBreakerDrop drop = LoopBreakerDrop::kQueue, Bytes buffer = 120_KB) {
  SwitchConfig config = config_of(kOff, buffer);
  config.mechanisms.of<LoopBreakerMechanism>() = {
      .enabled = true, .drop = drop, .interval = kInterval, .period = 20_us};
  return config;
}
template <class Net>
std::uint64_t accounted(const Net& net) {
  return net.received() + net.total(&SwitchPortCounters::drops);
}
template <class Net>
void expect_nothing_left(const Net& net, const std::string& what) {
  EXPECT_EQ(net.net.pool.in_use(), 0u) << what;
  for (std::size_t i = 0; i < net.net.nodes.size(); ++i) {
    EXPECT_EQ(net.net.nodes[i]->model().queued_frames(), 0u) << what;
    for (int p = 0; p < net.ports(i); ++p)
      EXPECT_EQ(net.net.nodes[i]->model().ingress_bytes(port(p), tc(3)), 0_B) << what;
  }
}
std::vector<Time> breaks(const TraceLog& trace) {
  std::vector<Time> times;
  for (const TraceRecord& r : trace.records)
    if (r.kind == TraceKind::kLoop) times.push_back(r.time);
  std::ranges::sort(times);
  return times;
}

TEST(SwitchLoopBreakerTest, ARingThatDeadlocksGoesOnAndWhatIsLostIsCounted) {
  for (const LoopBreakerDrop drop : {LoopBreakerDrop::kQueue, LoopBreakerDrop::kToXon}) {
    RingNet ring(breaking(drop), 3, 2, 5000);
    ring.net.run(2_us, at(2_s));
    const std::string what = drop == LoopBreakerDrop::kQueue ? "queue" : "to-xon";
    EXPECT_EQ(accounted(ring), 15'000u) << what;
    const std::uint64_t drops = ring.total(&SwitchPortCounters::drops_loop_breaker);
    EXPECT_EQ(drops, ring.total(&SwitchPortCounters::drops)) << what;
    EXPECT_GT(drops, 0u) << what;
    EXPECT_EQ(ring.total(&SwitchPortCounters::lossless_drops), 0u) << what << ": they are deliberate";
    EXPECT_EQ(static_cast<int>(ring.total(&SwitchPortCounters::loops_broken)),
              ring.net.trace.count(TraceKind::kLoop))
        << what;
    for (const TestHost& host : ring.net.hosts) {
      EXPECT_EQ(host.overtaken, 0u) << what;
      EXPECT_EQ(host.tokens, 0u) << what << ": no message goes to a host";
    }
    expect_nothing_left(ring, what);
  }
}

// One master for a deadlock: the next can be found an interval later at the earliest.
TEST(SwitchLoopBreakerTest, EachDeadlockHasOneMaster) {
  RingNet ring(breaking(), 5, 2, 3000);
  ring.net.run(2_us, at(2_s));
  const std::vector<Time> times = breaks(ring.net.trace);
  ASSERT_GT(times.size(), 1u);
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_GT(times[i] - times[i - 1], kInterval) << i;
  for (const TraceRecord& r : ring.net.trace.records) {
    if (r.kind != TraceKind::kLoop) continue;
    EXPECT_EQ(r.port, 1u) << "the link round the ring";
    EXPECT_EQ(r.psn, 5u) << "over all its links";
    EXPECT_EQ(r.peer, 2u) << "for what came from the one before";
  }
}

TEST(SwitchLoopBreakerTest, ToXonDropsTheLeastThatLetsTheLoopMove) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const LoopBreakerDrop drop : {LoopBreakerDrop::kQueue, LoopBreakerDrop::kToXon}) {
    RingNet ring(breaking(drop), 3, 2, 5000);
    for (int us = 100; ring.total(&SwitchPortCounters::loops_broken) == 0; us += 10)
      ring.net.run(2_us, at(us * 1_us));
    const std::uint64_t drops = ring.total(&SwitchPortCounters::drops);
    EXPECT_LT(drops, least);
    EXPECT_GT(drops, 0u);
    least = drops;
  }
  EXPECT_LT(least, 60u) << "what came in after XOFF, two frames, and as many from the host between them";
}

// Without a deadlock it does nothing, to the last record.
TEST(SwitchLoopBreakerTest, WithoutPausesNothingIsDifferent) {
  std::vector<TraceRecord> records[2];
  for (const bool on : {false, true}) {
    RingNet ring(on ? breaking(LoopBreakerDrop::kQueue, 900_KB) : config_of(kOff, 900_KB), 3, 1, 2000);
    ring.net.run(2_us);
    EXPECT_EQ(ring.total(&SwitchPortCounters::clcms_sent), 0u);
    records[on] = ring.net.trace.records;
  }
  ASSERT_EQ(records[0].size(), records[1].size());
  for (std::size_t i = 0; i < records[0].size(); ++i)
    ASSERT_EQ(std::memcmp(&records[0][i], &records[1][i], sizeof(TraceRecord)), 0) << i;
}

// A line of switches before a host with a slow link: every queue on the way is paused for longer than the
// interval, and waits for nobody that waits for it.
TEST(SwitchLoopBreakerTest, QueuesBeforeASlowHostAreSuspectedAndLoseNothing) {
  TestNet net;
  constexpr int kSwitches = 4;
  for (int i = 0; i < kSwitches; ++i) {
    std::vector<PortConfig> ports(3);
    ports[1].peer = ports[2].peer = PeerKind::kSwitch;
    if (i == kSwitches - 1) ports[0].rate = 20_Mbps;  // a frame takes 450 us
    net.add_switch(breaking(), ports);
  }
  for (int i = 0; i + 1 < kSwitches; ++i) net.connect(i, 1, i + 1, 2);
  for (int i = 0; i < kSwitches; ++i) {
    const int host = net.add_host(i, 0);
    for (int node = 0; node < kSwitches; ++node) net.route(node, host, node == i ? 0 : node < i ? 1 : 2);
  }
  for (const int sender : {0, 1}) {
    net.hosts[static_cast<std::size_t>(sender)].to = kSwitches - 1;
    net.hosts[static_cast<std::size_t>(sender)].frames = 400;
  }
  net.run(2_us, at(2_s));
  std::uint64_t sent = 0, broken = 0, drops = 0;
  for (int node = 0; node < kSwitches; ++node)
    for (int p = 0; p < 3; ++p) {
      sent += net.counters(node, p).clcms_sent;
      broken += net.counters(node, p).loops_broken;
      drops += net.counters(node, p).drops;
    }
  EXPECT_GT(sent, 100u) << "they were suspected";
  EXPECT_EQ(broken, 0u);
  EXPECT_EQ(drops, 0u);
  EXPECT_EQ(net.hosts.back().received, 800u);
  EXPECT_EQ(net.pool.in_use(), 0u);
}

TEST(SwitchLoopBreakerTest, RandomRingsWithFaultyMessagesEnd) {
  std::uint64_t faults = 0, broken = 0;
  for (int round = 0; round < 20; ++round) {
    Rng rng = Rng(77).fork(std::to_string(round));
    const int size = 3 + static_cast<int>(rng.below(4)), distance = 2;
    SwitchConfig config = breaking(rng.bernoulli(0.5) ? LoopBreakerDrop::kQueue : LoopBreakerDrop::kToXon,
                                   Bytes::from_count(60'000 + 1000 * static_cast<int>(rng.below(60))));
    config.queue_order = rng.bernoulli(0.5) ? QueueOrder::kRoundRobin : QueueOrder::kFifo;
    const std::string what = "round " + std::to_string(round) + ": " + std::to_string(size) + " switches";
    RingNet ring(config, size, distance, 1500, rng.fork("ring"));
    Rng dice = rng.fork("faults");
    ring.net.fault = [&](const Packet&) -> std::vector<Duration> {  // lost, doubled, late
      const std::uint64_t kind = dice.below(10);
      faults += kind < 5;
      const Duration late = static_cast<int>(dice.below(300)) * 1_us;
      if (kind < 3) return {};
      if (kind == 3) return {Duration{}, late};
      return {kind == 4 ? late : Duration{}};
    };
    ring.net.run(2_us, at(5_s));
    EXPECT_EQ(accounted(ring), 1500u * static_cast<unsigned>(size)) << what;
    EXPECT_EQ(ring.total(&SwitchPortCounters::lossless_drops), 0u) << what;
    for (const TestHost& host : ring.net.hosts) EXPECT_EQ(host.overtaken, 0u) << what;
    expect_nothing_left(ring, what);
    broken += ring.total(&SwitchPortCounters::loops_broken);
  }
  EXPECT_GT(faults, 50u);
  EXPECT_GT(broken, 20u);
}

// A switch in the middle: port 0 a host's, ports 1 to 3 those of switches, port 2 paused for longer than the
// interval with frames from port 1, and port 1 asks for a pause.
struct Middle {
  explicit Middle(LoopBreakerDrop drop = LoopBreakerDrop::kQueue) : bench(breaking(drop), peers()) {
    bench.send_pfc(2, at(0_us), 3, 0xffff);
    for (int i = 0; i < 40; ++i) bench.send(i % 4 == 0 ? 3 : 1, 2, at(1_us + i * 1_us), 1098_B);
    bench.node.request_pause(PauseOwner::kOperator, port(1), tc(3), true, at(0_us));
    bench.run_until(at(101_us));
  }
  static std::vector<PortConfig> peers() {
    std::vector<PortConfig> ports(4);
    for (int p = 1; p < 4; ++p) ports[static_cast<std::size_t>(p)].peer = PeerKind::kSwitch;
    return ports;
  }
  std::vector<Clcm> messages(int p) const {
    std::vector<Clcm> found;
    for (const Departure& d : bench.sent_by(p))
      if (d.kind == kind_of<Clcm>) found.push_back(d.clcm);
    return found;
  }
  Bench bench;
};

TEST(SwitchLoopBreakerTest, AMessageLeavesThePausedPortOncePerPeriod) {
  Middle m;
  ASSERT_TRUE(m.messages(2).empty()) << "the queue was empty when the pause began: a second interval";
  m.bench.run_until(at(200_us) + Duration::from_ps(1));
  ASSERT_EQ(m.messages(2).size(), 1u);
  m.bench.run_until(at(261_us));
  ASSERT_EQ(m.messages(2).size(), 4u);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const Clcm want{tc(3), 1, i, m.messages(2)[0].id};
    EXPECT_EQ(m.messages(2)[i], want) << to_string(m.messages(2)[i]);
  }
  EXPECT_EQ(m.bench.counters(2).clcms_sent, 4u);
  m.bench.send_pfc(2, at(262_us), 3, 0);
  m.bench.run_until(at(2_ms));
  EXPECT_EQ(m.messages(2).size(), 4u) << "it may send again";
  EXPECT_EQ(m.bench.counters(2).drops, 0u);
}

TEST(SwitchLoopBreakerTest, OnlyWhatComesBackFromWhereItsFramesCameMakesAMaster) {
  Middle m;
  m.bench.run_until(at(201_us));
  Clcm own = m.messages(2).at(0);
  own.hops = 3;
  m.bench.send_clcm(0, at(202_us), own);  // hosts do not speak
  m.bench.send_clcm(3, at(203_us), own);  // asks for no pause: its peer does not wait
  m.bench.run_until(at(205_us));
  EXPECT_EQ(m.bench.counters(2).loops_broken, 0u);
  EXPECT_EQ(m.bench.counters(0).clcms_ignored, 1u);
  EXPECT_EQ(m.bench.counters(3).clcms_ignored, 1u);
  m.bench.send_clcm(1, at(206_us), own);
  m.bench.run_until(at(207_us));
  EXPECT_EQ(m.bench.counters(2).loops_broken, 1u);
  EXPECT_EQ(m.bench.counters(2).drops_loop_breaker, 40u) << "all that waited there";
  EXPECT_EQ(m.bench.node.model().ingress_bytes(port(1), tc(3)), 0_B);
  const TraceRecord& loop = m.bench.trace.only(TraceKind::kLoop);
  EXPECT_EQ(loop.time, at(206_us));
  EXPECT_EQ(loop.bytes, 40u * 1098);
  m.bench.send_clcm(1, at(208_us), own);
  m.bench.run_until(at(209_us));
  EXPECT_EQ(m.bench.counters(2).loops_broken, 1u) << "it is not suspected any more";
}

TEST(SwitchLoopBreakerTest, OthersMessagesGoOnToTheQueueTheyWaitForAndToNoOther) {
  Middle m;
  m.bench.run_until(at(201_us));
  const Clcm own = m.messages(2).at(0);
  m.bench.send_clcm(1, at(202_us), {tc(3), 4, 9, own.id + 1});
  m.bench.send_clcm(1, at(203_us), {tc(3), 4, 9, own.id - 1});
  m.bench.send_clcm(1, at(204_us), {tc(4), 4, 9, own.id + 2});  // not a lossless class
  m.bench.run_until(at(210_us));
  ASSERT_EQ(m.messages(2).size(), 2u);
  const Clcm want{tc(3), 5, 9, own.id + 1};
  EXPECT_EQ(m.messages(2)[1], want);
  EXPECT_TRUE(m.messages(3).empty() && m.messages(1).empty() && m.messages(0).empty());
  EXPECT_EQ(m.bench.counters(1).clcms_ignored, 2u);
}

// From a peer that nobody vouches for: any class, hops, round and identifier, at line rate. What waits to be
// passed on is bounded, and nothing is dropped.
TEST(SwitchLoopBreakerTest, AFloodOfForgedMessagesIsBounded) {
  Middle m;
  m.bench.run_until(at(201_us));
  const std::uint64_t own = m.messages(2).at(0).id;
  Rng dice(3);
  const auto often = [&](int usual, int below) {
    return dice.bernoulli(0.8) ? usual : static_cast<int>(dice.below(static_cast<std::uint64_t>(below)));
  };
  for (int i = 0; i < 20'000; ++i)
    m.bench.send_clcm(often(1, 4), at(201_us) + i * 1_ns,
                      {tc(often(3, 8)), static_cast<std::uint16_t>(dice.below(250)),
                       static_cast<std::uint32_t>(dice.next()),
                       dice.bernoulli(0.5) ? own + 1 + static_cast<std::uint64_t>(i) : dice.next()});
  m.bench.run_until(at(500_us));
  EXPECT_LT(m.bench.pool.in_use(), 40u + 64u + 1u);
  EXPECT_EQ(m.bench.counters(2).loops_broken, 0u);
  EXPECT_EQ(m.bench.counters(2).drops, 0u);
  EXPECT_GT(m.bench.counters(2).clcms_ignored, 0u) << "more came than can leave";
}

TEST(SwitchLoopBreakerTest, BadSettingsAreNamed) {
  const std::vector<PortConfig> ports(1);
  const auto problem = [&](auto&& change) {
    SwitchConfig config = breaking();
    change(config);
    return problem_of(config, ports);
  };
  EXPECT_EQ(problem([](SwitchConfig&) {}), "");
  EXPECT_NE(problem([](SwitchConfig& c) { c.pfc.enabled = false; }).find("needs PFC"), std::string::npos);
  EXPECT_NE(
      problem([](SwitchConfig& c) { c.mechanisms.of<EscapeMechanism>().enabled = true; }).find("one of them"),
      std::string::npos);
  for (const bool interval : {true, false})
    EXPECT_EQ(problem([&](SwitchConfig& c) {
                LoopBreakerParams& params = c.mechanisms.of<LoopBreakerMechanism>();
                (interval ? params.interval : params.period) = Duration::from_ps(-1);
              }),
              std::string("switch.loop_breaker.") + (interval ? "interval" : "period") + " is out of bounds");
}

}  // namespace
}  // namespace rocelab
