// Fabric: all switches of a run between two things that it does not contain: the hosts' processes (rings in
// the segment) and a forwarding pipeline (Open vSwitch, or a table in a test) that says where a frame leaves
// its switch. It owns the switch models, the links between switches, the frames, faults, captures and traces.
//
// One step, driven from outside (lossless.cc):   collect -> Coordinator::next_step(next_event()) -> if it is
// the switches' turn, up to T: begin_pass(T) -> receive/on_forwarded -> finish_pass. All frames due before T
// were sent in earlier steps, so they are known at begin_pass; they go through the pipeline in any order, and
// finish_pass lets the models work in due order up to T. What departs is due at T or later (the lookahead).
// Nothing depends on the order in which the pipeline asks for frames or returns them. One thread at a time.
// Errors of the run are thrown as RunError; the fabric is of no use afterwards.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/packet.h"
#include "emu/record/sample_clock.h"
#include "emu/record/switch_trace.h"
#include "emu/world/port_link.h"
#include "emu/world/switch_frames.h"
#include "lockstep/coordinator.h"
#include "lockstep/segment.h"
#include "ovs_patches/netdev/captures.h"
#include "ovs_patches/netdev/frame_bank.h"
#include "ovs_patches/netdev/host_link.h"
#include "ovs_patches/switch_model/switch_node.h"
#include "ovs_patches/switch_model/winner_tree.h"

namespace rocelab {

class Fabric {
 public:
  // A frame in the pipeline's hands until the pass ends. Its bytes may be rewritten in place.
  struct Handed {
    std::uint32_t slot = 0;  // its name in this pass
    std::uint32_t hash = 0;  // of its flow and input port
    std::uint16_t length = 0;
    std::span<std::byte> bytes;  // room included
  };

  // Throws std::runtime_error when the segment's configuration cannot be run. Both outlive it.
  Fabric(lockstep::Segment& segment, lockstep::Coordinator& coordinator);
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  // --- between windows
  void collect();  // rings of the window's participants; processes that have ended
  Time next_event()
      const;  // of models, links between switches and frames that wait; Time::never() when nothing does
  void begin_pass(Time end);
  // Every frame has been handed out and has passed the pipeline. False: some frames did not come out (a
  // datapath that is being reconfigured drops), wait again and pass once more; with `last_try` that ends the
  // run instead.
  bool finish_pass(bool last_try);

  // --- the pass. Ports are indices of the segment's PortEntries.
  std::size_t pending() const { return pending_; }  // frames not handed out yet
  std::size_t in_pass() const { return pass_.size(); }
  bool receive(std::uint32_t port, Handed& out);  // false: none (left) for this port
  // The pipeline sent the frame to `port`, as `bytes`: its own, a copy of them, or, with another length, a
  // rewritten form that replaces them. Throws when the port is not one of the frame's switch, or the new
  // bytes cannot be used.
  void on_forwarded(std::uint32_t slot, std::uint32_t port, std::span<const std::byte> bytes);
  // Bit kReadyBit of `*byte` is set while frames wait on the port; null: nobody looks. The other bits are the
  // caller's.
  static constexpr std::uint8_t kReadyBit = 1;
  void set_ready_byte(std::uint32_t port, std::uint8_t* byte);

  // --- results
  void publish_counters();  // into the segment's PortResults
  void flush_events();      // event files have all records up to now()
  void save();  // counters, event files, digests, captures. Throws RunError when one could not be written
  std::size_t switches() const { return nodes_.size(); }
  const Switch& model(std::size_t index) const { return nodes_[index]->node.model(); }
  SwitchTrace& trace(std::size_t index) { return nodes_[index]->trace; }
  SwitchPortCounters counters(std::uint32_t port) const {
    return ports_[port].node.node.model().counters(ports_[port].id, end_);
  }
  // As SwitchNode::add_policy(); between two steps.
  void add_policy(std::size_t index, PolicyChange change) {
    nodes_[index]->node.add_policy(std::move(change));
  }
  Captures& captures() { return captures_; }  // between two steps
  std::uint64_t late_arrivals(std::size_t index) const { return nodes_[index]->node.late_arrivals(); }
  const FrameBank& bank() const { return bank_; }
  const lockstep::Segment& segment() const { return segment_; }
  Time now() const { return end_; }  // the models have run up to here

 private:
  struct Node {
    Node(const lockstep::Segment& segment, const SwitchEntry& entry, PacketPool& pool, FrameBank& bank);
    const SwitchEntry& entry;
    SwitchTrace trace;
    SwitchNode node;
    SampleClock samples;
  };
  struct Port {
    const PortEntry& entry;
    PortResult& result;
    Node& node;
    PortId id;
    std::unique_ptr<HostLink> host;  // or
    std::uint32_t peer = kNoPeer;    // a port of another switch; or neither
    PortLink link;
    std::deque<PacketRef> inbox;        // from the peer switch, by due
    std::deque<std::uint32_t> waiting;  // slots of this pass
    std::uint8_t* ready = nullptr;
  };
  struct Passing {
    PacketRef packet;
    std::uint32_t port = 0;  // where it came in
    std::uint32_t hash = 0;
    std::vector<PortId> more;  // outputs beyond the first
    PortId first;
    bool forwarded = false;
  };

  void capture_all(const std::string& folder);
  void save_policies();
  void add_port(std::uint32_t index);
  void refresh(std::uint32_t port);
  void arrive_from_host(std::uint32_t port, HostLink::Arrival& arrival);
  void arrive_from_switch(std::uint32_t port, PacketRef packet);
  void hand_over(std::uint32_t port, PacketRef packet, const std::optional<FrameView>& view);
  void wait(Port& port, std::uint32_t slot);
  void replace(Passing& passing, std::span<const std::byte> bytes);
  void deliver(Passing& passing);
  void run(Node& node);
  void tell_host(Port& port, const Packet& packet, Time due);
  void depart(Port& port, PacketRef packet, Time departure, Time due);
  void write_shim(Packet& packet);
  bool take_shim(Packet& packet, const NicConfig& nic);
  bool cross(LinkDirection& link, const Packet& packet);
  void give_bytes(Port& port, Packet& feedback);
  void leave_headers(Packet& announcement);
  WorldView world() const;
  std::uint32_t index_of(const Port& port) const {
    return static_cast<std::uint32_t>(&port.entry - segment_.ports().data());
  }
  void lose(Port& port, const Packet& packet, Time when, std::uint8_t why);
  NodeId destination_of(const FrameView& view) const;  // kNoNode: of no host of the run
  bool belongs_to_run(const Packet& packet) const;
  bool wait_again(bool last_try);
  void capture(Port& port, Time time, const Packet& packet, PcapngDirection direction);
  std::span<std::byte> bytes_of(const Packet& packet) const {
    return segment_.frame(packet.frame_slot).first(packet.frame_length);
  }

  lockstep::Segment& segment_;
  lockstep::Coordinator& coordinator_;
  PacketPool pool_;  // before everything that holds packets
  FrameBank bank_;
  Captures captures_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::deque<Port> ports_;  // a deque: ports do not move
  WinnerTree arrivals_;     // per port: due time of the next frame that comes in there
  std::unordered_map<std::uint32_t, NodeId> nodes_by_ipv4_;       // looked up, never walked
  std::unordered_map<std::uint64_t, NodeId> nodes_by_interface_;  // by the lower half of an IPv6 address
  std::vector<std::uint32_t> ended_;  // VFs without a process, some of whose frames are still away
  std::vector<Passing> pass_;
  std::size_t pending_ = 0;
  Time end_ = Time::zero();
};

}  // namespace rocelab
