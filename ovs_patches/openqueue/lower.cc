#include "ovs_patches/openqueue/lower.h"

#include <algorithm>

#include "ovs_patches/openqueue/bounds.h"
#include "ovs_patches/openqueue/checks.h"
#include "ovs_patches/openqueue/code.h"
#include "ovs_patches/openqueue/expand.h"
#include "ovs_patches/openqueue/integral.h"

namespace rocelab::oq {
namespace {

class Lowering {
 public:
  Lowering(Model& model, const SwitchConfig& config, std::span<const PortConfig> ports,
           Diagnostics& diagnostics)
      : model_(model), ranges_(model, config, ports), diagnostics_(diagnostics), code_(program_) {}

  PolicyProgram run() {
    for (const ModelTurn& turn : model_.turns) attempt([&] { lower_turn(turn); });
    for (std::uint32_t i = 0; i < model_.queues.size(); ++i) attempt([&] { queue(i); });
    for (std::uint32_t i = 0; i < model_.buffers.size(); ++i) attempt([&] { buffer(i); });
    for (std::uint32_t i = 0; i < model_.ports.size(); ++i) attempt([&] { port(i); });
    for (const ModelSelection& selection : model_.select)
      attempt([&] { program_.select.push_back(selection_of(selection)); });
    program_.declared_states = model_.declared_states;
    program_.state_slots += static_cast<std::uint32_t>(model_.declared_states.size());
    program_.counts_arrivals = model_.counts_arrivals;
    const auto table = [](const ModelTable& from) { return PolicyTable{from.given, from.by_dscp}; };
    program_.value = table(model_.value);
    program_.processing = table(model_.processing);
    program_.slack = table(model_.slack);
    return std::move(program_);
  }

 private:
  void attempt(const auto& what) {
    try {
      what();
    } catch (const Complaint& complaint) {
      diagnostics_.error(complaint);
    }
  }

  PolicyCode code(const Tree& exact, const Owner& owner, std::span<const std::uint32_t> occupied) {
    const Tree tree = integral(exact);
    ranges_.check(tree, occupied);
    return code_.of(tree, owner);
  }

  PolicyAction action(const ModelAction& from, const Owner& owner, std::span<const std::uint32_t> occupied) {
    PolicyAction made;
    made.kind = from.kind;
    made.of = from.of;
    made.slot = from.slot;
    made.share = share_of(from.share);
    if (from.kind != PolicyAction::Kind::kModify) return made;
    const std::uint32_t mine = from.of == PolicyAction::Of::kQueue    ? owner.queue
                               : from.of == PolicyAction::Of::kBuffer ? owner.buffer
                                                                      : owner.port;
    made.object = from.object == mine ? kContextObject : from.object;
    made.value = code(from.value, owner, occupied);
    return made;
  }

  std::vector<PolicyAction> actions(const std::vector<ModelAction>& from, const Owner& owner,
                                    std::span<const std::uint32_t> occupied) {
    std::vector<PolicyAction> made;
    made.reserve(from.size());
    for (const ModelAction& one : from) made.push_back(action(one, owner, occupied));
    return made;
  }

  PolicyCases cases(const std::vector<ModelCase>& from, const Owner& owner,
                    std::span<const std::uint32_t> occupied) {
    PolicyCases made;
    for (const ModelCase& one : from) {
      PolicyCase next;
      if (one.predicate) next.predicate = code(*one.predicate, owner, occupied);
      next.actions = actions(one.actions, owner, occupied);
      made.push_back(std::move(next));
      if (!one.predicate && &one != &from.back()) {
        diagnostics_.warn((&one + 1)->place, "this case is never reached: the one before it always holds");
        break;
      }
    }
    return made;
  }

  PolicyKey key(const ModelOrder& order, bool reversed = false) {
    const std::uint32_t context[] = {kContextObject};
    PolicyKey made;
    for (const ModelOrder::Component& component : order.components) {
      PolicyKey::Component next;
      Scaled value = scaled(component.value);
      if (component.divisor) {
        // value and divisor keep their scales apart: both sides of a comparison have the same.
        Tree divisor = scaled(*component.divisor).tree;
        ranges_.check(divisor, context);
        if (ranges_.of(divisor).least < 1)
          complain(divisor.place, "this divisor can be " + decimal(ranges_.of(divisor).least) +
                                      ": in an order it is at least 1");
        next.divisor = code_.of(divisor, {});
      }
      if (reversed) value.tree = minus(std::move(value.tree));
      ranges_.check(value.tree, context);
      next.value = code_.of(value.tree, {});
      made.components.push_back(next);
    }
    return made;
  }

  static Tree minus(Tree tree) {
    if (tree.op == Tree::Op::kSub && tree.kids[0].op == Tree::Op::kNumber && tree.kids[0].number.is_zero())
      return Tree(std::move(tree.kids[1]));
    Tree made;
    made.op = Tree::Op::kSub;
    made.place = tree.place;
    made.dim = tree.dim;
    made.kids.resize(1);
    made.kids[0].place = tree.place;
    made.kids.push_back(std::move(tree));
    return made;
  }

