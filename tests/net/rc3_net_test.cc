// RC3 in a network (Mittal, 2.1.1: regular traffic does not suffer): what its lower levels do to all other
// frames where they are dropped at their first port, or held at their hosts, and how long a message takes
// that is alone.
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "base/wire/opcode.h"
#include "base/wire/pfc.h"
#include "irn_provider/cc/aimd.h"
#include "tests/net/star_net.h"

namespace rocelab {
namespace {

constexpr std::uint8_t kPrimary = 26, kRegular = 46;  // DSCPs: of RC3's primary, and of a class above it
constexpr std::uint32_t kPacket = 1024, kHeaders = 74, kAck = 62;
constexpr Time kStart = Time::zero() + 1_ms;

NicConfig nic_config(bool rc3, std::uint32_t reach = 1'024) {
  NicConfig config;
  config.mode = TransportMode::kIrn;
  config.active_mtu = kPacket;
  config.irn = {.rto_high = 10_ms, .bdp_cap = 0, .tcp = true, .bitmap_packets = reach};
  if (rc3) config.rc3 = {4, {config.roce_dscp, 16, 8, 0}, {4, 16, 64, 0}};
  AimdParams& aimd = config.cc.use<Aimd>();
  aimd.initial_window = 4, aimd.slow_start = true;
  return config;
}

SwitchConfig rc3_switch(Bytes port_buffer) {
  SwitchConfig config;
  config.pfc.enabled = false;
  config.port_buffer = config.egress_limit = port_buffer;
  config.port_rule = PortRule::kPushOutLower;
  for (ClassConfig& c : config.classes) c.selection = Selection::kStrict, c.lossless = false;
  return config;
}

// Lower levels find no place in it; class 3 and that of regular traffic are lossless.
SwitchConfig switch_without_lower_levels() {
  SwitchConfig config;
  config.egress_limit = 0_B;
  for (ClassConfig& c : config.classes) c.selection = Selection::kStrict;
  config.classes[5].lossless = true;
  return config;
}

bool is_low(const Packet& packet) { return !is_control(packet.kind) && packet.roce.dscp < kPrimary; }

Duration up_to(Rng& rng, Duration most) {
  return Duration::from_ps(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most.ps()))));
}

// --- a message that is alone

struct Alone {
  std::vector<std::uint32_t> sent;  // PSNs in the order in which they left first
  Duration placed, completed;       // since the post
};

Alone alone(const NicConfig& nic, const std::vector<std::uint32_t>& lengths) {
  StarNet net(2, nic, rc3_switch(100_MB));
  Alone found;
  std::set<std::uint32_t> left;
  net.on_departure = [&](std::size_t host, const Packet& packet, Time, Time) {
    const std::uint32_t psn = (packet.roce.psn.value() - 0xfffff0) & Psn::kMask;
    if (host == 0 && left.insert(psn).second) found.sent.push_back(psn);
  };
  net.on_record = [&](std::size_t node, const TraceRecord& r) {
    if (node == 1 && r.kind == TraceKind::kPlaced) found.placed = r.time - kStart;
  };
  net.run_until(kStart);
  const std::size_t flow = net.connect(0, 1);
  for (const std::uint32_t length : lengths) net.post(flow, WrOpcode::kWrite, length);
  net.run();
  found.completed = net.flow(flow).completed - kStart;
  EXPECT_EQ(net.counters(0).retransmitted_packets + net.counters(0).rto_high_timeouts, 0u);
  return found;
}

// Its frames one behind the other over the first link, the longest one over the second, two delays: of a
// short last packet the second link has made up for before the message is over, or waits for the one before
// it.
Duration line(const NicConfig& nic, const std::vector<std::uint32_t>& lengths) {
  Duration sum, longest;
  for (std::uint32_t length : lengths)
    for (std::uint32_t left = length; left > 0; left -= std::min(left, kPacket)) {
      const std::uint32_t payload = (std::min(left, kPacket) + 3) / 4 * 4;
      const Duration wire = wire_time(Bytes::from_count(payload + kHeaders), nic.link_rate);
      sum = sum + wire, longest = std::max(longest, wire);
    }
  return sum + longest + nic.link_delay * 2;
}

