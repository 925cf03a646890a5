// The part of Resolver that reads actions and cases.
#include "ovs_patches/openqueue/resolve.h"

namespace rocelab::oq {

ModelAction Resolver::action(const Action& action, const Env& env, bool may_drop) {
  ModelAction made;
  made.place = action.place;
  switch (action.kind) {
    case Action::Kind::kDrop:
      if (!may_drop)
        complain(action.place, "drop is an action of congestion: here the packet has been admitted");
      made.kind = PolicyAction::Kind::kDrop;
      if (action.value) made.share = share(*action.value, env.scope);
      break;
    case Action::Kind::kMark:
      made.kind = PolicyAction::Kind::kMark;
      break;
    case Action::Kind::kNotify:
      made.kind = PolicyAction::Kind::kNotify;
      break;
    case Action::Kind::kPause:
      made.kind = PolicyAction::Kind::kPauseUpstream;
      break;
    case Action::Kind::kResume:
      made.kind = PolicyAction::Kind::kResumeUpstream;
      break;
    case Action::Kind::kModify: {
      made.kind = PolicyAction::Kind::kModify;
      Expr target;
      target.op = Op::kPath;
      target.place = action.target.front().place;
      target.path = action.target;
      Tree left = resolve(target, env);
      const auto is_state = [&](Tree::Op op, std::uint8_t field) {
        return left.op == op && left.field == field;
      };
      if (is_state(Tree::Op::kPacket, static_cast<std::uint8_t>(PacketField::kValue))) {
        made.of = PolicyAction::Of::kPacketValue;
        model_.modifies_value = true;
      } else if (is_state(Tree::Op::kQueue, static_cast<std::uint8_t>(QueueField::kState))) {
        made.of = PolicyAction::Of::kQueue;
      } else if (is_state(Tree::Op::kBuffer, static_cast<std::uint8_t>(BufferField::kState))) {
        made.of = PolicyAction::Of::kBuffer;
      } else if (is_state(Tree::Op::kPort, static_cast<std::uint8_t>(PortField::kState))) {
        made.of = PolicyAction::Of::kPort;
      } else {
        complain(target.place, print(action.target) +
                                   " cannot be modified: only schedState, admState, weightAdm, weightSched, "
                                   "packet.value and what `state` declares can");
      }
      made.slot = left.slot;
      made.object = left.object;
      Tree right = resolve(*action.value, env);
      Expr both;
      both.place = action.place;
      both.kids = {target, *action.value};
      unify(left, right, both, "assigned");
      made.value = std::move(right);
      break;
    }
  }
  return made;
}

std::vector<ModelCase> Resolver::cases(const std::vector<Case>& cases, const Env& env, bool may_drop) {
  constexpr std::size_t kMostCases = 16, kMostActions = 8;
  if (cases.size() > kMostCases)
    complain(cases[kMostCases].place, "a condition has at most " + std::to_string(kMostCases) + " cases");
  std::vector<ModelCase> made;
  for (const Case& one : cases) {
    ModelCase next;
    next.place = one.place;
    if (one.predicate) {
      Tree tree = predicate(*one.predicate, env);
      if (tree.op == Tree::Op::kFalse) continue;
      if (tree.op != Tree::Op::kTrue) next.predicate = std::move(tree);
    }
    if (one.actions.size() > kMostActions)
      complain(one.actions[kMostActions].place,
               "a case has at most " + std::to_string(kMostActions) + " actions");
    for (const Action& each : one.actions) next.actions.push_back(action(each, env, may_drop));
    made.push_back(std::move(next));
  }
  return made;
}

}  // namespace rocelab::oq
