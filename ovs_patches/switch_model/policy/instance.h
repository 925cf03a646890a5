// PolicyInstance: the state of one PolicyProgram in one switch: which frames wait in which of its queues, in
// which order, and what its variables hold. It decides; the switch stores, drops and sends. Frames are named
// by their node, a small number that the caller chooses and that is of one waiting frame at a time.
//
// Draws: drop(P) and `chance` in conditions from Rng.fork("queue/" + its name) (or "buffer/", "port/"),
// `chance` in a selection from Rng.fork("select/" + the number of the egress port).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/packet.h"
#include "base/rng.h"
#include "base/tc_mask.h"
#include "base/units.h"
#include "base/wire_clock.h"
#include "ovs_patches/switch_model/level_order.h"
#include "ovs_patches/switch_model/policy/policy_heap.h"
#include "ovs_patches/switch_model/policy/policy_rotation.h"
#include "ovs_patches/switch_model/policy/program.h"

namespace rocelab {

inline constexpr std::int64_t kPolicyLimit = std::int64_t{1} << 62;  // where values saturate

// What a program sees of a frame.
struct PolicyPacket {
  static constexpr std::int64_t kNoSlack = kPolicyLimit;
  std::int64_t arrival = 0;       // ps
  std::int64_t slack = kNoSlack;  // ps, of a frame that carries one; else the program's table may give it
  std::int64_t value = 0, processing = 0;
  std::uint64_t flow = 0;
  std::int64_t held = 0, xoff = 0,
               xon = 0;  // of its (ingress port, class), this frame counted while it is here
  std::uint32_t size = 0;
  PortId in, out;
  Tc tc;
  std::uint8_t dscp = 0, ecn = 0;
};

// What an arrival or a departure comes to.
struct PolicyDecision {
  bool refused = false;  // arrival: it is its own victim, or the hard bound of its queue or buffer refuses it
  bool mark = false;
  bool pause_upstream = false,
       resume_upstream = false;  // of its (ingress port, class): the last one asked for
  std::uint32_t notified = 0;
};
struct PolicyOutcome : PolicyDecision {
  std::vector<std::uint32_t> evicted;  // nodes in the order of their drops; never that of the arrival
  void clear() {
    static_cast<PolicyDecision&>(*this) = {};
    evicted.clear();
  }
};

class PolicyInstance {
 public:
  // `program` outlives it.
  PolicyInstance(const PolicyProgram& program, const Rng& rng);

  // A frame for egress port `packet.out`. Selects its queue, counts and ranks it there, then asks the
  // conditions of the queue, and of its buffer: the first case that holds acts; where it drops with
  // probability 1 the condition is asked again, else it is done. Then the declared sizes bind, for lossy
  // frames. Not refused: it waits, as `node`.
  void arrive(std::uint32_t node, const PolicyPacket& packet, Time now, PolicyOutcome& outcome);
  // The frame that leaves next by a port of the program, of classes that are not paused. None: nothing waits
  // that may leave.
  std::optional<std::uint32_t> pick(std::uint32_t port, TcMask paused, Time now);
  // The frame that pick() named leaves: counts, then postSchedAct, then `empty` of a turn. `held`: what
  // PolicyPacket::held is now.
  void leave(std::uint32_t node, std::int64_t held, Time now, PolicyOutcome& outcome);
  // A frame leaves by another decision than the program's.
  void remove(std::uint32_t node, Time now);

  // What a waiting frame still needs: for models in which it is served in cycles and may be preempted.
  void set_processing(std::uint32_t node, std::int64_t processing, Time now);

  // A frame of another instance joins without a condition being asked (change = requeue).
  void adopt(std::uint32_t node, const PolicyPacket& packet, Time now);
  void give_up(std::uint32_t node, Time now) { take_out(node, now); }  // joins another instance
  // The frames that wait, in the order of their admission.
  std::vector<std::uint32_t> in_order() const;
  // Internal ports: they move frames from queue to queue, and take a port's time for each. Where nothing is
  // moved in between, none waits longer than it must.
  struct Move {
    std::uint32_t node = 0;
    bool arrived = false;   // it has joined its next queue; else it has left the one before
    PolicyOutcome outcome;  // of the queue that it joined, or the port that took it
  };
  bool moves() const { return !internal_.empty(); }
  Time next_move() const;  // when a frame joins its next queue; never: none is on its way
  // One thing that happens by `now`; false: there is none (left).
  bool move(Time now, Move& what);

