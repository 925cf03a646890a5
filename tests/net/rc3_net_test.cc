// RC3 in a network (Mittal, 2.1.1: regular traffic does not suffer): how long a message takes that is alone,
// and what lower levels do to all other frames while they are held at their hosts.
#include <cstring>
#include <map>
#include <set>

#include "base/wire/pfc.h"
#include "tests/net/rc3_scene.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kAck = 62;
constexpr Time kStart = Time::zero() + 1_ms;

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
        NicConfig nic = rc3_nic(true, 32'768);
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
  NicConfig nic = rc3_nic(true, 32'768);
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
    const Held with = hold(rc3_nic(true), rc3_switch(100_MB), seed, true, true);
    EXPECT_EQ(with.low + with.drops, 0u);
    EXPECT_GT(with.arrived.at(4).size(), 1'000u);
    expect_same(with, hold(rc3_nic(false), rc3_switch(100_MB), seed, true, true));
  }
}

// The same where the switch drops. A receiver of RC3's answers by blocks while something is missing, which
// are longer than a NACK and say more: here it does so in both, and messages that are fenced have no second
// loop.
TEST(Rc3NetTest, LevelsThatAreHeldChangeNothingWhereFramesAreDropped) {
  std::uint64_t drops = 0, retransmitted = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const Held with = hold(rc3_nic(true), rc3_switch(15_KB), seed, false, true);
    EXPECT_EQ(with.low, 0u);
    drops += with.drops, retransmitted += with.retransmitted;
    expect_same(with, hold(rc3_nic(true), rc3_switch(15_KB), seed, false, false));
  }
  EXPECT_GT(drops, 300u);
  EXPECT_GT(retransmitted, 300u);
}

}  // namespace
}  // namespace rocelab
