#include "ovs_patches/openqueue/resolve.h"

#include <algorithm>

namespace rocelab::oq {
namespace {

Tree number_tree(Rational number, Dim dim, Place place) {
  Tree tree;
  tree.number = number;
  tree.dim = number.is_zero() && dim == Dim::kNumber ? Dim::kAny : dim;
  tree.place = place;
  return tree;
}

Tree node(Tree::Op op, Dim dim, Place place, std::vector<Tree> kids) {
  Tree tree;
  tree.op = op;
  tree.dim = dim;
  tree.place = place;
  tree.kids = std::move(kids);
  return tree;
}

bool is_number(const Tree& tree) { return tree.op == Tree::Op::kNumber; }

std::optional<Rational> folded(Op op, Rational a, Rational b) {
  switch (op) {
    case Op::kAdd:
      return add(a, b);
    case Op::kSub:
      return sub(a, b);
    case Op::kMul:
      return mul(a, b);
    case Op::kDiv:
      return div(a, b);
    case Op::kMin:
      return a < b ? a : b;
    case Op::kMax:
      return a < b ? b : a;
    case Op::kMod:
      return a.is_whole() && b.is_whole() && !b.is_zero() ? std::optional(Rational{a.num() % b.num()})
                                                          : std::nullopt;
    default:
      return std::nullopt;
  }
}

bool holds(Op op, Rational a, Rational b) {
  switch (op) {
    case Op::kLess:
      return a < b;
    case Op::kLessEqual:
      return !(b < a);
    case Op::kGreater:
      return b < a;
    case Op::kGreaterEqual:
      return !(a < b);
    case Op::kEqual:
      return a == b;
    default:
      return !(a == b);
  }
}

Tree::Op tree_op(Op op) {
  switch (op) {
    case Op::kAdd:
      return Tree::Op::kAdd;
    case Op::kSub:
      return Tree::Op::kSub;
    case Op::kMul:
      return Tree::Op::kMul;
    case Op::kDiv:
      return Tree::Op::kDiv;
    case Op::kMod:
      return Tree::Op::kMod;
    case Op::kMin:
      return Tree::Op::kMin;
    case Op::kMax:
      return Tree::Op::kMax;
    case Op::kLess:
    case Op::kGreater:
      return Tree::Op::kLess;
    case Op::kLessEqual:
    case Op::kGreaterEqual:
      return Tree::Op::kLessEqual;
    case Op::kEqual:
      return Tree::Op::kEqual;
    default:
      return Tree::Op::kNotEqual;
  }
}

}  // namespace

bool same(const Tree& a, const Tree& b) {
  return a.op == b.op && a.field == b.field && a.slot == b.slot && a.object == b.object &&
         a.number == b.number && std::equal(a.kids.begin(), a.kids.end(), b.kids.begin(), b.kids.end(), same);
}

std::string plural(ObjectKind kind) { return std::string(name_of(kind)) + "s"; }

// Gives a dimension to what had none: zeros, and state variables at their first use.
void Resolver::adopt(Tree& tree, Dim dim) {
  if (tree.dim != Dim::kAny) return;
  tree.dim = dim;
  const bool state =
      (tree.op == Tree::Op::kQueue && tree.field == static_cast<std::uint8_t>(QueueField::kState)) ||
      (tree.op == Tree::Op::kBuffer && tree.field == static_cast<std::uint8_t>(BufferField::kState)) ||
      (tree.op == Tree::Op::kPort && tree.field == static_cast<std::uint8_t>(PortField::kState));
  if (state) {
    const ObjectKind kind = tree.op == Tree::Op::kQueue    ? ObjectKind::kQueue
                            : tree.op == Tree::Op::kBuffer ? ObjectKind::kBuffer
                                                           : ObjectKind::kPort;
    StateDim& known = states_[{kind, tree.slot}];
    if (known.dim == Dim::kAny) known = {dim, tree.place};
  }
  for (Tree& kid : tree.kids) adopt(kid, dim);
}

void Resolver::unify(Tree& a, Tree& b, const Expr& expr, const char* verb) {
  if (a.dim == Dim::kAny) adopt(a, b.dim);
  if (b.dim == Dim::kAny) adopt(b, a.dim);
  if (a.dim == b.dim) return;
  const std::string left = print(expr.kids[0]) + " is " + words(a.dim), right = print(expr.kids[1]);
  std::string hint;
  const Tree* bare = is_number(a) && a.dim == Dim::kNumber   ? &a
                     : is_number(b) && b.dim == Dim::kNumber ? &b
                                                             : nullptr;
  if (bare != nullptr) {
    const Dim other = bare == &a ? b.dim : a.dim;
    const std::string text = bare->number.text();
    if (other == Dim::kBytes) hint = "; write " + text + "B or " + text + "KB";
    if (other == Dim::kPackets) hint = "; write " + text + " packets";
    if (other == Dim::kTime) hint = "; write " + text + "ns or " + text + "us";
  }
  Complaint complaint{
      expr.place, left + " and " + right + " " + words(b.dim) + ": they cannot be " + verb + hint, {}};
  for (const Tree* side : {&a, &b}) {
    if (side->op != Tree::Op::kQueue && side->op != Tree::Op::kBuffer && side->op != Tree::Op::kPort)
      continue;
    for (const auto& [key, known] : states_)
      if (key.second == side->slot && known.dim == side->dim && known.place.line > 0 &&
          ((key.first == ObjectKind::kQueue && side->op == Tree::Op::kQueue &&
            side->field == static_cast<std::uint8_t>(QueueField::kState)) ||
           (key.first == ObjectKind::kBuffer && side->op == Tree::Op::kBuffer &&
            side->field == static_cast<std::uint8_t>(BufferField::kState)) ||
           (key.first == ObjectKind::kPort && side->op == Tree::Op::kPort &&
            side->field == static_cast<std::uint8_t>(PortField::kState))))
        complaint.notes.push_back({known.place, "it is " + words(known.dim) + " by this"});
  }
  throw complaint;
}

Tree Resolver::arithmetic(const Expr& expr, const Env& env) {
  Tree a = resolve(expr.kids[0], env), b = resolve(expr.kids[1], env);
  for (std::size_t i = 0; i < 2; ++i) {
    const Tree& side = i == 0 ? a : b;
    if (side.dim == Dim::kBool || side.dim == Dim::kFlow)
      complain(expr.kids[i].place,
               print(expr.kids[i]) + " is " + words(side.dim) + ": nothing can be computed with it");
  }
  Dim dim = a.dim;
  const bool order = env.site == Site::kPacketOrder || env.site == Site::kQueueOrder;
  switch (expr.op) {
    case Op::kMul:
      if (a.dim != Dim::kNumber && a.dim != Dim::kAny && b.dim != Dim::kNumber && b.dim != Dim::kAny)
        complain(expr.place, print(expr.kids[0]) + " is " + words(a.dim) + " and " + print(expr.kids[1]) +
                                 " " + words(b.dim) + ": one factor must be a number");
      if (a.dim == Dim::kNumber || (a.dim == Dim::kAny && b.dim != Dim::kNumber && b.dim != Dim::kAny)) {
        adopt(a, Dim::kNumber);
        dim = b.dim;
      } else if (b.dim == Dim::kAny && a.dim != Dim::kAny) {
        adopt(b, Dim::kNumber);
      }
      break;
    case Op::kDiv:
      if (is_number(b) && b.number.is_zero()) complain(expr.place, "this divides by zero");
      if (b.dim == Dim::kNumber) break;
      if (b.dim == Dim::kAny && a.dim == Dim::kNumber) adopt(b, Dim::kNumber);
      if (!order) unify(a, b, expr, "divided");
      dim = Dim::kNumber;
      break;
    case Op::kMod:
      if (is_number(b) && b.number.is_zero()) complain(expr.place, "this divides by zero");
      if (b.dim != Dim::kNumber) unify(a, b, expr, "divided");
      dim = a.dim;
      break;
    case Op::kAdd:
    case Op::kSub:
      unify(a, b, expr, expr.op == Op::kAdd ? "added" : "subtracted");
      dim = a.dim;
      break;
    default:
      unify(a, b, expr, "compared");
      dim = a.dim;
  }
  if (is_number(a) && is_number(b)) {
    const std::optional<Rational> value = folded(expr.op, a.number, b.number);
    if (!value)
      complain(expr.place,
               expr.op == Op::kMod ? "a remainder is of whole numbers" : "this constant is too large");
    return number_tree(*value, dim == Dim::kAny ? Dim::kNumber : dim, expr.place);
  }
  if (expr.op == Op::kMul && ((is_number(a) && a.number.is_zero()) || (is_number(b) && b.number.is_zero())))
    return number_tree(Rational{}, dim, expr.place);
  return node(tree_op(expr.op), dim, expr.place, {std::move(a), std::move(b)});
}

Tree Resolver::relation(const Expr& expr, const Env& env) {
  Tree a = resolve(expr.kids[0], env), b = resolve(expr.kids[1], env);
  unify(a, b, expr, "compared");
  const bool equality = expr.op == Op::kEqual || expr.op == Op::kNotEqual;
  if (a.dim == Dim::kBool)
    complain(expr.place, "predicates are joined by and, or, not: they are not compared");
  if (a.dim == Dim::kFlow && !equality)
    complain(expr.place, "flows have no order: only == and != compare them");
  if (is_number(a) && is_number(b))
    return node(holds(expr.op, a.number, b.number) ? Tree::Op::kTrue : Tree::Op::kFalse, Dim::kBool,
                expr.place, {});
  if (expr.op == Op::kGreater || expr.op == Op::kGreaterEqual) std::swap(a, b);
  return node(tree_op(expr.op), Dim::kBool, expr.place, {std::move(a), std::move(b)});
}

Tree Resolver::logic(const Expr& expr, const Env& env) {
  if (expr.op == Op::kNot) {
    Tree of = predicate(expr.kids[0], env);
    if (of.op == Tree::Op::kTrue || of.op == Tree::Op::kFalse) {
      of.op = of.op == Tree::Op::kTrue ? Tree::Op::kFalse : Tree::Op::kTrue;
      return of;
    }
    return node(Tree::Op::kNot, Dim::kBool, expr.place, {std::move(of)});
  }
  Tree a = predicate(expr.kids[0], env), b = predicate(expr.kids[1], env);
  const Tree::Op unit = expr.op == Op::kAnd ? Tree::Op::kTrue : Tree::Op::kFalse;
  const Tree::Op zero = expr.op == Op::kAnd ? Tree::Op::kFalse : Tree::Op::kTrue;
  if (a.op == unit || b.op == zero) return b;
  if (b.op == unit || a.op == zero) return a;
  return node(expr.op == Op::kAnd ? Tree::Op::kAnd : Tree::Op::kOr, Dim::kBool, expr.place,
              {std::move(a), std::move(b)});
}

Tree Resolver::resolve(const Expr& expr, const Env& env) {
  switch (expr.op) {
    case Op::kNumber:
      return number_tree(expr.number, expr.dim, expr.place);
    case Op::kTrue:
    case Op::kFalse:
      return node(expr.op == Op::kTrue ? Tree::Op::kTrue : Tree::Op::kFalse, Dim::kBool, expr.place, {});
    case Op::kPath:
      return path(expr, env);
    case Op::kCall:
      complain(expr.place, print(expr) + ": expressions call nothing; name the property or the field");
    case Op::kMinus: {
      Tree of = resolve(expr.kids[0], env);
      if (of.dim == Dim::kBool || of.dim == Dim::kFlow)
        complain(expr.place, print(expr.kids[0]) + " is " + words(of.dim) + ": it has no negative");
      if (is_number(of)) return number_tree(-of.number, of.dim, expr.place);
      const Dim dim = of.dim;
      return node(Tree::Op::kSub, dim, expr.place, {number_tree(Rational{}, dim, expr.place), std::move(of)});
    }
    case Op::kWire: {
      Tree of = resolve(expr.kids[0], env);
      adopt(of, Dim::kBytes);
      if (of.dim != Dim::kBytes)
        complain(expr.kids[0].place, print(expr.kids[0]) + " is " + words(of.dim) + ": wire() is of bytes");
      if (is_number(of) && of.number.is_whole()) {
        const auto bytes = add(of.number, Rational{wire_bytes(0_B).count()});
        if (!bytes) complain(expr.place, "this constant is too large");
        return number_tree(*bytes, Dim::kBytes, expr.place);
      }
      return node(Tree::Op::kWire, Dim::kBytes, expr.place, {std::move(of)});
    }
    case Op::kChance: {
      if (env.site != Site::kSelect && env.site != Site::kQueueCase && env.site != Site::kBufferCase)
        complain(expr.place, "chance() stands in select and in conditions only");
      const Rational of = share(expr.kids[0], env.scope);
      if (of.is_zero() || of == Rational{1})
        return node(of.is_zero() ? Tree::Op::kFalse : Tree::Op::kTrue, Dim::kBool, expr.place, {});
      Tree tree = node(Tree::Op::kChance, Dim::kBool, expr.place, {});
      tree.number = of;
      return tree;
    }
    case Op::kNot:
    case Op::kAnd:
    case Op::kOr:
      return logic(expr, env);
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kGreater:
    case Op::kGreaterEqual:
    case Op::kEqual:
    case Op::kNotEqual:
      return relation(expr, env);
    default:
      return arithmetic(expr, env);
  }
}

Tree Resolver::predicate(const Expr& expr, const Env& env) {
  Tree tree = resolve(expr, env);
  if (tree.dim != Dim::kBool)
    complain(expr.place, print(expr) + " is " + words(tree.dim) + ": a predicate is expected here");
  return tree;
}

Constant Resolver::constant(const Expr& expr, Scope* scope) {
  Env env;
  env.scope = scope;
  const Tree tree = resolve(expr, env);
  if (!is_number(tree)) complain(expr.place, print(expr) + " is no constant");
  return {tree.dim == Dim::kAny ? Dim::kNumber : tree.dim, tree.number};
}

std::int64_t Resolver::whole(const Expr& expr, Scope* scope, Dim dim, const char* what) {
  const Constant found = constant(expr, scope);
  if (found.dim != dim && !found.number.is_zero())
    complain(expr.place, print(expr) + " is " + words(found.dim) + ": " + what + " is " + words(dim));
  if (!found.number.is_whole())
    complain(expr.place, print(expr) + " is " + found.number.text() + ": " + what + " is a whole number");
  return found.number.num();
}

Rational Resolver::share(const Expr& expr, Scope* scope) {
  const Constant found = constant(expr, scope);
  if (found.dim != Dim::kNumber)
    complain(expr.place,
             print(expr) + " is " + words(found.dim) + ": a share is a number from 0 to 1, or a percentage");
  if (found.number < Rational{} || Rational{1} < found.number)
    complain(expr.place, print(expr) + ": a share is from 0 to 1, or from 0% to 100%");
  if (found.number.den() > 0xffffffff) complain(expr.place, print(expr) + " has too many decimals");
  return found.number;
}

}  // namespace rocelab::oq
