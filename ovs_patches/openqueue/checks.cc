#include "ovs_patches/openqueue/checks.h"

#include <algorithm>
#include <set>

#include "ovs_patches/openqueue/integral.h"

namespace rocelab::oq {
namespace {

using TreeOp = Tree::Op;

bool reads(const Tree& tree, PacketField field) {
  if (tree.op == TreeOp::kPacket && tree.field == static_cast<std::uint8_t>(field)) return true;
  return std::any_of(tree.kids.begin(), tree.kids.end(), [&](const Tree& kid) { return reads(kid, field); });
}

// A selection whose trees are integral.
struct Way {
  ModelSelection selection;
  bool by_dscp = false, by_frame = false;

  explicit Way(const ModelSelection& from) : selection(from) {
    const auto look = [&](const Tree& tree) {
      by_dscp |= reads(tree, PacketField::kDscp);
      by_frame |= reads(tree, PacketField::kClass) || reads(tree, PacketField::kOut);
    };
    for (ModelSelection::Arm& arm : selection.arms) {
      if (arm.predicate) look(arm.predicate.emplace(integral(*arm.predicate)));
      for (IndexBound& bound : arm.bounds) look(bound.tree = integral(bound.tree));
    }
  }

  void each_target(const ModelSelection::Arm& arm, const Ranges& ranges, const KnownFrame& frame,
                   const auto& reach) const {
    struct Span {
      std::int64_t from, to, stride;
    };
    std::vector<Span> spans;
    for (const IndexBound& bound : arm.bounds) {
      const Range range = ranges.of(bound.tree, frame);
      if (range.least < bound.least || range.most > bound.most)
        complain(bound.tree.place, "this index can be " +
                                       decimal(range.least < bound.least ? range.least : range.most) +
                                       ", and the queues have " + std::to_string(bound.least) + " to " +
                                       std::to_string(bound.most));
      spans.push_back({static_cast<std::int64_t>(range.least) - bound.least,
                       static_cast<std::int64_t>(range.most) - bound.least, bound.stride});
    }
    const auto visit = [&](const auto& self, std::size_t i, std::uint32_t queue) -> void {
      if (i == spans.size()) return reach(queue, arm);
      for (std::int64_t at = spans[i].from; at <= spans[i].to; ++at)
        self(self, i + 1, static_cast<std::uint32_t>(queue + at * spans[i].stride));
    };
    visit(visit, 0, arm.first);
  }

  void each(const Ranges& ranges, const KnownFrame& frame, const auto& reach) const {
    for (const ModelSelection::Arm& arm : selection.arms) {
      const Ranges::Truth can =
          arm.predicate ? ranges.truth(*arm.predicate, frame) : Ranges::Truth{true, false};
      if (can.can_hold) each_target(arm, ranges, frame, reach);
      if (!can.can_fail) return;
    }
  }
};

struct Walker {
  Model& model;
  const Ranges& ranges;
  std::vector<std::optional<Way>> next;                      // by port
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen{};  // queue, and class, DSCP and port in one number