  PolicyOrder order(const OrderRef& from, PolicyOrder::Kind otherwise) {
    PolicyOrder made;
    made.kind = otherwise;
    if (from == nullptr) return made;
    made.kind = from->kind;
    if (made.kind == PolicyOrder::Kind::kKey) made.key = key(*from);
    return made;
  }

  void lower_turn(const ModelTurn& turn) {
    const std::uint32_t context[] = {kContextObject};
    PolicyTurn made;
    made.name = turn.name;
    made.enter = actions(turn.enter, {}, context);
    made.serve = code(turn.serve, {}, context);
    made.after = actions(turn.after, {}, context);
    made.empty = actions(turn.empty, {}, {});
    program_.turns.push_back(std::move(made));
  }

  void queue(std::uint32_t number) {
    const ModelQueue& from = model_.queues[number];
    PolicyQueue made;
    made.name = from.name;
    made.port = from.port;
    made.index = from.index;
    made.buffer = from.buffer;
    made.size = from.size;
    made.in_packets = from.in_packets;
    made.lossless = from.lossless;
    made.takes = from.takes;
    made.strict = from.strict;
    made.quantum = from.quantum;
    made.count_above = from.count_above;
    made.service = order(from.service, PolicyOrder::Kind::kOldest);
    made.drop = order(from.drop, PolicyOrder::Kind::kNewest);
    const std::uint32_t occupied[] = {number};
    const Owner owner{number, kNoPolicyObject, kNoPolicyObject};
    made.congestion = cases(from.congestion, owner, occupied);
    made.post_admission = cases(from.post_admission, owner, occupied);
    if (marks(made.congestion) || marks(made.post_admission)) program_.marks |= from.takes;
    program_.queues.push_back(std::move(made));
  }

  void buffer(std::uint32_t number) {
    const ModelBuffer& from = model_.buffers[number];
    PolicyBuffer made;
    made.name = from.name;
    made.size = from.size;
    made.in_packets = from.in_packets;
    made.queues = from.queues;
    if (from.drop_from != nullptr) made.drop_from = key(*from.drop_from, from.last_loses);
    const std::uint32_t occupied[] = {kContextObject};
    const Owner owner{kNoPolicyObject, number, kNoPolicyObject};
    made.congestion = cases(from.congestion, owner, occupied);
    made.post_admission = cases(from.post_admission, owner, occupied);
    if (marks(made.congestion) || marks(made.post_admission))
      for (const std::uint32_t one : made.queues) program_.marks |= model_.queues[one].takes;
    program_.buffers.push_back(std::move(made));
  }

  void port(std::uint32_t number) {
    const ModelPort& from = model_.ports[number];
    PolicyPort made;
    made.name = from.name;
    made.egress = PortId{from.egress};
    made.internal = from.internal;
    made.drops_ahead = from.drops_ahead;
    made.share = share_of(from.share);
    made.rate = from.rate;
    made.cycle = from.cycle;
    made.queues = from.queues;
    made.schedule.has_strict = from.has_strict;
    if (from.strict_order != nullptr) made.schedule.strict_order = key(*from.strict_order);
    if (from.order != nullptr) made.schedule.order = key(*from.order);
    made.schedule.turn = from.turn;
    if (from.turn != kNoPolicyObject) {
      try {
        visits_ = std::max(visits_, turn_visits(model_, from, ranges_));
      } catch (const Complaint& complaint) {
        throw outside_library(complaint, from.schedule_place);
      }
    }
    const Owner owner{kNoPolicyObject, kNoPolicyObject, number};
    made.post_scheduling = cases(from.post_scheduling, owner, {});
    if (marks(made.post_scheduling))
      for (const std::uint32_t one : made.queues) program_.marks |= model_.queues[one].takes;
    if (from.next) made.next = selection_of(*from.next);
    program_.ports.push_back(std::move(made));
  }

  PolicySelection selection_of(const ModelSelection& from) {
    PolicySelection made;
    for (const ModelSelection::Arm& arm : from.arms) {
      PolicySelection::Case next;
      if (arm.predicate) next.predicate = code(*arm.predicate, {}, {});
      next.first = arm.first;
      next.count = arm.count;
      if (arm.index) next.index = code(*arm.index, {}, {});
      made.cases.push_back(next);
    }
    return made;
  }

  static bool marks(const PolicyCases& cases) {
    for (const PolicyCase& one : cases)
      for (const PolicyAction& action : one.actions)
        if (action.kind == PolicyAction::Kind::kMark) return true;
    return false;
  }

 public:
  const Ranges& ranges() const { return ranges_; }
  std::int64_t visits() const { return visits_; }

 private:
  Model& model_;
  Ranges ranges_;
  Diagnostics& diagnostics_;
  PolicyProgram program_;
  Code code_;
  std::int64_t visits_ = 0;
};

}  // namespace

PolicyProgram lower(Model& model, const SwitchConfig& config, std::span<const PortConfig> ports,
                    Diagnostics& diagnostics) {
  Lowering lowering(model, config, ports, diagnostics);
  find_ways(model, lowering.ranges(), config, diagnostics);
  if (diagnostics.failed()) return {};
  check_lossless(model, config, diagnostics);
  PolicyProgram program = lowering.run();
  if (!diagnostics.failed()) program.bounds = bounds_of(program, config, lowering.visits());
  return program;
}

}  // namespace rocelab::oq
