// Network: the nodes of one run in virtual time (hosts in index order, then switches), the links between them
// and what is recorded of them. It knows how one node runs up to an instant; which node runs when is an
// engine's affair (engine.h). No I/O, no clock, no thread, no globals: traces and captures come from outside.
//
// A frame that leaves a node goes straight into its receiver's queue of arrivals, with its due time: a link
// is a FIFO of due times and no node of its own. Nothing sent at t is due before t + lookahead().
//
// Parts of a network (partition.h) run at the same time, up to a horizon, and meet then: that is a round. The
// horizon is the earliest instant at which a frame of one part can arrive at another: the smallest, over all
// parts, of a part's next event plus the smallest latency of its links to others (conservative windows:
// Chandy and Misra 1979, Lubachevsky 1989). Inside a round a part runs windows of the smallest latency of its
// own links.
// All that a node writes when it runs belongs to its part: packets come from the part's pool, and a frame to
// another part waits in a list of its sender's until the receiving part takes a copy of it at the begin of
// the next round.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/packet.h"
#include "emu/des/forwarding.h"
#include "emu/des/host_node.h"
#include "emu/des/huge_pages.h"
#include "emu/des/partition.h"
#include "emu/des/peers.h"
#include "emu/des/virtual_link.h"
#include "emu/record/sample_clock.h"
#include "emu/record/switch_trace.h"
#include "emu/runner/plan.h"
#include "emu/world/port_link.h"
#include "ovs_patches/switch_model/switch_node.h"

namespace rocelab::des {

// After its last flow a program stays for a while, to answer what its peer repeats
// (verbs_app/flows/runner.cc); so does a run.
inline constexpr Duration kLinger = 1_ms;

// Told of every frame at a switch port, as the live engine's captures are: arrivals with the time of their
// last bit, up to a lookahead ahead of it, and departures. Ports of one switch are told of by one thread.
class PortTap {
 public:
  virtual ~PortTap() = default;
  virtual void on_frame(std::uint32_t port, Time time, const Packet& packet,
                        bool arrives) = 0;  // index of PortEntry
  virtual void commit(Time until) = 0;      // no frame before `until` will come
};

// Where the records go, and who has other parts. Null: nowhere, at no cost. All outlive the Network.
struct Sinks {
  std::vector<TraceSink*> hosts;       // by index; empty: none
  std::vector<SwitchTrace*> switches;  // by index; empty: none
  PortTap* tap = nullptr;
  std::vector<ReplayPort*> replay;  // by host, told of what it sends and receives; empty: nobody
  Peers* peers = nullptr;           // all parts are here
};

class Network {
 public:
  // Throws std::runtime_error when the plan cannot be run. `plan` outlives it.
  Network(const RunPlan& plan, const Sinks& sinks, const Partition& partition = {});
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  std::size_t nodes() const { return place_of_.size(); }
  Duration lookahead() const { return lookahead_; }                           // at most kLinger
  Time next_event(std::size_t node) const { return next_[place_of_[node]]; }  // Time::never(): none
  Time next_event() const;                                                    // of all nodes
  // Runs all events of the node before `end`. What it sends is due at `end` or later, if `end` is not after
  // the earliest event of all nodes + lookahead().
  void run(std::size_t node, Time end) {
    if (node < hosts_.size())
      run_host(static_cast<std::uint32_t>(node), end);
    else
      run_switch(static_cast<std::uint32_t>(node - hosts_.size()), end);
  }

  // --- one round: begin_round(), then run_part() of every part that is here, in any order or at once, then
  // end_round().
  std::uint32_t first_part() const { return first_part_; }
  std::uint32_t last_part() const { return last_part_; }
  // No event at `stop` or later happens in it. Returns the time before which every event has happened when it
  // is over. A network of one part has rounds of one window; of several, at most kLinger, so that a run's
  // end, which its last flow decides, is in no round that has run.
  Time begin_round(Time stop);
  void run_part(std::uint32_t part);
  void end_round();
  Time next_round() const;  // the earliest event of all nodes, between two rounds
  Time last_event() const;  // the latest that has happened, of all nodes; all processes call it at once
  // Samples and records up to `end`, before which every node has run.
  void settle(Time end);

  // --- results
  const RunPlan& plan() const { return plan_; }
  bool is_here(std::size_t node) const {  // hosts, then switches; else another process has its results
    return first_part_ <= part_of_[node] && part_of_[node] < last_part_;
  }
  bool takes_part(std::uint32_t host) const { return hosts_[host] != nullptr; }  // and is here
  const HostNode& host(std::uint32_t index) const { return *hosts_[index]; }
  const Switch& switch_model(std::uint32_t index) const { return switches_[index]->node.model(); }
  bool any_failed() const;
  // Since when every end of every flow is over, or its peer's end has failed; never() while one is not.
  Time given_up_since() const;
  Time programs_over_since() const;  // the latest end of a program; never() while one runs
  std::size_t programs_running() const;
  SwitchPortCounters port_counters(std::uint32_t port, Time now) const;
  LinkCounters link_in(std::uint32_t port) const { return links_[port] ? links_[port]->in : LinkCounters{}; }
  LinkCounters link_out(std::uint32_t port) const {
    return links_[port] ? links_[port]->out : LinkCounters{};
  }
  std::uint64_t late_arrivals() const;
  std::size_t peak_packets() const;  // that were in the network at once