  void go(const Way& way, const KnownFrame& frame, std::vector<std::uint32_t>& path) {
    way.each(ranges, frame, [&](std::uint32_t queue, const ModelSelection::Arm& arm) {
      ModelQueue& to = model.queues[queue];
      to.takes |= bit_of(Tc{static_cast<std::uint8_t>(*frame.tc)});
      const ModelPort& port = model.ports[to.port];
      if (!port.internal) {
        if (port.egress != *frame.out)
          complain(arm.place,
                   to.name + " leaves by port " + std::to_string(port.egress) + ", and frames to port " +
                       std::to_string(*frame.out) + " can go to it",
                   port.place, "its port is declared here");
        return;
      }
      if (std::find(path.begin(), path.end(), queue) != path.end())
        complain(arm.place, "frames can come back to " + to.name + ": internal ports must not form a ring");
      const std::uint32_t key = static_cast<std::uint32_t>((*frame.out * kTrafficClasses + *frame.tc) * 64 +
                                                           frame.dscp.value_or(0));
      if (!seen.emplace(queue, key).second) return;
      path.push_back(queue);
      go(*next[to.port], frame, path);
      path.pop_back();
    });
  }
};

}  // namespace

void find_ways(Model& model, const Ranges& ranges, const SwitchConfig& config, Diagnostics& diagnostics) {
  Walker walker{model, ranges, {}};
  bool by_dscp = false;
  for (const ModelPort& port : model.ports) {
    walker.next.emplace_back();
    if (!port.internal) continue;
    walker.next.back().emplace(*port.next);
    by_dscp |= walker.next.back()->by_dscp;
  }
  for (std::size_t out = 0; out < model.select.size(); ++out) {
    try {
      const Way way(model.select[out]);
      std::set<std::uint8_t> classes;
      for (std::uint8_t dscp = 0; dscp < kDscps; ++dscp) {
        const Tc tc = config.class_map.of(dscp);
        const bool fresh = classes.insert(tc.value).second;
        if (!fresh && !way.by_dscp && !by_dscp) continue;
        std::vector<std::uint32_t> path;
        walker.go(way, {tc.value, dscp, static_cast<std::int64_t>(out)}, path);
      }
      if (!config.class_map.knows(0) || config.class_map.of(0).value != 0) {  // what has no IP header
        std::vector<std::uint32_t> path;
        walker.go(way, {0, 0, static_cast<std::int64_t>(out)}, path);
      }
    } catch (const Complaint& complaint) {
      diagnostics.error(complaint);
    }
  }
}

void check_lossless(Model& model, const SwitchConfig& config, Diagnostics& diagnostics) {
  if (!config.pfc.enabled) return;
  TcMask lossless = 0, may_drop = 0;
  for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc) {
    if (config.classes[tc].lossless) lossless |= bit_of(Tc{tc});
    if (config.classes[tc].egress_max > 0_B) may_drop |= bit_of(Tc{tc});
  }
  const auto first = [](TcMask mask) {
    int tc = 0;
    while ((mask & (1 << tc)) == 0) ++tc;
    return std::to_string(tc);
  };
  for (ModelQueue& queue : model.queues) {
    const TcMask mine = queue.takes & lossless;
    if (mine == 0) continue;
    try {
      if (queue.takes != bit_of(Tc{static_cast<std::uint8_t>(std::stoi(first(mine)))}))
        complain(
            queue.place,
            queue.name + " takes class " + first(mine) + ", which is lossless, and class " +
                first(static_cast<TcMask>(queue.takes & ~(1 << std::stoi(first(mine))))) +
                ": a pause of one would stop the other. Select a queue of its own for the lossless class");
      queue.lossless = true;
      for (const ModelCase& one : queue.congestion)
        for (const ModelAction& action : one.actions) {
          if (action.kind != PolicyAction::Kind::kDrop || action.share.is_zero()) continue;
          if ((mine & may_drop) == 0)
            complain(
                queue.congestion_place,
                queue.name + " takes class " + first(mine) + ", which is lossless: nothing may drop from it",
                queue.place, queue.name + " is declared here");
          queue.lossless = false;
        }
      const ModelPort& port = model.ports[queue.port];
      if (port.internal && port.drops_ahead)
        complain(port.place, port.name + " sends to queues that may drop, and serves class " + first(mine) +
                                 ", which is lossless");
    } catch (const Complaint& complaint) {
      diagnostics.error(complaint);
    }
  }
}

namespace {

// state := state + amount, or - amount.
struct Step {
  std::uint8_t slot = 0;
  bool adds = false;
  Tree amount;
};

bool is_state(const Tree& tree, std::uint8_t slot) {
  return tree.op == TreeOp::kQueue && tree.field == static_cast<std::uint8_t>(QueueField::kState) &&
         tree.slot == slot;
}

std::optional<Step> step_of(const ModelAction& action) {
  if (action.kind != PolicyAction::Kind::kModify || action.of != PolicyAction::Of::kQueue)
    return std::nullopt;
  const Tree& value = action.value;
  if (value.op != TreeOp::kAdd && value.op != TreeOp::kSub) return std::nullopt;
  if (is_state(value.kids[0], action.slot)) return Step{action.slot, value.op == TreeOp::kAdd, value.kids[1]};
  if (value.op == TreeOp::kAdd && is_state(value.kids[1], action.slot))
    return Step{action.slot, true, value.kids[0]};
  return std::nullopt;
}

// Of an exact tree, rounded outwards.
Range outer_range(const Tree& tree, const Ranges& ranges) {
  const Scaled made = scaled(tree);
  const Range range = ranges.of(made.tree);
  const auto floor = [&](__int128 value) { return value / made.scale - (value % made.scale < 0 ? 1 : 0); };
  return {floor(range.least), -floor(-range.most)};
}

// The same tree with the queue at hand in place of the one whose turn it is.
Tree of_queue(Tree tree, std::uint32_t queue) {
  if (tree.op == TreeOp::kQueue && tree.object == kContextObject) tree.object = queue;
  for (Tree& kid : tree.kids) kid = of_queue(std::move(kid), queue);
  return tree;
}

bool modifies(const std::vector<ModelCase>& cases, std::uint8_t slot) {
  for (const ModelCase& one : cases)
    for (const ModelAction& action : one.actions)
      if (action.kind == PolicyAction::Kind::kModify && action.of == PolicyAction::Of::kQueue &&
          action.slot == slot)
        return true;
  return false;
}

// A head's field and the packet's are one in a turn.
Tree head_as_packet(Tree tree) {
  if (tree.op == TreeOp::kHead) tree.op = TreeOp::kPacket, tree.object = kContextObject;
  for (Tree& kid : tree.kids) kid = head_as_packet(std::move(kid));
  return tree;
}

}  // namespace

