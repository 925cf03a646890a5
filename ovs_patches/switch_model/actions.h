// SwitchActions: all that a mechanism (mechanism.h) may see of a switch and do to it. A mechanism has one of
// its own, which knows its place in the list of mechanisms; it holds no other reference into the switch.
// Port and class arguments must be of this switch (RL_CHECK). `now` is the time of the hook that calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/ids.h"
#include "base/packet.h"
#include "base/tc_mask.h"
#include "base/trace.h"
#include "base/units.h"
#include "ovs_patches/switch_model/queued_frame.h"
#include "ovs_patches/switch_model/switch_flow.h"

namespace rocelab {

class EgressQueues;
enum class SwitchDropReason : std::uint8_t;
struct NetworkFacts;
struct PortConfig;
struct SwitchConfig;
struct SwitchCore;
struct SwitchPortCounters;

class SwitchActions {
 public:
  SwitchActions(SwitchCore& core, std::size_t place) : core_(&core), place_(place) {}

  // --- what it may see
  std::uint16_t ports() const;
  const SwitchConfig& config() const;
  const PortConfig& port(PortId port) const;
  SwitchPortCounters& counters(PortId port) const;  // of mechanisms without Counters of their own
  TcMask lossless() const;                          // lossless classes; 0 without PFC
  bool lossless(Tc tc) const { return (lossless() & bit_of(tc)) != 0; }
  TcMask waiting(PortId egress) const;       // classes with frames queued for this port
  TcMask paused(PortId egress) const;        // classes that the link peer has paused
  bool asks(PortId ingress, Tc tc) const;    // the switch asks the link peer to pause the class
  Bytes queued(PortId egress, Tc tc) const;  // length of the queue
  // The queue takes one more frame of this length; has_room(): or that of a port which the frame may take
  // in place of this one.
  bool has_own_room(PortId egress, Tc tc, Bytes frame) const;
  bool has_room(PortId egress, Tc tc, Bytes frame) const;
  const EgressQueues& queues() const;             // to walk through waiting frames
  std::size_t controls(PortId port) const;        // frames of send_control() that have not left yet
  const Packet* next_in_turn(PortId egress, Tc);  // EgressQueues::next_in_turn()

  // --- which hooks the switch calls
  // on_enqueue() is called for frames of these classes that join a queue of the port, from now on.
  void watch(PortId egress, TcMask classes);
  // on_dequeue() is called for frames of these classes that leave a queue of the port, by whatever way.
  void watch_departures(PortId egress, TcMask classes);
  // admit() is called for each frame with one output from the call with true on, until that with false. The
  // calls alternate.
  void watch_admission(bool on);
  // on_arrival() is called for each frame that has an output, from now on.
  void watch_arrivals();
  void set_timer(PortId port);  // next_timeout(port) has another value than before

  // --- what it may do
  // The frames of a FIFO class wait in queues 0 to `queues` of each port (QueueOrder::kTurns), in that which
  // rank() says. For constructors.
  void serve_in_turn(Tc tc, std::uint32_t queues);
  // Such a queue may send from now on, or not. Queue 0 always may.
  void set_open(PortId egress, Tc tc, std::uint32_t queue, bool open);
  // No frame of the class leaves by the port from now on, or again, whatever the peer says: for a mechanism
  // that knows that all queues of serve_in_turn() with frames are shut. From its hooks.
  void hold(PortId egress, Tc tc, bool on);
  // A link-local frame for the peer of `port`: never paused, ahead of all data, behind PFC.
  void send_control(PortId port, PacketRef packet);
  // poll_ahead(egress) has a frame: it is sent behind control frames and ahead of all data, never paused.
  void send_ahead(PortId egress);
  // A frame that the switch made at `egress`, back by the port by which a flow came in. It is charged to
  // `egress` and limited like any lossy frame; its class must be lossy.
  void send_back(PortId egress, PortId by, PacketRef packet, Time now);
  // The switch asks the peer of `ingress` to pause a lossless class, or no longer, for this mechanism.
  void pause(PortId ingress, Tc tc, bool on, Time now);
  // Sets CE, counts and traces the mark. `queue`: the length that caused it.
  void mark(PortId egress, PortId ingress, Packet& packet, Bytes queue, Time now);
  // extract() tells flows apart by these bits of SwitchFlow::key(): all, unless a constructor says others.
  void tell_flows_by(std::uint64_t bits);
  // The first data frame of the flow (SwitchFlow::key()) leaves its queue. It stays charged to its ingress
  // port until give_back().
  std::optional<QueuedFrame> extract(PortId egress, Tc tc, std::uint64_t flow, Time now);
  void give_back(PortId ingress, Tc tc, Bytes frame, std::uint32_t share, Time now);
  // Charges a frame of a lossless class to its ingress port, which has its place until place(). False: the
  // port's memory is full, and nothing has changed. check_xoff() is to follow.
  bool charge(PortId ingress, Tc tc, Bytes frame);
  // A frame that on_arrival() took joins the queues of its outputs, which drop what they have no room for. A
  // lossless one has been charged, and its ingress port gets the place back.
  void place(PortId ingress, std::span<const PortId> outs, PacketRef packet, Time now);
  // Charges a frame beyond all limits and queues it: its place has been reserved. check_xoff() is to follow.
  void store_reserved(PortId ingress, PortId egress, PacketRef packet, Time now);
  void check_xoff(PortId ingress, Tc tc, Time now);  // asks for a pause above XOFF; lossless classes only
  // Drops frames from the head of a queue on: all, or until ingress port `until_open` asks for no pause.
  void drop_queue(PortId egress, Tc tc, SwitchDropReason reason, std::optional<PortId> until_open, Time now);
  void drop(PortId at, PortId peer, const Packet& packet, SwitchDropReason reason, Time now);
  void release_frame(const Packet& packet);  // the frame ends here, and is no drop
  void count_received(PortId ingress, const Packet& packet);
  PacketRef make_packet();
  PacketRef copy_of(const Packet& packet);  // null: the frame's owner has no place for one more
  void trace(const TraceRecord& record);
  // A record whose mark is the class and whose bytes are the length of its queue at the port.
  void trace_queue(TraceKind kind, PortId port, Tc tc, Time now);

 private:
  SwitchCore* core_;
  std::size_t place_;
};

}  // namespace rocelab
