// ReferencePolicy: what an expanded program means, word for word, behind PolicyInstance's interface.
// Comparators are asked pair by pair in a linear search, predicates are walked as trees of exact fractions;
// there is no code, no rank and no heap. Tests compare PolicyInstance with it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "ovs_patches/openqueue/model.h"
#include "ovs_patches/switch_model/policy/instance.h"

namespace rocelab::oq {

class ReferencePolicy {
 public:
  // `model` outlives it. `most_evictions`: PolicyBounds::evictions.
  ReferencePolicy(const Model& model, std::uint64_t most_evictions, const Rng& rng);

  void arrive(std::uint32_t node, PolicyPacket packet, Time now, PolicyOutcome& outcome);
  std::optional<std::uint32_t> pick(std::uint32_t port, TcMask paused, Time now);
  void leave(std::uint32_t node, std::int64_t held, Time now, PolicyOutcome& outcome);
  void remove(std::uint32_t node, Time now);
  void adopt(std::uint32_t node, PolicyPacket packet, Time now);
  Time next_move() const;
  bool move(Time now, PolicyInstance::Move& what);

  bool waits(std::uint32_t node) const { return frames_.contains(node); }
  std::uint32_t queue_of(std::uint32_t node) const { return frames_.at(node).queue; }
  std::int64_t bytes(std::uint32_t queue) const;
  std::int64_t packets(std::uint32_t queue) const;

 private:
  struct Fraction {
    __int128 num = 0, den = 1;
  };
  struct Frame {
    PolicyPacket packet;
    std::uint64_t number = 0;
    std::uint32_t queue = 0;
    bool on_its_way = false;  // counted in `queue`, not yet in it
    std::uint32_t mover = kNoPolicyObject;
  };
  struct Context {
    PolicyPacket* packet = nullptr;
    std::uint32_t queue = kNoPolicyObject, buffer = kNoPolicyObject, port = kNoPolicyObject;
    Time now{};
    Rng* rng = nullptr;
    std::uint32_t node = kNone;
    // Of comparators: the two packets, or the two queues.
    const PolicyPacket *first = nullptr, *second = nullptr;
    std::uint32_t first_queue = kNoPolicyObject, second_queue = kNoPolicyObject;
  };
  static constexpr std::uint32_t kNone = 0xffffffff;

  Fraction value(const Tree& tree, const Context& context);
  std::int64_t whole(const Tree& tree, const Context& context);
  bool holds(const Tree& tree, const Context& context);
  std::int64_t leaf(const Tree& tree, const Context& context);
  std::int64_t field(const PolicyPacket& packet, PacketField field) const;
  bool draw(Rational share, Rng& rng);

  static std::string state_name(char kind, std::uint32_t object, std::uint8_t slot);

  std::vector<std::uint32_t> in_order(std::uint32_t queue) const;  // nodes, as admitted
  std::uint32_t head(std::uint32_t queue);
  std::uint32_t victim(std::uint32_t queue);
  bool before(const ModelOrder& order, std::uint32_t a, std::uint32_t b);  // nodes
  bool queue_before(const ModelOrder* order, std::uint32_t a, std::uint32_t b);
  std::uint32_t first_queue(const ModelOrder* order, const std::vector<std::uint32_t>& queues);
  std::uint32_t losing_queue(const ModelBuffer& buffer);
  Context context_of(std::uint32_t queue, std::uint32_t node, Time now);
  void judge(std::uint32_t node, Time now, PolicyOutcome& outcome);
  void congestion(const std::vector<ModelCase>& cases, Context context, const auto& choose,
                  PolicyOutcome& outcome);
  void drop(std::uint32_t node, const Context& context, PolicyOutcome& outcome);
  void emptied(std::uint32_t queue, const Context& context);
  bool exceeds(std::uint32_t queue) const;
  void left(std::uint32_t queue);  // a frame has left it, in whatever way
  void act(const ModelAction& action, const Context& context, PolicyOutcome& outcome);
  void act_first(const std::vector<ModelCase>& cases, const Context& context, PolicyOutcome& outcome);
  std::uint32_t select(const ModelSelection& selection, const Context& context);
  void join(std::uint32_t node, PolicyPacket packet, Time now);
  std::uint32_t pick_queue(std::uint32_t port, const std::vector<std::uint32_t>& eligible, Time now);
  bool takes(std::uint32_t queue, std::uint32_t node, Time now);
  PolicyPacket take_leave(std::uint32_t node, std::int64_t held, Time now, PolicyOutcome& outcome);

  struct Port {
    Rng rng;
    std::uint32_t current = 0;  // whose turn it is, or which sent last
    std::uint32_t moving = kNone;
    Time arrives{};
  };
  const Model& model_;
  std::uint64_t most_evictions_;
  std::map<std::uint32_t, Frame> frames_;
  std::vector<Rng> queue_rngs_, buffer_rngs_, select_rngs_;
  std::vector<Port> ports_;
  std::map<std::string, std::int64_t> states_;
  std::uint64_t numbers_ = 0;
  std::map<std::uint32_t, std::uint32_t> served_last_;  // by queue: the ingress port
  std::map<std::uint32_t, std::uint32_t> lost_last_;    // by buffer: the place of its queue
  std::map<std::pair<std::uint32_t, std::uint16_t>, std::uint32_t> arrivals_;  // by queue and ingress port
};

}  // namespace rocelab::oq