std::int64_t turn_visits(const Model& model, const ModelPort& port, const Ranges& ranges) {
  const ModelTurn& turn = model.turns[port.turn];
  const std::string unseen = "cannot see that the turn " + turn.name + " ends: ";
  const auto queues = static_cast<std::int64_t>(port.queues.size());
  const Tree& serve = turn.serve;
  if (serve.op == TreeOp::kTrue) return queues + 1;
  if (serve.op != TreeOp::kLess && serve.op != TreeOp::kLessEqual)
    complain(turn.serve.place, unseen + "write serve when AMOUNT <= STATE, of a state that enter adds to");
  const Tree& state = serve.kids[1];
  if (state.op != TreeOp::kQueue || state.field != static_cast<std::uint8_t>(QueueField::kState))
    complain(turn.serve.place, unseen + "write serve when AMOUNT <= STATE, of a state that enter adds to");
  std::optional<Tree> added;
  for (const ModelAction& action : turn.enter) {
    if (action.kind != PolicyAction::Kind::kModify || action.of != PolicyAction::Of::kQueue ||
        action.slot != state.slot)
      continue;
    const std::optional<Step> step = step_of(action);
    if (!step || !step->adds || added)
      complain(action.place, unseen + "enter must add to the state of serve, once");
    added = step->amount;
  }
  if (!added) complain(turn.place, unseen + "enter adds nothing to the state of serve");
  __int128 floor = 0;  // the least that a state can be
  const Tree asked = head_as_packet(serve.kids[0]);
  for (const ModelAction& action : turn.after) {
    if (action.kind != PolicyAction::Kind::kModify || action.of != PolicyAction::Of::kQueue ||
        action.slot != state.slot)
      continue;
    const std::optional<Step> step = step_of(action);
    if (!step)
      complain(action.place, unseen + "after may only add to the state of serve or subtract from it");
    if (step->adds) {
      floor = std::min(floor, outer_range(head_as_packet(step->amount), ranges).least);
      continue;
    }
    const Tree taken = head_as_packet(step->amount);
    if (!same(taken, asked))
      floor -= std::max<__int128>(0, outer_range(taken, ranges).most - outer_range(asked, ranges).least);
  }
  for (const ModelAction& action : turn.empty) {
    if (action.kind != PolicyAction::Kind::kModify || action.of != PolicyAction::Of::kQueue ||
        action.slot != state.slot)
      continue;
    floor = std::min(floor, outer_range(action.value, ranges).least);
  }
  __int128 most_rounds = 0;
  for (const std::uint32_t queue : port.queues) {
    const ModelQueue& of = model.queues[queue];
    if (modifies(of.congestion, state.slot) || modifies(of.post_admission, state.slot) ||
        modifies(port.post_scheduling, state.slot))
      complain(turn.place, unseen + "its state is modified elsewhere, too", of.place,
               "by " + of.name + " or its port");
    if (port.has_strict && of.strict > 0) continue;
    const Range a = outer_range(of_queue(*added, queue), ranges);
    if (a.least < 1)
      complain(turn.place, unseen + "enter may add " + decimal(a.least) + " for " + of.name, of.place,
               of.name + " has quantum " + std::to_string(of.quantum));
    const __int128 asks =
        outer_range(of_queue(serve.kids[0], queue), ranges).most + (serve.op == TreeOp::kLess ? 1 : 0);
    const __int128 distance = std::max<__int128>(0, asks - floor);
    most_rounds = std::max(most_rounds, (distance + a.least - 1) / a.least + 1);
  }
  const __int128 visits = most_rounds * queues;
  if (visits > kMostVisits)
    complain(turn.place, "the turn " + turn.name + " can visit " + decimal(visits) +
                             " queues for one packet, at most " + std::to_string(kMostVisits) +
                             " are allowed: raise the quantum");
  return static_cast<std::int64_t>(visits);
}

}  // namespace rocelab::oq
