// Switch::Impl: the state of a switch and the steps that its inputs and outputs are made of. Private to
// switch*.cc.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/packet.h"
#include "base/ring.h"
#include "base/trace.h"
#include "ovs_patches/switch_model/escape.h"
#include "ovs_patches/switch_model/loop_breaker.h"
#include "ovs_patches/switch_model/pfc.h"
#include "ovs_patches/switch_model/pfc_watchdog.h"
#include "ovs_patches/switch_model/queue.h"
#include "ovs_patches/switch_model/red_ecn.h"
#include "ovs_patches/switch_model/rocc_cp.h"
#include "ovs_patches/switch_model/rocc_flow_table.h"
#include "ovs_patches/switch_model/scheduler.h"
#include "ovs_patches/switch_model/shared_buffer.h"
#include "ovs_patches/switch_model/switch.h"
#include "ovs_patches/switch_model/winner_tree.h"

namespace rocelab {

struct Switch::Impl {
  // RoCC: one queue of a port, its fair rate and its flows. It rests while nobody is held back and nothing
  // waits; a period then would change nothing.
  struct CongestionPoint {
    Tc tc;
    RoccCp cp;
    std::unique_ptr<RoccFlowTable> flows;
    Time next = Time::never();  // end of the present period; never: at rest
  };
  // Escape: a frame in a port's dedicated queue. One that was taken out of the port's own queue has its place
  // in the ingress accounting still; `reserved`: its place is one of those that the port's tokens stand for.
  struct EscapingFrame {
    PacketRef packet;
    PortId in;
    std::uint32_t share = EgressQueues::kNoShare;
    Bytes charged;
    bool reserved = false;
  };
  struct EscapePort {
    explicit EscapePort(const EscapeConfig& c)
        : pool(c.tokens, c.reclaim, c.has(EscapeFix::kReclaim)),
          flows(c.flows > 0 ? c.flows : c.tokens, c.flow_bits(), c.return_tokens),
          issued(c.tokens, c.reclaim, c.flow_bits()) {}
    EscapePool pool;
    EscapeFlows flows;                   // that traversed the port
    EscapeIssued issued;                 // tokens that may come back
    Ring<EscapingFrame> queue;           // the dedicated queue
    std::uint32_t reserved = 0;          // frames in it whose places tokens have reserved
    Duration period{};                   // Delta^esc
    Time next = Time::never();           // of TriggerEscape while the port asks its peer to pause
    Time announce_next = Time::never();  // while frames wait behind it and the peer pauses it
  };
  // What every frame looks at comes first, in two cache lines.
  struct alignas(64) Port {
    Port(const SwitchConfig& config, const PortConfig& port_config);
    TcMask waiting = 0;      // classes with frames queued for this port
    bool in_ready = false;   // listed in `ready`
    bool urgent = false;     // control frames or escaping frames wait: they leave before data
    TcMask watched = 0;      // classes of which a mechanism is to see the frames that join: joined()
    TcMask cp_wants = 0;     // of these: their congestion point
    TcMask escape_more = 0;  // of these: Escape, if it announces or returns tokens
    PauseRequests requests;  // as ingress: what we ask of the peer
    PauseState pauses;       // as egress: what the peer asked of us
    Scheduler scheduler;
    SwitchPortCounters counters;  // all but the peaks, which queues and buffer keep
    PortConfig config;
    std::vector<CongestionPoint> congestion_points;
    Time cp_next = Time::never();
    std::unique_ptr<EscapePort> escape;         // null: off
    std::unique_ptr<PfcWatchdog> watchdog;      // null: off
    std::unique_ptr<LoopBreaker> loop_breaker;  // null: off, or a host's port
    Ring<PacketRef> control;                    // Escape's tokens, Loop Breaker's messages that wait to leave
    Bytes sent;                                 // wire bytes, while telemetry is on

    TcMask sendable() const { return static_cast<TcMask>(waiting & ~pauses.paused()); }
    // A frame of the class would be the only one, and may leave.
    bool is_idle_for(Tc tc) const {
      return waiting == 0 && !urgent && !requests.frame_due() && (pauses.paused() & bit_of(tc)) == 0;
    }
    bool has_more() const { return requests.frame_due() || urgent || sendable() != 0; }
  };
  // A frame with several outputs: stored and charged once, given back with its last copy.
  struct Share {
    std::uint32_t copies = 0;
  };
  static constexpr PortId kNoPort{0xffff};

  Impl(const SwitchConfig& c, std::span<const PortConfig> port_configs, Rng rng, PacketPool& p, TraceSink& t,
       FrameOwner* f);

  bool lossless(Tc tc) const { return (lossless_classes & bit_of(tc)) != 0; }
  bool escapes(Tc tc) const { return (escape_classes & bit_of(tc)) != 0; }  // where Escape is on
  Port& at(PortId port) {
    RL_CHECK(port.value < port_count);
    return ports[port.value];
  }

  // --- switch_input.cc: admission
  void classify(PortId in, Packet& packet);
  void receive(PortId in, std::span<const PortId> outs, PacketRef&& packet,
               Time now);  // drops: left to the caller
  bool pass(PortId in, PortId out, Packet& packet, Time now);
  const EcnConfig& marking(const Port& port, Tc tc) const;
  bool egress_takes(PortId out, Tc tc, Bytes frame) const;
  void receive_copies(PortId in, std::span<const PortId> outs, PacketRef packet, Time now);
  PacketRef copy_of(const Packet& packet);
  void enqueue(PortId in, PortId out, PacketRef&& packet, std::uint32_t share, Time now);
  void note_delivered(PortId in, PortId out, const Packet& packet, Time now);
  void note_stored(PortId in, PortId out, const Packet& packet, Time now);
  void drop(PortId at_port, PortId peer, const Packet& packet, SwitchDropReason reason, Time now);
  void note_drop(PortId at_port, PortId peer, const Packet& packet, SwitchDropReason reason, Time now);
  void release_frame(const Packet& packet);
  std::uint32_t new_share();
  void receive_feedback(PortId in, std::span<const PortId> outs, PacketRef&& packet,
                        Time now);  // drops: left to the caller

