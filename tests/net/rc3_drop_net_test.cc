// RC3's lower levels in a network whose first switch drops them (Mittal, 2.1.1: regular traffic does not
// suffer): what they do to all other frames.
#include <cstring>
#include <map>

#include "tests/net/rc3_scene.h"

namespace rocelab {
namespace {

// Lower levels find no place in it; class 3 and that of regular traffic are lossless.
SwitchConfig switch_without_lower_levels() {
  SwitchConfig config;
  config.egress_limit = 0_B;
  for (ClassConfig& c : config.classes) c.selection = Selection::kStrict;
  config.classes[5].lossless = true;
  return config;
}

// A switch sends the frames that it would have sent if none of a lower level had come to it, to the
// picosecond: with incast, pauses of the others' classes, and several flows of a host.
TEST(Rc3DropNetTest, SwitchesShowNothingOfLevelsThatTheyDropOnArrival) {
  std::uint64_t dropped = 0, pauses = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const NicConfig nic = rc3_nic(true);
    SwitchConfig switches = switch_without_lower_levels();
    switches.ingress_buffer = 70_KB;
    StarNet net(6, nic, switches);
    std::vector<Frame> into, out_of;
    net.on_departure = [&](std::size_t host, const Packet& packet, Time at, Time due) {
      into.push_back({host, packet, at, due});
    };
    net.on_delivery = [&](std::size_t port, const Packet& packet, Time due) {
      out_of.push_back({port, packet, {}, due});
    };
    for (int i = 0; i < 80; ++i) {
      const std::size_t src = rng.below(5), dst = rng.bernoulli(0.5) ? 5 : (src + 1 + rng.below(4)) % 5;
      const auto length = static_cast<std::uint32_t>(1 + rng.below(400 * kPacket));
      net.post(net.connect(src, dst, rng.bernoulli(0.3) ? kRegular << 2 : 0),
               rng.bernoulli(0.3) ? WrOpcode::kRead : WrOpcode::kWrite, length);
      net.run_until(net.now() + up_to(rng, 40_us));
    }
    net.run();
    for (std::size_t p = 0; p < 6; ++p) dropped += net.port(p).drops_egress_limit;

    PacketPool pool;
    NullTrace quiet;
    const auto again = StarNet::make_switch(6, nic, switches, pool, quiet);
    for (const Frame& f : into) {
      if (is_low(f.packet)) continue;
      PacketRef packet = pool.make();
      *packet = f.packet;
      const PortId outs[] = {PortId{f.packet.dst.value}};
      again->deliver(PortId{static_cast<std::uint16_t>(f.host)}, outs, std::move(packet), f.due);
    }
    std::map<std::size_t, std::vector<std::pair<Packet, Time>>> first, second;  // by port
    for (const Frame& f : out_of) first[f.host].emplace_back(f.packet, f.due);
    again->run_until(net.now(), [&](PortId p, PacketRef packet, Time, Time due) {
      second[p.value].emplace_back(*packet, due);
    });
    for (std::size_t p = 0; p < 6; ++p) {
      ASSERT_EQ(first[p].size(), second[p].size()) << "port " << p;
      for (std::size_t i = 0; i < first[p].size(); ++i) {
        ASSERT_EQ(first[p][i].second, second[p][i].second) << "port " << p << " frame " << i;
        ASSERT_EQ(identity(first[p][i].first), identity(second[p][i].first));
        ASSERT_FALSE(is_low(first[p][i].first));
        pauses += is_control(first[p][i].first.kind);
      }
    }
  }
  EXPECT_GT(dropped, 5'000u);
  EXPECT_GT(pauses, 100u);
}

struct Crossing {
  Packet packet;
  Time left, arrived;
};
struct Crossed {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<Crossing>> by_pair;  // of all but lower levels
  std::vector<std::vector<TraceRecord>> records;                                 // by node
  std::uint64_t low = 0;
  Time bystander_completed;  // the last message
};

constexpr std::size_t kAlone = 0, kMixed = 1, kBystander = 4;  // senders

// h0 sends by RC3 to h2; h1 to h3, and regular traffic beside it to h6; h4 to h5, without RC3. `rc3` says
// whether the loops send. Packets are full: a shorter one waits in the switch for a longer one ahead of it,
// unless there was a gap between them.
Crossed cross(bool rc3, std::uint64_t seed) {
  Rng rng(seed);
  const auto full = [&](std::uint64_t most) {
    return static_cast<std::uint32_t>(1 + rng.below(most)) * kPacket;
  };
  StarNet net(7, rc3_nic(true), switch_without_lower_levels());
  Crossed found;
  found.records.resize(8);
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> arrived;
  net.on_departure = [&](std::size_t host, const Packet& packet, Time at, Time) {
    if (is_low(packet))
      ++found.low;
    else
      found.by_pair[{host, packet.dst.value}].push_back({packet, at, Time::never()});
  };
  net.on_delivery = [&](std::size_t port, const Packet& packet, Time due) {
    const std::pair pair(std::size_t{packet.src.value}, port);
    found.by_pair[pair].at(arrived[pair]++).arrived = due;
  };
  net.on_record = [&](std::size_t node, const TraceRecord& r) { found.records[node].push_back(r); };
  const std::size_t regular = net.connect(kMixed, 6, kRegular << 2), other = net.connect(kBystander, 5);
  for (int i = 0; i < 60; ++i) {
    // Of queue pairs whose windows have not grown yet; the one before has mostly come to its end.
    for (const auto& [src, dst] : {std::pair(kAlone, 2), std::pair(kMixed, 3)})
      net.post(net.connect(src, dst), WrOpcode::kWrite, full(300), !rc3);
    net.post(other, WrOpcode::kWrite, full(90), true);
    for (int k = 0; k < 12; ++k) {
      net.post(regular, WrOpcode::kWrite, full(3));
      net.run_until(net.now() + 10_us + up_to(rng, 10_us));
    }
  }
  net.run();
  found.bystander_completed = net.flow(other).completed;
  for (std::size_t p = 0; p < 7; ++p) EXPECT_EQ(net.port(p).drops, net.port(p).drops_egress_limit);
  return found;
}

// I2 at the senders' port and nothing else: the same frames in the same order, each later by no more than the
// frame of a lower level that had begun, and by what the answers were late that made it leave; from there on
// they are as fast as ever. Hosts that send none see nothing of it.
TEST(Rc3DropNetTest, LevelsThatAreDroppedDelayTheOthersAtTheirHostByAFrameAtMost) {
  std::uint64_t low = 0, late = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    Crossed with = cross(true, seed), without = cross(false, seed);
    const Duration residual = wire_time(Bytes::from_count(kPacket + kHeaders), 40_Gbps);
    ASSERT_EQ(without.low, 0u);
    low += with.low;
    ASSERT_EQ(with.by_pair.size(), without.by_pair.size());
    for (auto& [pair, frames] : with.by_pair) {
      SCOPED_TRACE(testing::Message() << "from h" << pair.first << " to h" << pair.second);
      const std::vector<Crossing>& others = without.by_pair[pair];
      ASSERT_EQ(frames.size(), others.size());
      for (std::size_t i = 0; i < frames.size(); ++i) {
        ASSERT_EQ(identity(frames[i].packet), identity(others[i].packet)) << i;
        if (pair.second != kMixed) {  // whose port has answers of two
          ASSERT_EQ(frames[i].arrived - frames[i].left, others[i].arrived - others[i].left) << i;
        }
        if (pair.second == 6) {
          ASSERT_LE(frames[i].left, others[i].left + residual) << i << ": regular traffic";
          ASSERT_LE(others[i].left, frames[i].left + residual) << i << ": beside TCP's own frames";
        }
      }
    }
    const std::vector<Crossing>&sent = with.by_pair[{kAlone, 2}],
          &sent_without = without.by_pair[{kAlone, 2}];
    const std::vector<Crossing>&back = with.by_pair[{2, kAlone}],
          &back_without = without.by_pair[{2, kAlone}];
    Duration answers_late;
    for (std::size_t i = 0, answers = 0; i < sent.size(); ++i) {
      for (; answers < back.size() && back[answers].arrived <= sent[i].left; ++answers)
        answers_late = std::max(answers_late, back[answers].arrived - back_without[answers].arrived);
      const Duration later = sent[i].left - sent_without[i].left;
      ASSERT_GE(later, Duration{}) << i;
      ASSERT_LE(later, answers_late + residual) << i;
      late += later > Duration{};
    }
    for (const std::size_t node : {kBystander, std::size_t{5}}) {
      ASSERT_EQ(with.records[node].size(), without.records[node].size());
      ASSERT_EQ(std::memcmp(with.records[node].data(), without.records[node].data(),
                            with.records[node].size() * sizeof(TraceRecord)),
                0);
    }
    EXPECT_EQ(with.bystander_completed, without.bystander_completed);
  }
  EXPECT_GT(low, 10'000u);
  EXPECT_GT(late, 1'000u) << "the loop does send";
}

}  // namespace
}  // namespace rocelab
