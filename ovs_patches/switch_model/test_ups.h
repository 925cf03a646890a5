// For the tests of universal packet scheduling (Mittal, chapter 5 and appendix A): networks of single output
// queues, an oracle that schedules them in the plainest way, and the same networks made of SwitchNodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/packet.h"
#include "base/rng.h"
#include "base/units.h"
#include "ovs_patches/switch_model/mechanisms/mechanisms.h"
#include "ovs_patches/switch_model/switch_node.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab::ups_test {

using switch_test::at;
using switch_test::port;

// A node is an output queue and its wire; packets that arrive at one instant come in the order of the list.
struct UpsPacket {
  std::vector<int> path;  // nodes
  Time arrival;           // at the first node: i(p)
  Bytes wire = 1000_B;    // all that it takes of a wire
};
struct UpsNet {
  std::vector<Rate> rates;                           // of nodes
  std::map<std::pair<int, int>, Duration> delays{};  // of links between nodes; 0 for the others
  std::vector<UpsPacket> packets{};

  Duration transmission(std::size_t p, std::size_t hop) const {
    return transfer_time(packets[p].wire, rates[static_cast<std::size_t>(packets[p].path[hop])]);
  }
  Duration delay(std::size_t p, std::size_t hop) const {  // behind the node
    const auto& path = packets[p].path;
    if (hop + 1 == path.size()) return {};
    const auto found = delays.find({path[hop], path[hop + 1]});
    return found == delays.end() ? Duration{} : found->second;
  }
  // tmin(p, path[from], dst): on an idle network, from the arrival at a node to the exit.
  Duration least(std::size_t p, std::size_t from = 0) const {
    Duration sum;
    for (std::size_t hop = from; hop < packets[p].path.size(); ++hop)
      sum += transmission(p, hop) + delay(p, hop);
    return sum;
  }
};

struct Schedule {
  std::vector<std::vector<Time>> starts;  // o(p, a) is the start, of each packet at each node of its path
  std::vector<Time> exits;                // o(p): its last bit leaves the last node
  std::vector<std::int64_t> slack;        // what is left then, ps
  std::vector<std::vector<std::int64_t>> left{};  // at each departure; of switches
  std::vector<HopTimes> hop_times{};              // that the packets have then; of switches

  // slack(p) = o(p) - i(p) - tmin(p), 5.1.2.
  std::vector<std::int64_t> slacks(const UpsNet& net) const {
    std::vector<std::int64_t> all;
    for (std::size_t p = 0; p < net.packets.size(); ++p)
      all.push_back((exits[p] - net.packets[p].arrival - net.least(p)).ps());
    return all;
  }
  std::vector<Duration> late_against(const Schedule& original) const {
    std::vector<Duration> late;
    for (std::size_t p = 0; p < exits.size(); ++p) late.push_back(exits[p] - original.exits[p]);
    return late;
  }
};

// A rank may depend on the packet, its hop, its arrival at that node, and its slack then.
using Rank = std::function<std::int64_t(std::size_t p, std::size_t hop, Time arrival, std::int64_t slack)>;

inline Rank lstf(const UpsNet& net) {
  return [&net](std::size_t p, std::size_t hop, Time arrival, std::int64_t slack) {
    return slack + arrival.ps() + net.transmission(p, hop).ps();
  };
}

// The oracle: lists, one instant after another. At each instant transmissions end, then packets arrive, then
// free wires take the waiting packet with the least (rank, arrival). Preemptive: the packet on a wire goes
// back among the others when one with a smaller rank arrives, and keeps what it has sent.
class Oracle {
 public:
  Oracle(const UpsNet& net, std::vector<std::int64_t> slack, Rank rank, bool preempt = false)
      : net_(net), rank_(std::move(rank)), preempt_(preempt), nodes_(net.rates.size()) {
    result_.slack = std::move(slack);
    result_.slack.resize(net.packets.size());
    result_.exits.resize(net.packets.size());
    for (std::size_t p = 0; p < net.packets.size(); ++p) {
      result_.starts.emplace_back(net.packets[p].path.size());
      coming_.push_back({net.packets[p].arrival, p, 0});
    }
  }

  Schedule run() {
    for (;;) {
      Time now = Time::never();
      for (const Coming& c : coming_) now = std::min(now, c.time);
      for (const Node& n : nodes_)
        if (n.busy) now = std::min(now, n.end);
      if (now.is_never()) return std::move(result_);
      for (Node& n : nodes_)
        if (n.busy && n.end == now) finish(n, now);
      std::vector<Coming> arriving;
      std::erase_if(coming_, [&](const Coming& c) {
        if (c.time == now) arriving.push_back(c);
        return c.time == now;
      });
      std::ranges::sort(arriving, {}, &Coming::packet);
      for (const Coming& c : arriving) arrive(c);
      for (Node& n : nodes_)
        if (!n.busy && !n.waiting.empty()) start(n, now);
    }
  }

 private:
  struct Coming {
    Time time;
    std::size_t packet = 0, hop = 0;
  };
  struct Waiting {
    std::int64_t rank = 0;
    std::uint64_t number = 0;  // of its arrival
    std::size_t packet = 0, hop = 0;
    Time arrival;
    Duration left;
    bool begun = false;
    bool before(const Waiting& other) const {
      return std::pair(rank, number) < std::pair(other.rank, other.number);
    }
  };
  struct Node {
    std::vector<Waiting> waiting;
    bool busy = false;
    Waiting sent;
    Time end;
  };