Duration answered(const NicConfig& nic) {
  return (wire_time(Bytes::from_count(kAck), nic.link_rate) + nic.link_delay) * 2;
}

// To the picosecond, whether a round trip holds all of it or not, and though its last packet is a short one.
TEST(Rc3NetTest, AloneItTakesWhatTheLineTakes) {
  for (const std::uint32_t packets : {1u, 4u, 5u, 66u, 2'107u, 20'000u})
    for (const std::uint32_t last : {kPacket, 501u})
      for (const Duration delay : {2_us, 3_ms}) {
        SCOPED_TRACE(testing::Message() << packets << " packets, the last of " << last << " bytes, links of "
                                        << to_string(delay));
        NicConfig nic = nic_config(true, 32'768);
        nic.link_delay = delay, nic.irn.rto_high = 1_s;
        const std::uint32_t length = (packets - 1) * kPacket + last;
        const Alone found = alone(nic, {length});
        EXPECT_EQ(found.placed, line(nic, {length}));
        EXPECT_EQ(found.completed, found.placed + answered(nic));
        if (packets == 1) continue;
        ASSERT_EQ(found.sent.size(), packets);
        if (delay == 2_us) continue;  // TCP's later windows come in between
        for (std::uint32_t i = 0; i < packets; ++i)
          ASSERT_EQ(found.sent[i], i < 4 ? i : packets + 3 - i) << "the loop sends what TCP's window leaves";
      }
}

// Levels of 4, 16 and the other packets, of each message; a round trip holds them all.
TEST(Rc3NetTest, SeveralMessagesTakeWhatTheLineTakes) {
  NicConfig nic = nic_config(true, 32'768);
  nic.link_delay = 3_ms, nic.irn.rto_high = 1_s;
  const std::vector<std::uint32_t> lengths{66 * kPacket, 5 * kPacket - 300, 2'107 * kPacket};
  const Alone found = alone(nic, lengths);
  EXPECT_EQ(found.placed, line(nic, lengths));
  EXPECT_EQ(found.completed, found.placed + answered(nic));
  std::vector<std::uint32_t> order{0, 1, 2, 3};
  const auto down = [&](std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t psn = from + 1; psn-- > to;) order.push_back(psn);
  };
  down(65, 62), down(70, 67), down(2'177, 2'174);  // level 1
  down(61, 46), down(66, 66), down(2'173, 2'158);  // level 2
  down(45, 4), down(2'157, 71);                    // level 3
  EXPECT_EQ(found.sent, order);
}

// --- lower levels that the first switch drops

struct Frame {
  std::size_t host;  // from, or to
  Packet packet;
  Time at, due;
};
// What makes a frame the same in two runs, but for the time.
auto identity(const Packet& p) {
  return std::tuple(p.kind, p.src.value, p.dst.value, p.flow, p.roce.psn.value(), p.roce.opcode,
                    p.frame_length, p.roce.dscp, p.ecn, p.retransmission);
}

// What a switch sends is what it would if no frame of a lower level had come to it, to the picosecond: with
// incast, pauses of the others' classes, and several flows of a host.
TEST(Rc3NetTest, SwitchesShowNothingOfLevelsThatTheyDropOnArrival) {
  std::uint64_t dropped = 0, pauses = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const NicConfig nic = nic_config(true);
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
  StarNet net(7, nic_config(true), switch_without_lower_levels());
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
TEST(Rc3NetTest, LevelsThatAreDroppedDelayTheOthersAtTheirHostByAFrameAtMost) {
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

// --- lower levels that are held at their hosts

struct Held {
  std::vector<std::vector<TraceRecord>> records;      // by node
  std::map<std::size_t, std::vector<Frame>> arrived;  // by host
  std::vector<Time> completed;                        // by flow
  std::uint64_t drops = 0, retransmitted = 0, low = 0;
};

// Flows between all hosts, of both classes; `loops`: whether the second loops have something to send.
Held hold(const NicConfig& nic, const SwitchConfig& switches, std::uint64_t seed, bool reads, bool loops) {
  constexpr std::size_t kHosts = 5, kFlows = 16;
  Rng rng(seed);
  StarNet net(kHosts, nic, switches);
  Held found;
  found.records.resize(kHosts + 1);
  net.on_record = [&](std::size_t node, const TraceRecord& r) { found.records[node].push_back(r); };
  net.on_delivery = [&](std::size_t port, const Packet& packet, Time due) {
    found.arrived[port].push_back({port, packet, {}, due});
  };
  for (std::size_t f = 0; f < kFlows; ++f) {
    const std::size_t src = rng.below(kHosts), dst = (src + 1 + rng.below(kHosts - 1)) % kHosts;
    net.connect(src, rng.bernoulli(0.5) && src != 4 ? 4 : dst, rng.bernoulli(0.3) ? kRegular << 2 : 0);
  }
  PfcFrame pause;
  pause.class_enable = 0b111;
  pause.time[0] = pause.time[1] = pause.time[2] = 0xffff;
  const auto go_on = [&](Duration time) {  // a pause of 838 us, again and again
    for (std::size_t h = 0; h < kHosts; ++h) net.host(h).nic.on_pfc(pause, net.now());
    net.run_until(net.now() + time);
  };
  for (int i = 0; i < 150; ++i) {
    const bool read = reads && rng.bernoulli(0.4);
    const std::size_t flow = rng.below(kFlows);
    net.post(flow, read ? WrOpcode::kRead : WrOpcode::kWrite,
             static_cast<std::uint32_t>(rng.below(120 * kPacket)), !loops);
    go_on(up_to(rng, 25_us));
  }
  for (int i = 0; i < 400; ++i) go_on(500_us);
  for (std::size_t f = 0; f < kFlows; ++f) found.completed.push_back(net.flow(f).completed);
  for (std::size_t h = 0; h < kHosts; ++h) {
    found.drops += net.port(h).drops;
    found.retransmitted += net.counters(h).retransmitted_packets;
    found.low += net.counters(h).rlp_packets;
  }
  return found;
}

void expect_same(const Held& a, const Held& b) {
  ASSERT_EQ(a.completed, b.completed);
  for (std::size_t node = 0; node < a.records.size(); ++node) {
    ASSERT_EQ(a.records[node].size(), b.records[node].size()) << "node " << node;
    for (std::size_t i = 0; i < a.records[node].size(); ++i)
      ASSERT_EQ(std::memcmp(&a.records[node][i], &b.records[node][i], sizeof(TraceRecord)), 0)
          << "node " << node << " record " << i;
  }
  for (const auto& [host, frames] : a.arrived) {
    ASSERT_EQ(frames.size(), b.arrived.at(host).size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
      ASSERT_EQ(frames[i].due, b.arrived.at(host)[i].due) << "host " << host << " frame " << i;
      ASSERT_EQ(identity(frames[i].packet), identity(b.arrived.at(host)[i].packet));
    }
  }
}

// All records of hosts and switch, and all frames that arrive, are those of a network without RC3.
TEST(Rc3NetTest, LevelsThatAreHeldChangeNothing) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const Held with = hold(nic_config(true), rc3_switch(100_MB), seed, true, true);
    EXPECT_EQ(with.low + with.drops, 0u);
    EXPECT_GT(with.arrived.at(4).size(), 1'000u);
    expect_same(with, hold(nic_config(false), rc3_switch(100_MB), seed, true, true));
  }
}

// The same where the switch drops. A receiver of RC3's answers by blocks while something is missing, which
// are longer than a NACK and say more: here it does so in both, and messages that are fenced have no second
// loop.
TEST(Rc3NetTest, LevelsThatAreHeldChangeNothingWhereFramesAreDropped) {
  std::uint64_t drops = 0, retransmitted = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const Held with = hold(nic_config(true), rc3_switch(15_KB), seed, false, true);
    EXPECT_EQ(with.low, 0u);
    drops += with.drops, retransmitted += with.retransmitted;
    expect_same(with, hold(nic_config(true), rc3_switch(15_KB), seed, false, false));
  }
  EXPECT_GT(drops, 300u);
  EXPECT_GT(retransmitted, 300u);
}

}  // namespace
}  // namespace rocelab
