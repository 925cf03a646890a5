// Escape in the switch: tokens for flows that wait upstream behind a paused queue although their way on is
// open (algorithm 3 of Menikkumbura, chapter 4: its three events), and the dedicated queue of escaping
// frames, which leaves ahead of data and is never paused: a token has reserved the place where it arrives.
// A port's pool and tables are in ../escape.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ring.h"
#include "base/rng.h"
#include "base/schema.h"
#include "base/wire/controls.h"
#include "base/wire/etf.h"
#include "ovs_patches/switch_model/actions.h"
#include "ovs_patches/switch_model/escape.h"
#include "ovs_patches/switch_model/pfc.h"

namespace rocelab {

class EscapeMechanism {
 public:
  using Params = EscapeParams;
  static constexpr std::string_view kName = "escape";
  static Schema<Params> schema();
  static bool is_on(const Params& params) { return params.enabled; }
  static std::optional<SchemaProblem> problem_of(const Params& params);
  static std::optional<SchemaProblem> problem_beside(const Params& params, const SwitchConfig& config);
  static std::string problem_in(const Params& params, const SwitchConfig& config,
                                std::span<const PortConfig> ports);
  static std::optional<SchemaProblem> problem_of_network(const Params& params, const SwitchConfig& config,
                                                         const NetworkFacts& network);
  static Bytes headroom(const Params& params, const SwitchConfig& config, const PortConfig& link);
  EscapeMechanism(const Params& params, SwitchActions actions, Rng rng);

  void on_enqueue(PortId out, PortId in, const Packet& packet, Time now);
  void on_pauses(PortId egress, PauseState::Change change, Time now);
  void on_asked(PortId ingress, Tc tc, Time now);
  Time next_timeout(PortId port) const;
  void on_timeout(PortId port, Time now);
  PacketRef poll_ahead(PortId egress, Time now);
  bool has_ahead(PortId egress) const { return !ports_[egress.value].queue.empty(); }
  std::uint64_t held_frames() const { return held_frames_; }

  static constexpr bool takes(PacketKind kind) {
    return kind == kind_of<EscapeToken> || kind == PacketKind::kEscaping ||
           kind == PacketKind::kEscapeAnnouncement;
  }
  void on_message(PortId in, std::span<const PortId> outs, PacketRef packet, Time now);
  static bool ignore(SwitchPortCounters& counters, const Packet& packet);

  std::uint32_t tokens(PortId egress) const { return ports_[egress.value].pool.size(); }  // in its pool

 private:
  // A frame in a port's dedicated queue. One that was taken out of the port's own queue has its place in the
  // ingress accounting still; `reserved`: its place is one of those that the port's tokens stand for.
  struct Frame {
    PacketRef packet;
    PortId in;
    std::uint32_t share = kNoShare;
    Bytes charged;
    bool reserved = false;
  };
  struct Port {
    explicit Port(const Params& params);
    EscapePool pool;
    EscapeFlows flows;                   // that traversed the port
    EscapeIssued issued;                 // tokens that may come back
    Ring<Frame> queue;                   // the dedicated queue
    std::uint32_t reserved = 0;          // frames in it whose places tokens have reserved
    Duration period{};                   // Delta^esc
    Time next = Time::never();           // of TriggerEscape while the port asks its peer to pause
    Time announce_next = Time::never();  // while frames wait behind it and the peer pauses it
  };
  Port& at(PortId port) { return ports_[port.value]; }
  bool serves(Tc tc) const { return (classes_ & bit_of(tc)) != 0; }
  bool between_switches(PortId port) const;

  // The flow traverses the port. If it left by another one before, as rules have changed, a token on its
  // account would reserve a place there for a frame that comes here.
  void note(PortId out, const SwitchFlow& flow) {
    if (at(out).flows.note(flow)) forget_at_others(out, flow.key());
  }
  void forget_at_others(PortId out, std::uint64_t key);
  Duration period_of(PortId port) const;
  bool takes_tokens(PortId port) const;
  void clear_hol_block(PortId ingress, Tc tc, Time now);
  std::uint32_t take_token(PortId port_id, const EscapeIssued::Token& token);
  void send_token(PortId ingress, const SwitchFlow& flow, Tc tc, std::uint16_t hops, std::uint32_t number);
  void receive_token(PortId egress, const Packet& packet, Time now);
  void let_escape(PortId egress, QueuedFrame frame, std::uint8_t hops, bool reserved);
  void exchange(PortId in, PortId out, QueuedFrame older, PacketRef packet, Time now);
  void queue_frame(PortId egress, Frame frame);
  void receive_frame(PortId in, std::span<const PortId> outs, PacketRef packet, Time now);
  // escape_extensions.cc: what the chapter has not
  void on_enqueued_more(PortId out, const Packet& packet, Time now);
  void refuse_token(PortId egress, EscapeToken token, EscapeTokenMark why);
  void receive_returned(PortId ingress, const EscapeToken& token, Time now);
  void wait_to_announce(PortId port, TcMask classes, Time now);
  void announce(PortId port, Time now);
  void receive_announcement(PortId in, std::span<const PortId> outs, PacketRef packet);

  SwitchActions actions_;
  Params params_;
  TcMask classes_;  // lossless classes that Escape serves
  Rng rng_;         // how long flows rest that contend for places
  std::vector<Port> ports_;
  std::uint64_t held_frames_ = 0;  // in all dedicated queues
};

}  // namespace rocelab
