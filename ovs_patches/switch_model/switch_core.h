// SwitchCore: the state of a switch and the steps that its inputs and outputs are made of: admission, queues,
// pauses, the way out. Mechanisms see it by SwitchActions only. Private to switch*.cc and actions.cc.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/packet.h"
#include "base/ring.h"
#include "base/trace.h"
#include "base/wire_clock.h"
#include "ovs_patches/switch_model/mechanisms/mechanisms.h"
#include "ovs_patches/switch_model/pfc.h"
#include "ovs_patches/switch_model/queue.h"
#include "ovs_patches/switch_model/red_ecn.h"
#include "ovs_patches/switch_model/scheduler.h"
#include "ovs_patches/switch_model/shared_buffer.h"
#include "ovs_patches/switch_model/switch.h"
#include "ovs_patches/switch_model/switch_policy.h"
#include "ovs_patches/switch_model/winner_tree.h"

namespace rocelab {

static_assert(static_cast<unsigned>(PauseOwner::kMechanisms) + Mechanisms::Set::kCount <=
                  PauseRequests::kMostOwners,
              "each mechanism can ask for pauses: raise PauseRequests::kMostOwners and its owners' type");

struct SwitchCore {
  using MechanismSets = Mechanisms::Set;
  static constexpr auto kBufferOwner = static_cast<unsigned>(PauseOwner::kIngressBuffer);
  // The members that every frame looks at come first, in two cache lines.
  struct alignas(64) Port {
    Port(const SwitchConfig& config, const PortConfig& port_config);
    TcMask waiting = 0;      // classes with frames queued for this port
    bool in_ready = false;   // listed in `ready`
    bool urgent = false;     // control frames, or frames of send_ahead(), wait: they leave before data
    TcMask watched = 0;      // classes of which a mechanism is to see the frames that join a queue
    TcMask watched_out = 0;  // classes of which a mechanism is to see the frames that leave a queue
    PauseRequests requests;  // as ingress: what we ask of the peer
    PauseState pauses;       // as egress: what the peer asked of us
    Scheduler scheduler;
    SwitchPortCounters counters;  // all but the peaks, which queues and buffer keep
    PortConfig config;
    Ring<PacketRef> control;  // link-local frames of mechanisms that wait to leave
    std::array<TcMask, MechanismSets::kCount> watch{}, watch_out{};  // of each mechanism; their unions above

    TcMask sendable() const { return static_cast<TcMask>(waiting & ~pauses.closed()); }
    // A frame of the class would be the only one, and may leave.
    bool is_idle_for(Tc tc) const {
      return waiting == 0 && !urgent && !requests.frame_due() && (pauses.closed() & bit_of(tc)) == 0;
    }
    bool has_more() const { return requests.frame_due() || urgent || sendable() != 0; }
  };
  // The frame of a preempting class on a port's wire; it is in its queue until its last bit.
  struct OnWire {
    std::uint32_t node = EgressQueues::kNil;  // of the queue; kNil: none
    Tc tc;
    Time begun, ends;      // of this piece
    bool stopped = false;  // the wire is free: SwitchNode is to see it
  };
  // A frame with several outputs: stored and charged once, given back with its last copy.
  struct Share {
    std::uint32_t copies = 0;
  };

  SwitchCore(const SwitchConfig& c, std::span<const PortConfig> port_configs, Rng rng, PacketPool& p,
             TraceSink& t, FrameOwner* f);

  bool lossless(Tc tc) const { return (lossless_classes & bit_of(tc)) != 0; }
  Port& at(PortId port) {
    RL_CHECK(port.value < port_count);
    return ports[port.value];
  }

  // --- switch_input.cc: admission
  void classify(PortId in, Packet& packet);
  void receive(PortId in, std::span<const PortId> outs, PacketRef&& packet,
               Time now);  // drops: left to the caller
  void intercept(PortId in, std::span<const PortId> outs, PacketRef&& packet, Time now);
  void store_apart(PortId in, std::span<const PortId> outs, PacketRef packet, Time now);
  void store(PortId in, std::span<const PortId> outs, PacketRef&& packet, Time now);
  void place(PortId in, std::span<const PortId> outs, PacketRef packet, Time now);
  bool pass(PortId in, PortId out, Packet& packet, Time now);
  const EcnConfig& marking(const Port& port, Tc tc) const;
  bool egress_takes(PortId out, Tc tc, Bytes frame) const;
  bool limited_takes(PortId out, Tc tc, Bytes frame) const;
  Bytes beyond_port_buffer(PortId out, Bytes frame) const;
  bool displace(PortId out, Tc tc, Bytes bytes, Time now);
  void push_out(PortId out, Tc tc, SwitchDropReason reason, Time now);
  SwitchDropReason full_reason(PortId out, Tc tc, Bytes frame);
  void receive_full(PortId in, PortId out, PacketRef&& packet, Time now);
  void receive_copies(PortId in, std::span<const PortId> outs, PacketRef packet, bool charged, Time now);
  PacketRef copy_of(const Packet& packet);
  // `number`: reserved for the frame, else kNil.
  void enqueue(PortId in, PortId out, PacketRef&& packet, std::uint32_t share, Time now,
               std::uint32_t number = EgressQueues::kNil);
  void mark(PortId out, PortId in, Packet& packet, Bytes queue, Time now);
  static TraceRecord delivery(PortId in, PortId out, const Packet& packet, Time now);
  void note_delivered(PortId in, PortId out, const Packet& packet, Time now);
  void note_stored(PortId in, PortId out, const Packet& packet, Time now);
  void drop(PortId at_port, PortId peer, const Packet& packet, SwitchDropReason reason, Time now);
  void note_drop(PortId at_port, PortId peer, const Packet& packet, SwitchDropReason reason, Time now);
  void release_frame(const Packet& packet);
  std::uint32_t new_share();
  void refuse(PortId in, const Packet& packet, Time now);  // a frame that no mechanism takes