  // Frames that other instances hold at an egress port: they count in this one's buffers.
  void carry(PortId egress, Bytes bytes, std::int64_t packets);

  const PolicyProgram& program() const { return *program_; }
  std::uint64_t frames() const { return frames_; }
  bool waits(std::uint32_t node) const {
    return node < waiting_.size() && waiting_[node].queue != kNoPolicyObject;
  }
  const PolicyPacket& packet(std::uint32_t node) const { return waiting_[node].packet; }
  std::uint32_t queue_of(std::uint32_t node) const { return waiting_[node].queue; }
  struct QueueCounts {
    std::uint64_t arrived = 0, dropped = 0, peak_bytes = 0, peak_packets = 0;
    std::int64_t bytes = 0, packets = 0;
  };
  const QueueCounts& counts(std::uint32_t queue) const { return queues_[queue].counts; }
  // Of all frames so far: the most that an arrival or a departure has cost, in the units of PolicyBounds.
  const PolicyBounds& costs() const { return costs_; }

 private:
  static constexpr std::uint32_t kNoNode = 0xffffffff;
  struct Queue {
    Queue(const PolicyQueue& queue, const Rng& rng);
    QueueCounts counts;
    LevelOrder arrivals{1};  // in the order of admission
    PolicyHeap service{false}, drop{true};
    std::unique_ptr<PolicyRotation> rotation;  // PolicyOrder::Kind::kRoundRobin
    std::vector<std::uint32_t> arrivals_from;  // by ingress port, where they are counted
    bool plain = false;      // its rule is tail drop, and nothing else is done about an arrival
    bool has_ranks = false;  // a key orders its service or its drops
    const PolicyKey* order =
        nullptr;  // of the port's queues, which this one is in; null: it has no components
    Rng rng;
    PolicyRanks key{};  // in the port's order of queues
  };
  struct Buffer {
    std::int64_t bytes = 0, packets = 0;  // carried ones included
    std::uint32_t lost_last = 0;
    Rng rng;
  };
  struct Port {
    Port(const PolicyPort& port, const Rng& rng);
    std::uint64_t waiting = 0, strict = 0;                  // bit per queue
    std::array<std::uint64_t, kTrafficClasses> of_class{};  // queues that take this lossless class
    std::uint32_t current = 0;  // whose turn it is; without a turn: which sent last
    bool by_class = false;      // egress: a frame's class alone selects its queue
    std::array<std::uint32_t, kTrafficClasses> queue_of{};  // then
    std::int64_t line_rate;
    WireClock line;
    Rng rng;
    std::uint32_t moving = kNoNode;  // internal: the frame on its way
    Time arrives;
  };
  struct Waiting {
    PolicyPacket packet;
    std::uint64_t number = 0;
    std::uint32_t queue = kNoPolicyObject;
    std::uint32_t moved_by = kNoPolicyObject;  // on its way into `queue`, where it counts: the internal port
  };
  // Whose code runs.
  struct Context {
    const PolicyPacket* packet = nullptr;
    std::uint32_t queue = kNoPolicyObject, buffer = kNoPolicyObject, port = kNoPolicyObject;
    Time now{};
    Rng* rng = nullptr;
    std::uint32_t node = kNoNode;  // the packet's
  };

