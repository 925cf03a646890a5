#include "ovs_patches/openqueue/integral.h"

#include <numeric>

namespace rocelab::oq {
namespace {

using TreeOp = Tree::Op;

constexpr std::int64_t kMost = std::int64_t{1} << 62;

std::int64_t product(std::int64_t a, std::int64_t b, Place place) {
  const __int128 whole = static_cast<__int128>(a) * b;
  if (whole > kMost || whole < -kMost)
    complain(place, "the numbers of this expression are too exact: shorten its decimals");
  return static_cast<std::int64_t>(whole);
}

Tree number(std::int64_t value, const Tree& like) {
  Tree tree;
  tree.number = Rational{value};
  tree.dim = like.dim;
  tree.place = like.place;
  return tree;
}

Tree times(Tree tree, std::int64_t factor) {
  if (factor == 1) return tree;
  if (tree.op == TreeOp::kNumber) return number(product(tree.number.num(), factor, tree.place), tree);
  Tree made;
  made.op = TreeOp::kMul;
  made.dim = tree.dim;
  made.place = tree.place;
  Tree by = number(factor, tree);
  made.kids = {std::move(tree), std::move(by)};
  return made;
}

}  // namespace

Scaled scaled(const Tree& tree) {
  const auto with_kids = [&](std::vector<Tree> kids) {
    Tree made = tree;
    made.kids = std::move(kids);
    return made;
  };
  switch (tree.op) {
    case TreeOp::kNumber:
      return {number(tree.number.num(), tree), tree.number.den()};
    case TreeOp::kAdd:
    case TreeOp::kSub:
    case TreeOp::kMin:
    case TreeOp::kMax:
    case TreeOp::kLess:
    case TreeOp::kLessEqual:
    case TreeOp::kEqual:
    case TreeOp::kNotEqual: {
      Scaled a = scaled(tree.kids[0]), b = scaled(tree.kids[1]);
      const std::int64_t scale = product(a.scale / std::gcd(a.scale, b.scale), b.scale, tree.place);
      const bool relation = tree.dim == Dim::kBool;
      Tree made =
          with_kids({times(std::move(a.tree), scale / a.scale), times(std::move(b.tree), scale / b.scale)});
      return {std::move(made), relation ? 1 : scale};
    }
    case TreeOp::kMul: {
      Scaled a = scaled(tree.kids[0]), b = scaled(tree.kids[1]);
      const std::int64_t scale = product(a.scale, b.scale, tree.place);
      const bool one_a = a.tree.op == TreeOp::kNumber && a.tree.number == Rational{1};
      const bool one_b = b.tree.op == TreeOp::kNumber && b.tree.number == Rational{1};
      if (one_a) return {std::move(b.tree), scale};
      if (one_b) return {std::move(a.tree), scale};
      return {with_kids({std::move(a.tree), std::move(b.tree)}), scale};
    }
    case TreeOp::kDiv: {
      Scaled a = scaled(tree.kids[0]), b = scaled(tree.kids[1]);
      if (b.tree.op == TreeOp::kNumber) {  // exact
        const std::int64_t by = b.tree.number.num();
        Tree made = times(std::move(a.tree), by < 0 ? -b.scale : b.scale);
        return {std::move(made), product(a.scale, by < 0 ? -by : by, tree.place)};
      }
      const std::int64_t common = std::gcd(a.scale, b.scale);
      return {
          with_kids({times(std::move(a.tree), b.scale / common), times(std::move(b.tree), a.scale / common)}),
          1};
    }
    case TreeOp::kMod: {
      Scaled a = scaled(tree.kids[0]), b = scaled(tree.kids[1]);
      if (a.scale != 1 || b.scale != 1) complain(tree.place, "a remainder is of whole numbers");
      return {with_kids({std::move(a.tree), std::move(b.tree)}), 1};
    }
    case TreeOp::kWire:
      return {with_kids({integral(tree.kids[0])}), 1};
    case TreeOp::kAnd:
    case TreeOp::kOr:
    case TreeOp::kNot: {
      std::vector<Tree> kids;
      for (const Tree& kid : tree.kids) kids.push_back(scaled(kid).tree);
      return {with_kids(std::move(kids)), 1};
    }
    default:
      return {tree, 1};
  }
}

Tree integral(const Tree& tree) {
  Scaled made = scaled(tree);
  if (made.scale == 1) return std::move(made.tree);
  if (made.tree.op == TreeOp::kNumber) return number(made.tree.number.num() / made.scale, made.tree);
  Tree quotient;
  quotient.op = TreeOp::kDiv;
  quotient.dim = made.tree.dim;
  quotient.place = made.tree.place;
  Tree by = number(made.scale, made.tree);
  quotient.kids = {std::move(made.tree), std::move(by)};
  return quotient;
}

}  // namespace rocelab::oq