  // --- switch_by_policy.cc: what programs decide (policy/)
  void set_policy(std::shared_ptr<const PolicyProgram> first, const Rng& rng);
  void change_policy(const PolicyChange& change, Time now);
  void apply_program();
  void store_by_policy(PortId in, std::span<const PortId> outs, PacketRef packet, Time now);
  void copies_by_policy(PortId in, std::span<const PortId> outs, PacketRef packet, std::uint32_t share,
                        Time now);
  bool offer(PortId in, PortId out, PacketRef& packet, std::uint32_t share, Time now);
  void evict(std::uint32_t node, Time now);
  PacketRef dequeue_by_policy(PortId port_id, Port& port, Time now);
  void run_moves(Time now);
  void carry_out(PortId in, PortId out, Packet& packet, const PolicyDecision& decided, Time now);

  // --- switch.cc: the way out, pauses
  PacketRef transmit(PortId port_id, Port& port, Time now);
  PacketRef transmit_urgent(PortId port_id, Port& port, Time now);
  PacketRef make_pfc(Port& port, Time now);
  PacketRef dequeue(PortId port_id, Port& port, Time now);
  PacketRef dequeue_apart(PortId port_id, Port& port, Time now);
  static void count_sent(Port& port, const Packet& packet);
  static void count_link_local(Port& port, const Packet& packet);
  PacketRef take(PortId port_id, Port& port, Tc tc, EgressQueues::Frame frame, Time now);
  void left(PortId port_id, Port& port, const EgressQueues::Queue& queue, Tc tc, const QueuedFrame& frame,
            Time now);
  void store_made(PortId at_port, PortId out, PacketRef&& packet, Time now);
  void drop_queue(PortId port_id, Tc tc, SwitchDropReason reason, std::optional<PortId> until_open, Time now);
  void give_back(PortId in, Tc tc, Bytes frame, std::uint32_t share, Time now);
  void request_pause(unsigned owner, PortId ingress, Tc tc, bool on, Time now);
  void note_changes(PortId port, PauseState::Change change, Time now);
  void list_ready(PortId port_id, Port& port);

  // --- switch_preempt.cc
  bool begin_piece(PortId port_id, Port& port, const WireClock& clock, Time now, PacketRef& whole);
  PacketRef end_piece(PortId port_id, Port& port, const WireClock& clock, Time now);
  void stop_piece(PortId port_id, Port& port, Tc tc, Time now);
  void set_timer(PortId port_id, const Port& port);
  void trace_class(TraceKind kind, PortId port, Tc tc, Bytes bytes, Time now);

  SwitchConfig config;
  TcMask lossless_classes = 0;
  TcMask ranked_classes = 0;  // whose queues are ordered by a mechanism's rank, or in turn by its queues
  TcMask preempting_classes = 0;
  TcMask limited_classes = 0;  // lossless with an egress_max, or lossy with a port_buffer
  PacketPool& pool;
  TraceSink& trace;
  FrameOwner* frames;
  SharedBuffer buffer;
  EgressQueues queues;
  RedEcn ecn;
  std::vector<Port> ports;
  std::vector<OnWire> on_wire;  // by port; empty without preempting classes
  std::size_t port_count;       // ports.size()
  WinnerTree timers;            // per port: pause expiry, PFC refresh, what mechanisms want
  std::vector<PortId> ready, taken;
  std::vector<Share> shares;
  std::vector<std::uint32_t> free_shares;
  MechanismSets mechanisms;
  bool sees_transmit = false;            // a mechanism has on_transmit()
  bool dequeues_apart = false;           // a mechanism has discards(), or a policy chooses
  std::size_t arrival_watchers = 0;      // mechanisms whose on_arrival() or admit() is to be asked
  std::size_t no_short_cut = 0;          // reasons for which no frame may pass()
  std::unique_ptr<SwitchPolicy> policy;  // null: the scheduler and the limits of the configuration
  PolicyOutcome outcome;                 // of its last decision
  bool departs_apart = false;            // frames leave in pieces, or not at the link's rate
  TcMask marking_classes = 0;            // whose marking the configuration has on
};

template <class Mechanism>
const Mechanism* Switch::mechanism() const {
  return core_->mechanisms.get<Mechanism>();
}

}  // namespace rocelab
