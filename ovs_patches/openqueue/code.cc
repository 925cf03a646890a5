#include "ovs_patches/openqueue/code.h"

#include <algorithm>
#include <tuple>

namespace rocelab::oq {
namespace {

using TreeOp = Tree::Op;

PolicyOp op_of(TreeOp op) {
  switch (op) {
    case TreeOp::kAdd:
      return PolicyOp::kAdd;
    case TreeOp::kSub:
      return PolicyOp::kSub;
    case TreeOp::kMul:
      return PolicyOp::kMul;
    case TreeOp::kDiv:
      return PolicyOp::kDiv;
    case TreeOp::kMod:
      return PolicyOp::kMod;
    case TreeOp::kMin:
      return PolicyOp::kMin;
    case TreeOp::kMax:
      return PolicyOp::kMax;
    case TreeOp::kLess:
      return PolicyOp::kLess;
    case TreeOp::kLessEqual:
      return PolicyOp::kLessEqual;
    case TreeOp::kEqual:
      return PolicyOp::kEqual;
    case TreeOp::kNotEqual:
      return PolicyOp::kNotEqual;
    case TreeOp::kAnd:
      return PolicyOp::kAnd;
    case TreeOp::kOr:
      return PolicyOp::kOr;
    case TreeOp::kNot:
      return PolicyOp::kNot;
    case TreeOp::kWire:
      return PolicyOp::kWire;
    case TreeOp::kNow:
      return PolicyOp::kNow;
    case TreeOp::kPacket:
      return PolicyOp::kPacket;
    case TreeOp::kHead:
      return PolicyOp::kHead;
    case TreeOp::kQueue:
      return PolicyOp::kQueue;
    case TreeOp::kBuffer:
      return PolicyOp::kBuffer;
    case TreeOp::kPort:
      return PolicyOp::kPort;
    case TreeOp::kChance:
      return PolicyOp::kChance;
    case TreeOp::kNumber:
    case TreeOp::kTrue:
    case TreeOp::kFalse:
      break;
  }
  return PolicyOp::kConstant;
}

}  // namespace

PolicyShare share_of(Rational value) {
  return {static_cast<std::uint32_t>(value.num()), static_cast<std::uint32_t>(value.den())};
}

bool Code::Less::operator()(const std::vector<PolicyInstruction>& a,
                            const std::vector<PolicyInstruction>& b) const {
  return std::lexicographical_compare(
      a.begin(), a.end(), b.begin(), b.end(), [](const PolicyInstruction& x, const PolicyInstruction& y) {
        return std::tie(x.op, x.to, x.a, x.b, x.operand) < std::tie(y.op, y.to, y.a, y.b, y.operand);
      });
}

std::uint32_t Code::constant(std::int64_t value) {
  const auto [at, fresh] =
      constants_.try_emplace(value, static_cast<std::uint32_t>(program_.constants.size()));
  if (fresh) program_.constants.push_back(value);
  return at->second;
}

std::uint32_t Code::share(Rational value) {
  const auto [at, fresh] =
      shares_.try_emplace({value.num(), value.den()}, static_cast<std::uint32_t>(program_.shares.size()));
  if (fresh) program_.shares.push_back(share_of(value));
  return at->second;
}

// Registers are a stack: a tree's value is in `to`, and what is above is free.
void Code::emit(const Tree& tree, const Owner& owner, std::uint8_t to) {
  if (to + 1u >= kRegisters) complain(tree.place, "this expression is nested too deeply: shorten it");
  PolicyInstruction next;
  next.op = op_of(tree.op);
  next.to = to;
  const auto context = [&](std::uint32_t mine) {
    next.operand = tree.object == mine || tree.object >= kSecondOfPair ? kContextObject : tree.object;
    next.a = tree.field;
    next.b = tree.slot;
  };
  switch (tree.op) {
    case TreeOp::kNumber:
      next.operand = constant(tree.number.num());
      break;
    case TreeOp::kTrue:
    case TreeOp::kFalse:
      next.operand = constant(tree.op == TreeOp::kTrue ? 1 : 0);
      break;
    case TreeOp::kChance:
      next.operand = share(tree.number);
      break;
    case TreeOp::kPacket:
      next.a = tree.field;
      break;
    case TreeOp::kHead:
    case TreeOp::kQueue:
      context(owner.queue);
      break;
    case TreeOp::kBuffer:
      context(owner.buffer);
      break;
    case TreeOp::kPort:
      context(owner.port);
      break;
    default:
      for (std::size_t i = 0; i < tree.kids.size(); ++i)
        emit(tree.kids[i], owner, static_cast<std::uint8_t>(to + i));
      next.a = to;
      if (tree.kids.size() > 1) next.b = static_cast<std::uint8_t>(to + 1);
  }
  made_.push_back(next);
}

PolicyCode Code::of(const Tree& tree, const Owner& owner) {
  made_.clear();
  emit(tree, owner, 0);
  if (made_.size() > kMostInstructions)
    complain(tree.place, "this expression takes " + std::to_string(made_.size()) + " instructions, at most " +
                             std::to_string(kMostInstructions) + " are allowed");
  const auto [at, fresh] = known_.try_emplace(made_);
  if (fresh) {
    at->second = {static_cast<std::uint32_t>(program_.code.size()), static_cast<std::uint32_t>(made_.size())};
    program_.code.insert(program_.code.end(), made_.begin(), made_.end());
  }
  return at->second;
}

}  // namespace rocelab::oq