 private:
  struct Link {  // at one switch port
    Link(const World& world, const PortEntry& port) : faults(world.view(), port, in, out) {}
    LinkCounters in, out;
    PortLink faults;
  };
  // What the way of a frame asks of a port, out of the plan's large entries.
  struct PortEdge {
    SwitchNode* node;                     // whose port it is
    HostNode* peer_host;                  // null: none, or one that takes no part
    std::uint32_t peer_port, peer_place;  // of a switch: its port; of a host: its place in next_
    std::uint32_t switch_index, place;    // of the switch, among switches and in next_
    PortId id;
    bool faults_in, faults_out;  // failures among them
    std::uint32_t away_port;     // in place of peer_port, where that is another part's
    Forwarding::Row rules;       // of the healthy network
  };
  struct HostEdge {
    std::uint32_t port = 0;
    NodeId node;
  };
  struct SwitchSlot {
    SwitchSlot(const RunPlan& plan, std::uint32_t index, PacketPool& pool, SwitchTrace* sink,
               TraceSink& none);
    const SwitchEntry& entry;
    SwitchTrace* trace;
    SwitchNode node;
    SampleClock samples;
  };

  // A frame to another part, and the port that it arrives at.
  struct Crossing {
    PacketRef packet;
    std::uint32_t port;
    Time due;
  };
  struct Crossings {
    std::vector<Crossing> frames;
    Time first_due = Time::never();
    void add(PacketRef&& packet, std::uint32_t port, Time due) {
      frames.push_back({std::move(packet), port, due});
      first_due = std::min(first_due, due);
    }
    void clear() {
      frames.clear();
      first_due = Time::never();
    }
  };
  struct alignas(64) Part {
    PacketPool pool{huge_pages};            // before everything that holds packets
    std::uint32_t first = 0, last = 0;      // places of its nodes
    std::vector<Crossings> out[2];          // of this round and of the last one; by part
    Duration lookahead;                     // of its links
    Duration reach = Duration::infinite();  // of those to other parts
    Time next;                              // its nodes' earliest event
    std::size_t programs_running = 0;
    bool any_failed = false;
    Time over_since;  // of another process, in its first part
  };

  void lay_out(const Partition& partition);
  void find_latencies();
  void expect();
  std::uint32_t first_part_of(std::uint32_t rank) const;
  std::uint32_t rank_of(std::size_t node) const;
  void share_endpoints();
  void tell_endpoints(std::vector<Peers::Buffer>& out);
  void hear_endpoints(std::span<const std::byte> in);
  void meet_peers();
  void take_round(std::uint32_t rank, std::span<const std::byte> in);
  Time local_over_since() const;
  Time latest_of_all(Time here) const;
  std::vector<Peers::Buffer> exchange_with_all(const Peers::Buffer& mine) const;
  template <class Use>
  void for_transfers(Use&& use) const {
    for (const auto& host : hosts_)
      if (host)
        for (const FlowProgram::Transfer& transfer : host->program().transfers()) use(transfer);
  }
  Part& part_of(std::size_t node) { return parts_[part_of_[node]]; }
  void connect_programs();
  Time earliest(const Part& part) const;
  void take_crossings(std::uint32_t part);
  void send_away(const PortEdge& edge, PacketRef&& packet, Time due);
  [[gnu::cold]] Link& link(std::uint32_t port);
  void run_host(std::uint32_t host, Time end);
  void run_switch(std::uint32_t index, Time end);
  void run_until(SwitchSlot& slot, Time end);
  void send_from_host(std::uint32_t host, PacketRef&& packet, const PathAddress& path, Time due);
  void send_from_switch(std::uint32_t port, PacketRef&& packet, Time departure, Time due);
  void arrive_at_switch(std::uint32_t port, PacketRef&& packet, Time due);
  void arrive_from_switches(const PortEdge& edge, PacketRef&& packet, Time due);
  const Forwarding& forwarding_at(Time due) const;
  [[gnu::cold]] void lose(std::uint32_t port, const Packet& packet, Time when, std::uint8_t why);
  void note(std::size_t place, Time due) { next_[place] = std::min(next_[place], due); }

  const RunPlan& plan_;
  Sinks sinks_;
  std::vector<Part> parts_;
  NullMemory memory_;
  NullTrace no_trace_;
  Forwarding forwarding_;
  std::vector<Forwarding> rerouted_;  // after each of the plan's route changes
  bool plain_;  // no link fails or has faults, no rule changes, nothing is captured: frames just go on
  std::vector<app::Flow> flows_;
  std::vector<FlowEndpoints> endpoints_;          // by flow
  std::vector<std::uint32_t> untold_;             // flows with an end elsewhere, whose queue pairs come late
  std::vector<std::unique_ptr<HostNode>> hosts_;  // null: takes no part
  std::vector<std::unique_ptr<SwitchSlot>> switches_;
  std::vector<std::unique_ptr<Link>> links_;  // by port; null: has no faults and nothing to count yet
  std::vector<PortEdge> port_edges_;
  std::vector<HostEdge> host_edges_;
  std::vector<Time> next_;                         // by place: part by part, flat, scanned once per window
  std::vector<Time> expected_;                     // by part: its next event
  Time horizon_;                                   // of this round
  std::vector<std::uint32_t> node_at_;             // by place
  std::vector<std::uint32_t> place_of_, part_of_;  // by node
  Duration lookahead_;
  std::uint32_t first_part_, last_part_;  // that are here
  unsigned side_ = 0;                     // of Part::out that is being written
};

}  // namespace rocelab::des
