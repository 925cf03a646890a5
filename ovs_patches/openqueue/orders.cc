#include "ovs_patches/openqueue/orders.h"

#include <algorithm>

namespace rocelab::oq {
namespace {

using TreeOp = Tree::Op;

// Which of the pair a tree reads: bit 0 the first, bit 1 the second.
unsigned reads(const Tree& tree) {
  unsigned all = 0;
  const bool leaf = tree.op == TreeOp::kPacket || tree.op == TreeOp::kHead || tree.op == TreeOp::kQueue;
  if (leaf) all = tree.object == kFirstOfPair ? 1u : tree.object == kSecondOfPair ? 2u : 4u;
  for (const Tree& kid : tree.kids) all |= reads(kid);
  return all;
}

Tree of_one(Tree tree) {
  if (tree.object == kFirstOfPair || tree.object == kSecondOfPair) tree.object = kContextObject;
  for (Tree& kid : tree.kids) kid = of_one(std::move(kid));
  return tree;
}

Tree negative(Tree tree) {
  Tree zero;
  zero.dim = tree.dim;
  zero.place = tree.place;
  Tree made;
  made.op = TreeOp::kSub;
  made.dim = tree.dim;
  made.place = tree.place;
  made.kids = {std::move(zero), std::move(tree)};
  return made;
}

// f(p1) REL f(p2): the f, and whether p1 stands on the left.
struct Sides {
  Tree f;
  bool first_left = false;
};

Sides sides(const Tree& relation) {
  const Tree &left = relation.kids[0], &right = relation.kids[1];
  const unsigned a = reads(left), b = reads(right);
  if (!((a == 1 && b == 2) || (a == 2 && b == 1)))
    complain(relation.place,
             "this is no order: one side must read the first of the two alone, the other side the second");
  Tree f = of_one(left);
  if (!same(f, of_one(right)))
    complain(relation.place,
             "this is no order: the same expression must stand on both sides, of one object each");
  return {std::move(f), a == 1};
}

void flatten(const Tree& tree, TreeOp op, std::vector<const Tree*>& parts) {
  if (tree.op != op) {
    parts.push_back(&tree);
    return;
  }
  for (const Tree& kid : tree.kids) flatten(kid, op, parts);
}

void add_component(ModelOrder& order, const Tree& relation) {
  Sides found = sides(relation);
  ModelOrder::Component component;
  if (found.f.op == TreeOp::kDiv && found.f.kids[1].op != TreeOp::kNumber) {
    component.divisor = found.f.kids[1];
    Tree value = found.f.kids[0];
    found.f = std::move(value);
  }
  component.value = found.first_left ? std::move(found.f) : negative(std::move(found.f));
  if (order.components.size() == kMostComponents)
    complain(relation.place, "an order compares at most " + std::to_string(kMostComponents) + " keys");
  order.components.push_back(std::move(component));
}

// terms: of an "or". Each is the "and" of its parts.
void separate_terms(ModelOrder& order, const std::vector<std::vector<const Tree*>>& terms) {
  const Tree& head = *terms.front().front();
  if (head.op == TreeOp::kLessEqual)
    complain(head.place, "an order is strict: write < or >, so that no two come before each other");
  if (terms.front().size() != 1 || head.op != TreeOp::kLess)
    complain(head.place, "this is no order: begin with a comparison by < or >");
  add_component(order, head);
  if (terms.size() == 1) return;
  const Tree f = sides(head).f;
  std::vector<std::vector<const Tree*>> rest;
  std::vector<const Tree*> nested;
  for (std::size_t i = 1; i < terms.size(); ++i) {
    const Tree& equal = *terms[i].front();
    if (equal.op != TreeOp::kEqual || !same(sides(equal).f, f))
      complain(equal.place, "this is no order: the next key is asked where the first is equal (==)");
    if (terms[i].size() == 1)
      complain(equal.place, "this is no order: equal objects do not come before each other");
    std::vector<const Tree*> parts(terms[i].begin() + 1, terms[i].end());
    if (parts.size() == 1 && parts.front()->op == TreeOp::kOr) {  // and (.. or ..)
      flatten(*parts.front(), TreeOp::kOr, nested);
      for (const Tree* one : nested) {
        rest.emplace_back();
        flatten(*one, TreeOp::kAnd, rest.back());
      }
      nested.clear();
    } else {
      rest.push_back(std::move(parts));
    }
  }
  separate_terms(order, rest);
}

bool is_arrival(const Tree& tree) {
  return tree.op == TreeOp::kPacket && tree.field == static_cast<std::uint8_t>(PacketField::kArrival);
}

}  // namespace

void separate(ModelOrder& order) {
  if (order.less.op == TreeOp::kTrue || order.less.op == TreeOp::kFalse)
    complain(order.less.place, "this is no order: it compares nothing");
  std::vector<const Tree*> alternatives;
  flatten(order.less, TreeOp::kOr, alternatives);
  std::vector<std::vector<const Tree*>> terms;
  for (const Tree* one : alternatives) {
    terms.emplace_back();
    flatten(*one, TreeOp::kAnd, terms.back());
  }
  separate_terms(order, terms);
  if (!order.packets || order.components.size() != 1 || order.components[0].divisor) return;
  const Tree& key = order.components[0].value;
  if (is_arrival(key)) order.kind = PolicyOrder::Kind::kOldest;
  if (key.op == TreeOp::kSub && key.kids[0].op == TreeOp::kNumber && key.kids[0].number.is_zero() &&
      is_arrival(key.kids[1]))
    order.kind = PolicyOrder::Kind::kNewest;
}

}  // namespace rocelab::oq