  void arrive(const Coming& c) {
    Node& n = nodes_[static_cast<std::size_t>(net_.packets[c.packet].path[c.hop])];
    const Waiting w{rank_(c.packet, c.hop, c.time, result_.slack[c.packet]),
                    arrivals_++,
                    c.packet,
                    c.hop,
                    c.time,
                    net_.transmission(c.packet, c.hop)};
    n.waiting.push_back(w);
    if (!preempt_ || !n.busy || w.rank >= n.sent.rank) return;
    n.busy = false;
    n.sent.left = n.end - c.time;
    n.waiting.push_back(n.sent);
  }
  void start(Node& n, Time now) {
    auto least = n.waiting.begin();
    for (auto w = n.waiting.begin(); w != n.waiting.end(); ++w)
      if (w->before(*least)) least = w;
    n.sent = *least;
    n.waiting.erase(least);
    if (!std::exchange(n.sent.begun, true)) result_.starts[n.sent.packet][n.sent.hop] = now;
    n.busy = true;
    n.end = now + n.sent.left;
  }
  void finish(Node& n, Time now) {
    const auto [p, hop] = std::pair(n.sent.packet, n.sent.hop);
    n.busy = false;
    result_.slack[p] -= (now - net_.transmission(p, hop) - n.sent.arrival).ps();
    if (hop + 1 == net_.packets[p].path.size())
      result_.exits[p] = now;
    else
      coming_.push_back({now + net_.delay(p, hop), p, hop + 1});
  }

  const UpsNet& net_;
  Rank rank_;
  bool preempt_;
  std::vector<Node> nodes_;
  std::vector<Coming> coming_;
  std::uint64_t arrivals_ = 0;
  Schedule result_;
};

// The same by switches, each of one output port; packet p comes in by port 1 + p. With preemption a switch
// hands a packet over at its last bit, and its starts are not known.
class Switches {
 public:
  Switches(const UpsNet& net, SlackRank rank, bool preempt = false) : net_(net), preempt_(preempt) {
    SwitchConfig config;
    config.pfc.enabled = false;
    config.egress_limit = 1000_MB;
    config.classes[3].order = QueueOrder::kRanked;
    config.classes[3].preempt = preempt;
    config.mechanisms.of<SlackMechanism>() = {true, rank, {}};
    for (const Rate rate : net.rates) {
      std::vector<PortConfig> ports(net.packets.size() + 1);
      for (PortConfig& p : ports) p = {rate, 0_ns, PeerKind::kSwitch};
      nodes_.push_back(std::make_unique<SwitchNode>(config, ports, Rng(1), pool_, trace_));
    }
  }

  // `by_times`: null, or whose times of all hops the packets carry as a schedule.
  Schedule run(const std::vector<std::int64_t>& slack, const Schedule* by_times = nullptr) {
    Schedule result;
    result.exits.resize(net_.packets.size());
    result.slack.resize(net_.packets.size());
    result.hop_times.resize(net_.packets.size());
    result.left.resize(net_.packets.size());
    for (std::size_t p = 0; p < net_.packets.size(); ++p) {
      const UpsPacket& of = net_.packets[p];
      PacketRef packet = switch_test::make_packet(pool_, of.wire - kFcsBytes - kPreambleAndGapBytes, 3,
                                                  static_cast<std::uint32_t>(p), 0);
      PacketPool::put_slack(*packet, {slack[p], slack[p], 0});
      std::vector<std::int64_t> times;
      if (by_times != nullptr)
        for (const Time start : by_times->starts[p]) times.push_back(start.ps());
      PacketPool::put_hop_times(*packet, by_times != nullptr
                                             ? HopTimes::scheduled(times)
                                             : HopTimes::room_for(static_cast<std::uint8_t>(of.path.size())));
      result.starts.emplace_back();
      deliver(of.path[0], p, std::move(packet), of.arrival);
    }
    for (Time now = next(); !now.is_never(); now = next())
      for (std::size_t n = 0; n < nodes_.size(); ++n)
        nodes_[n]->run_until(now + 1_ps, [&](PortId, PacketRef packet, Time start, Time end) {
          const std::size_t p = packet->flow, hop = result.starts[p].size();
          result.starts[p].push_back(start);
          result.left[p].push_back(PacketPool::slack(*packet).current);
          if (hop + 1 < net_.packets[p].path.size())
            return deliver(net_.packets[p].path[hop + 1], p, std::move(packet), end + net_.delay(p, hop));
          result.exits[p] = end;
          result.slack[p] = PacketPool::slack(*packet).current;
          result.hop_times[p] = PacketPool::hop_times(*packet);
        });
    if (preempt_) result.starts.clear();
    return result;
  }

 private:
  void deliver(int node, std::size_t p, PacketRef packet, Time due) {
    const PortId out = port(0);
    nodes_[static_cast<std::size_t>(node)]->deliver(port(static_cast<int>(p) + 1), {&out, 1},
                                                    std::move(packet), due);
  }
  Time next() const {
    Time next = Time::never();
    for (const auto& node : nodes_) next = std::min(next, node->next_event());
    return next;
  }

  const UpsNet& net_;
  bool preempt_;
  PacketPool pool_;
  switch_test::TraceLog trace_;
  std::vector<std::unique_ptr<SwitchNode>> nodes_;
};

}  // namespace rocelab::ups_test