  void joined(PortId out, PortId in, const Packet& packet, Time now);
  void joined_more(PortId out, PortId in, const Packet& packet, Time now);

  // --- switch_escape.cc
  void add_escape(const Rng& rng);
  void escape_joined(Port& port, PortId in, const Packet& packet);
  Duration escape_period(const Port& port) const;
  void escape_asked(PortId ingress, Port& port, Time now);
  void escape_timeout(PortId port_id, Port& port, Time now);
  bool takes_tokens(const Port& port) const;
  void clear_hol_block(PortId ingress, Tc tc, Time now);
  std::uint32_t take_token(PortId port_id, Port& port, const EscapeIssued::Token& token);
  void send_token(PortId ingress, const SwitchFlow& flow, Tc tc, std::uint16_t hops, std::uint32_t number);
  void receive_token(PortId egress, const Packet& packet, Time now);
  void let_escape(PortId egress, Port& port, EgressQueues::Frame frame, std::uint8_t hops, bool reserved);
  void exchange(PortId in, PortId out, EgressQueues::Frame older, PacketRef&& packet, Time now);
  void queue_escaping(PortId egress, Port& port, EscapingFrame frame);
  void receive_escaping(PortId in, std::span<const PortId> outs, PacketRef&& packet,
                        Time now);  // drops: left to the caller
  // switch_escape_more.cc: what the chapter has not
  void escape_joined_more(PortId out, Port& port, const Packet& packet, Time now);
  void refuse_token(PortId egress, EscapeToken token, EscapeTokenMark why);
  void receive_returned(PortId ingress, const EscapeToken& token, Time now);
  void wait_to_announce(PortId port_id, Port& port, TcMask classes, Time now);
  void announce(PortId port_id, Port& port, Time now);
  void receive_announcement(PortId in, std::span<const PortId> outs, PacketRef&& packet);
  PacketRef transmit_escaping(PortId port_id, Port& port, Time now);

  // --- switch_rocc.cc
  void add_congestion_points(const Rng& rng);
  void cp_enqueued(PortId out, PortId in, const Packet& packet, Time now);
  void cp_timeout(PortId port_id, Port& port, Time now);
  bool cp_updates(CongestionPoint& point, Bytes length);
  std::size_t notify_flows(PortId port_id, CongestionPoint& point, Bytes length, Time now);
  void send_cnp(PortId port_id, const SwitchFlow& flow, FairRateFeedback feedback, Time now);

  // --- switch_watchdog.cc
  void add_watchdogs();
  void watch_pauses(Port& port, PauseState::Change change, Time now);
  void watchdog_timeout(PortId port_id, Port& port, Time now);
  void drop_queue(PortId port_id, Port& port, Tc tc, SwitchDropReason reason, PortId until_open, Time now);
  bool storms(PortId out, Tc tc);  // frames for this queue are dropped

  // --- switch_loop_breaker.cc
  void add_loop_breakers(const Rng& rng);
  void loop_breaker_timeout(PortId port_id, Port& port, Time now);
  void send_clcm(PortId port_id, Port& port, const Clcm& message);
  void receive_clcm(PortId in, const Packet& packet, Time now);
  void break_loop(PortId port_id, Port& port, PortId in, const Clcm& message, Time now);

  // --- switch_telemetry.cc
  void stamp(PortId port_id, Port& port, Packet& packet, Time now);

  // --- switch.cc: the way out, pauses
  PacketRef transmit(PortId port_id, Port& port, Time now);
  PacketRef transmit_urgent(PortId port_id, Port& port, Time now);
  void send_control(PortId port_id, Port& port, PacketRef packet);
  PacketRef make_pfc(Port& port, Time now);
  PacketRef dequeue(PortId port_id, Port& port, Time now);
  void give_back(PortId in, Tc tc, Bytes frame, std::uint32_t share, Time now);
  void request_pause(PauseOwner owner, PortId ingress, Tc tc, bool on, Time now);
  void trace_changes(PortId port, PauseState::Change change, Time now);
  void list_ready(PortId port_id, Port& port);
  void set_timer(PortId port_id, const Port& port);
  void trace_class(TraceKind kind, PortId port, Tc tc, Bytes bytes, Time now);

  SwitchConfig config;
  TcMask lossless_classes = 0;
  TcMask escape_classes = 0;  // those of them that Escape serves; 0: off
  PacketPool& pool;
  TraceSink& trace;
  FrameOwner* frames;
  SharedBuffer buffer;
  EgressQueues queues;
  RedEcn ecn;
  std::vector<Port> ports;
  std::size_t port_count;  // ports.size()
  WinnerTree timers;       // per port: pause expiry, PFC refresh, RoCC period, what mechanisms want
  std::vector<PortId> ready, taken;
  std::vector<Share> shares;
  std::vector<std::uint32_t> free_shares;
  Rng escape_rng{0};                  // how long flows rest that contend for places
  std::uint64_t escaping_frames = 0;  // in all dedicated queues
  std::size_t storming_ports = 0;     // whose watchdog has found a storm
};

}  // namespace rocelab
