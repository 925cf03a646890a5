// Model: a program expanded for one switch. Every queue, buffer and port by itself, every name resolved, but
// nothing lowered yet: comparators still compare two objects, numbers are still exact. lower.cc makes a
// PolicyProgram of it, reference.cc interprets it as it stands.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ovs_patches/openqueue/ast.h"
#include "ovs_patches/openqueue/dimension.h"
#include "ovs_patches/switch_model/policy/program.h"

namespace rocelab::oq {

inline constexpr std::size_t kMostQueues = 16'384, kMostPortQueues = 64, kMostSteps = 400'000;

// A comparator's two objects, in Tree::object. (kContextObject: the object whose code it is.)
inline constexpr std::uint32_t kFirstOfPair = 0xfffffffe, kSecondOfPair = 0xfffffffd;

struct Tree {
  enum class Op : std::uint8_t {
    kNumber,
    kNow,
    kPacket,  // of comparators: the packet `object`
    kHead,
    kQueue,
    kBuffer,
    kPort,
    kAdd,
    kSub,
    kMul,
    kDiv,
    kMod,
    kMin,
    kMax,
    kWire,
    kTrue,
    kFalse,
    kLess,
    kLessEqual,
    kEqual,
    kNotEqual,
    kAnd,
    kOr,
    kNot,
    kChance,
  };
  Op op = Op::kNumber;
  std::uint8_t field = 0, slot = 0;
  Dim dim = Dim::kNumber;
  std::uint32_t object = kContextObject;
  Rational number;
  Place place;
  std::vector<Tree> kids;
};

// Nothing about places.
bool same(const Tree& a, const Tree& b);

struct ModelAction {
  PolicyAction::Kind kind{};
  PolicyAction::Of of{};
  std::uint8_t slot = 0;
  std::uint32_t object = kContextObject;
  Rational share{1};
  Tree value;
  Place place;
};

struct ModelCase {
  std::optional<Tree> predicate;
  std::vector<ModelAction> actions;
  Place place;
};

// An order over packets or queues: `less` as the program has it, and the keys that it amounts to.
struct ModelOrder {
  struct Component {
    Tree value;  // of kContextObject; smaller first
    std::optional<Tree> divisor;
  };
  std::string name;
  Place place;
  bool packets = false;
  Tree less;
  std::vector<Component> components;
  PolicyOrder::Kind kind = PolicyOrder::Kind::kKey;  // packets: by arrival alone
};
using OrderRef = std::shared_ptr<const ModelOrder>;

struct ModelQueue {
  std::string name;
  Place place;
  std::uint32_t port = kNoPolicyObject, index = 0, buffer = kNoPolicyObject;
  std::int64_t size = 0;
  bool in_packets = false, lossless = false;
  TcMask takes = 0;
  std::int64_t strict = 0, quantum = 0, count_above = 0;
  OrderRef service, drop;
  std::vector<ModelCase> congestion, post_admission;
  Dim quantum_dim = Dim::kAny;
  Place drop_place, strict_place, congestion_place;
};

struct ModelBuffer {
  std::string name;
  Place place;
  std::int64_t size = 0;
  bool in_packets = false;
  std::vector<std::uint32_t> queues;
  OrderRef drop_from;
  bool last_loses = false;  // queuePrio: the last in the order loses
  std::vector<ModelCase> congestion, post_admission;
};

struct ModelTurn {
  std::string name;
  Place place;
  std::vector<ModelAction> enter, after, empty;
  Tree serve;
};

// What has to be shown of an index, so that it names an element.
struct IndexBound {
  Tree tree;
  std::int64_t least = 0, most = 0, stride = 1;
};

struct ModelSelection {
  struct Arm {
    std::optional<Tree> predicate;
    std::uint32_t first = 0, count = 1;  // the index is below count
    std::optional<Tree> index;
    std::vector<IndexBound> bounds;  // of the indices that `index` is made of
    Place place;
  };
  std::vector<Arm> arms;
  Place place;
};

// Every queue that an arm can name.
void each_queue(const ModelSelection::Arm& arm, const auto& visit) {
  const auto walk = [&](const auto& self, std::size_t i, std::int64_t queue) -> void {
    if (i == arm.bounds.size()) return visit(static_cast<std::uint32_t>(queue));
    const IndexBound& bound = arm.bounds[i];
    for (std::int64_t at = 0; at <= bound.most - bound.least; ++at)
      self(self, i + 1, queue + at * bound.stride);
  };
  walk(walk, 0, arm.first);
}

struct ModelPort {
  std::string name;
  Place place;
  std::uint16_t egress = 0;
  bool internal = false, drops_ahead = false;
  Rational share{1};
  std::int64_t rate = 0, cycle = 0;
  std::vector<std::uint32_t> queues;
  bool has_strict = false;
  OrderRef strict_order, order;
  std::uint32_t turn = kNoPolicyObject;
  Place schedule_place;
  std::vector<ModelCase> post_scheduling;
  std::vector<std::uint32_t> targets;  // internal: what its frames may go to
  std::optional<ModelSelection> next;
};

struct ModelTable {
  bool given = false;
  std::array<std::int64_t, kDscps> by_dscp{};
};

struct Model {
  std::vector<ModelQueue> queues;
  std::vector<ModelBuffer> buffers;
  std::vector<ModelPort> ports;
  std::vector<ModelTurn> turns;
  std::vector<ModelSelection> select;        // by egress port
  std::vector<std::string> declared_states;  // by slot, from kFirstDeclaredState on
  ModelTable value, processing, slack;
  bool modifies_value = false;
  bool counts_arrivals = false;
};

}  // namespace rocelab::oq