  std::int64_t value_of(PolicyCode code, const Context& context);
  std::int64_t load(const PolicyInstruction& instruction, const Context& context) const;
  std::int64_t packet_field(const PolicyPacket& packet, PacketField field) const;
  std::int64_t queue_field(std::uint32_t queue, QueueField field, std::uint8_t slot,
                           const PolicyPacket* packet) const;
  std::int64_t buffer_field(std::uint32_t buffer, BufferField field, std::uint8_t slot) const;
  std::int64_t port_field(std::uint32_t port, PortField field, std::uint8_t slot) const;
  bool holds(PolicyCode predicate, const Context& context) {
    return !predicate || value_of(predicate, context) != 0;
  }
  bool draw(PolicyShare share, Rng& rng) const;
  PolicyRanks ranks(const PolicyKey& key, const Context& context);
  Context context_of(std::uint32_t queue, const PolicyPacket* packet, Time now);

  std::uint32_t select(const PolicySelection& selection, const Context& context);
  std::uint32_t select_for(const PolicyPacket& packet, Time now);
  bool only_class_selects(const PolicySelection& selection) const;
  bool is_tail_drop(std::uint32_t queue) const;
  void learn_shapes();
  void fill_in(PolicyPacket& packet) const;
  void make_room_for(std::uint32_t node);
  void insert(std::uint32_t node, std::uint32_t queue, Time now);
  void order(std::uint32_t node, Time now);
  void count(std::uint32_t queue, std::int64_t bytes, std::int64_t packets);
  bool takes(std::uint32_t queue, std::uint32_t node, Time now);
  std::uint32_t next_queue(std::uint32_t port, std::uint32_t node, Time now);
  bool begin_move(std::uint32_t port, Time now, Move& what);
  void end_move(std::uint32_t port, Time now, Move& what);
  void judge(std::uint32_t node, Time now, PolicyOutcome& outcome);
  void rank(std::uint32_t node, Time now);
  void unrank(std::uint32_t node);
  void take_out(std::uint32_t node, Time now);
  void note_service(std::uint32_t node);
  void count_arrival(std::uint32_t queue, PortId in);
  std::uint32_t head(std::uint32_t queue) const;
  std::uint32_t first_victim(std::uint32_t queue) const;
  std::uint32_t queue_to_drop_from(std::uint32_t buffer, Time now);
  void touched(std::uint32_t queue, Time now);
  // Of a queue or buffer, for the frame `context.node` that arrives.
  template <class Victim>
  void congestion(const PolicyCases& cases, const Context& context, Victim&& victim, PolicyOutcome& outcome);
  void drop(std::uint32_t node, const Context& context, PolicyOutcome& outcome);
  void on_empty(std::uint32_t queue, std::uint32_t node, Time now);
  void act(const PolicyAction& action, const Context& context, PolicyOutcome& outcome);
  void act(const std::vector<PolicyAction>& actions, const Context& context, PolicyOutcome& outcome);
  void act_first(const PolicyCases& cases, const Context& context, PolicyOutcome& outcome);
  bool exceeds(std::uint32_t queue) const;
  std::uint32_t pick_queue(std::uint32_t port, std::uint64_t eligible, Time now);
  std::uint32_t pick_turn(const PolicyPort& spec, Port& port, std::uint64_t eligible, Time now);
  std::uint32_t pick_first(const PolicyPort& spec, std::uint64_t eligible) const;
  std::int64_t& state(PolicyAction::Of of, std::uint32_t object, std::uint8_t slot);

  const PolicyProgram* program_;
  std::vector<Queue> queues_;
  std::vector<Buffer> buffers_;
  std::vector<Port> ports_;
  std::vector<Rng> select_rngs_;
  std::vector<std::int64_t> queue_states_, buffer_states_, port_states_;
  std::vector<Waiting> waiting_;            // by node
  std::vector<LevelOrder::Places> places_;  // by node
  PolicyHeap::Places service_places_, drop_places_;
  std::vector<LevelOrder::Places> rotation_places_;     // by node, where a queue serves in turn
  std::vector<std::vector<std::uint32_t>> buffers_at_;  // by egress port
  std::vector<std::uint32_t> internal_;                 // ports
  PolicyOutcome unseen_;                                // of actions whose outcome nobody asks for
  std::uint64_t numbers_ = 0, frames_ = 0, instructions_ = 0;
  PolicyBounds costs_;
};

}  // namespace rocelab
