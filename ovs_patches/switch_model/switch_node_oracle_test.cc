// SwitchNode against the plainest driver of a Switch that its contract allows: every frame is admitted,
// queued and pulled, and the next event is searched for among all. Departures, records and counters are the
// same, whatever short cuts the node takes.
#include <cstring>
#include <set>
#include <string>
#include <tuple>

#include "ovs_patches/switch_model/test_traffic.h"

namespace rocelab {
namespace {

using namespace switch_test;

// Arrivals by input port, then timers, then departures by port (docs/explanation/architecture.md).
struct PlainDriver {
  PlainDriver(const SwitchConfig& config, std::span<const PortConfig> ports, FrameOwner* owner)
      : model(config, ports, Rng(1), pool, trace, owner), frames(owner), free_at(ports.size()) {}

  struct Arrival {
    Time due;
    PortId in;
    std::vector<PortId> outs;
    PacketRef packet;
  };
  void deliver(PortId in, std::span<const PortId> outs, PacketRef packet, Time due) {
    arrivals.push_back({due, in, {outs.begin(), outs.end()}, std::move(packet)});
  }
  void arrive(Arrival& arrival) {
    if (!is_link_local(arrival.packet->kind))
      return model.on_packet(arrival.in, arrival.outs, std::move(arrival.packet), arrival.due);
    model.on_control(arrival.in, std::move(arrival.packet), arrival.due);
  }
  void depart(PortId port, Time now) {
    PacketRef packet = model.poll_transmit(port, now);
    if (!packet) return;
    Time& free = free_at[port.value];
    free = now + wire_time(packet->frame(), model.port(port).rate);
    sent.push_back({port,
                    now,
                    free + model.port(port).delay,
                    packet->kind,
                    packet->flow,
                    packet->roce.psn.value(),
                    packet->frame_length,
                    packet->ecn,
                    {}});
    if (frames != nullptr && packet->frame_slot != kNoFrame) frames->release(packet->frame_slot);
  }
  void run_until(Time limit) {
    std::stable_sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
      return std::tie(a.due, a.in) < std::tie(b.due, b.in);
    });
    Time now = Time::zero();
    for (std::size_t next = 0;;) {
      const Time arrival = next < arrivals.size() ? arrivals[next].due : Time::never();
      const Time timer = std::max(now, model.next_timeout());
      Time departure = Time::never();
      PortId first;
      for (std::uint16_t p = 0; p < model.ports(); ++p) {
        const Time when = std::max(now, free_at[p]);
        if (!model.has_more(PortId{p}) || when >= departure) continue;
        departure = when;
        first = PortId{p};
      }
      now = std::min({arrival, timer, departure});
      if (now >= limit) return;
      if (arrival == now)
        arrive(arrivals[next++]);
      else if (timer == now)
        model.on_timeout(now);
      else
        depart(first, now);
    }
  }

  PacketPool pool;
  TraceLog trace;
  Switch model;
  FrameOwner* frames;
  std::vector<Arrival> arrivals;
  std::vector<Time> free_at;
  std::vector<Departure> sent;
};

class SwitchNodeOracleTest : public ::testing::TestWithParam<std::tuple<const char*, double>> {};

TEST_P(SwitchNodeOracleTest, DeparturesRecordsAndCountersAreThoseOfThePlainestDriver) {
  const auto& [name, load] = GetParam();
  const SwitchConfig config = random_config(name);
  std::vector<PortConfig> ports(kPortCount);
  if (std::string(name).starts_with("escape"))
    for (PortConfig& each : ports) each.peer = PeerKind::kSwitch;
  const Time end = at(200_us);
  CountingOwner plain_owner, owner;
  PlainDriver plain(config, ports, &plain_owner);
  make_traffic(plain.pool, plain_owner, 21, 100_us, load,
               [&](PortId in, std::span<const PortId> outs, PacketRef packet, Time due) {
                 plain.deliver(in, outs, std::move(packet), due);
               });
  plain.run_until(end);
  Bench bench(config, ports, &owner);
  feed(bench, owner, 21, 100_us, load);
  std::set<std::pair<std::uint16_t, std::int64_t>> arrivals;
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

  ASSERT_EQ(bench.sent.size(), plain.sent.size());
  for (std::size_t i = 0; i < plain.sent.size(); ++i) {
    const Departure &a = bench.sent[i], &b = plain.sent[i];
    ASSERT_EQ(std::tie(a.port, a.time, a.due, a.kind, a.flow, a.psn, a.frame_length, a.ecn),
              std::tie(b.port, b.time, b.due, b.kind, b.flow, b.psn, b.frame_length, b.ecn))
        << "departure " << i << " at " << to_string(b.time);
  }
  const std::vector<TraceRecord>&records = bench.trace.records, &wanted = plain.trace.records;
  ASSERT_EQ(records.size(), wanted.size());
  EXPECT_EQ(std::memcmp(records.data(), wanted.data(), wanted.size() * sizeof(TraceRecord)), 0);
  for (int p = 0; p < kPortCount; ++p) {
    const SwitchPortCounters a = bench.node.model().counters(port(p), end),
                             b = plain.model.counters(port(p), end);
    EXPECT_EQ(std::memcmp(&a, &b, sizeof a), 0) << "counters of port " << p;
  }
  EXPECT_EQ(owner.references, plain_owner.references);
}

INSTANTIATE_TEST_SUITE_P(
    Switches, SwitchNodeOracleTest,
    ::testing::Combine(::testing::Values("plain", "voq", "pool", "lossy", "input_buffered", "rocc", "escape",
                                         "escape_extensions", "watchdog", "telemetry", "capfc",
                                         "pipeline_stop", "pipeline_skip", "rcp"),
                       ::testing::Values(0.05, 0.3, 0.8)),
    [](const auto& each) {
      return std::string(std::get<0>(each.param)) + "_" +
             std::to_string(static_cast<int>(std::get<1>(each.param) * 100));
    });

}  // namespace
}  // namespace rocelab
