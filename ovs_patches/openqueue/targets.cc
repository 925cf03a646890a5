// The part of Resolver that reads the targets of selections: queues, or an index among some.
#include <algorithm>

#include "ovs_patches/openqueue/path_parts.h"

namespace rocelab::oq {

Resolver::Target Resolver::target(const Path& path, const Env& env) {
  Path constant = path;
  struct Dynamic {
    std::size_t part;
    Tree tree;
  };
  std::vector<Dynamic> dynamic;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i].kind == PathPart::Kind::kRange || path[i].kind == PathPart::Kind::kAll)
      complain(path[i].place, "a packet goes to one queue: give an index");
    if (path[i].kind != PathPart::Kind::kIndex) continue;
    Tree tree = resolve(path[i].bounds[0], env);
    adopt(tree, Dim::kNumber);
    if (tree.dim != Dim::kNumber)
      complain(path[i].bounds[0].place,
               print(path[i].bounds[0]) + " is " + words(tree.dim) + ": an index is a number");
    if (tree.op == Tree::Op::kNumber) {
      Expr& bound = constant[i].bounds[0];
      bound.op = Op::kNumber;
      bound.number = tree.number;
      bound.dim = Dim::kNumber;
      bound.unit.clear();
      bound.kids.clear();
      bound.path.clear();
    } else {
      constant[i].kind = PathPart::Kind::kAll;
      dynamic.push_back({i, std::move(tree)});
    }
  }
  const std::vector<Ref> found = objects(constant, env.scope);
  for (const Ref& ref : found)
    if (ref.kind != Ref::Kind::kQueue) complain(path.front().place, print(path) + " is no queue");
  Target made;
  made.first = found.front().object;
  made.count = static_cast<std::uint32_t>(found.size());
  if (dynamic.empty()) {
    if (found.size() != 1)
      complain(path.front().place, print(path) + " are " + std::to_string(found.size()) + " queues");
    return made;
  }
  // Which array: the name before the dynamic parts. All indices of it are in `elements` in rows.
  std::size_t name = dynamic.front().part;
  while (path[name].kind != PathPart::Kind::kName) --name;
  const Array* array = nullptr;
  Named* head = env.scope->find(path.front().name);
  if (head->kind == Named::Kind::kArray && name == 0) array = &head->array;
  if (head->kind == Named::Kind::kBlock && name > 0) {
    for (Scope* instance : head->instances)
      if (const auto inner = instance->names.find(path[name].name); inner != instance->names.end())
        for (const auto& [index, element] : inner->second.array.elements)
          if (element == made.first) array = &inner->second.array;
  }
  if (array == nullptr)
    complain(path.front().place, "the port of a queue is no matter of an index: it is the packet's");
  const auto number_of = [&](const Array::Index& index) -> std::int64_t {
    const auto at = array->elements.find(index);
    if (at == array->elements.end())
      complain(path.front().place, print(constant) + " has gaps: an index cannot choose among its queues");
    return at->second;
  };
  // The indices that the elements found have, and by how much a step of each moves.
  std::vector<Array::Index> indices;
  std::int64_t last = made.first;
  for (const auto& [index, element] : array->elements)
    if (std::any_of(found.begin(), found.end(),
                    [&, number = element](const Ref& ref) { return ref.object == number; })) {
      indices.push_back(index);
      last = std::max<std::int64_t>(last, element);
    }
  const Array::Index lowest = indices.front(), highest = indices.back();
  std::optional<Tree> sum;
  std::size_t combinations = 1;
  for (const Dynamic& one : dynamic) {
    const std::size_t dimension = one.part - name - 1;
    Array::Index second = lowest;
    if (highest[dimension] > lowest[dimension]) ++second[dimension];
    const std::int64_t stride = number_of(second) - number_of(lowest);
    made.bounds.push_back({one.tree, lowest[dimension], highest[dimension], stride});
    combinations *= static_cast<std::size_t>(highest[dimension] - lowest[dimension] + 1);
    const auto number = [&](std::int64_t value) {
      Tree tree;
      tree.number = Rational{value};
      tree.place = one.tree.place;
      return tree;
    };
    const auto join = [&](Tree::Op op, Tree a, Tree b) {
      Tree tree;
      tree.op = op;
      tree.place = a.place;
      tree.kids = {std::move(a), std::move(b)};
      return tree;
    };
    Tree term = one.tree;
    if (lowest[dimension] != 0) term = join(Tree::Op::kSub, std::move(term), number(lowest[dimension]));
    if (stride != 1) term = join(Tree::Op::kMul, std::move(term), number(stride));
    sum = sum ? join(Tree::Op::kAdd, std::move(*sum), std::move(term)) : std::move(term);
  }
  for (const Array::Index& index : indices) {
    std::int64_t at = made.first;
    for (std::size_t i = 0; i < dynamic.size(); ++i) {
      const std::size_t dimension = dynamic[i].part - name - 1;
      at += (index[dimension] - lowest[dimension]) * made.bounds[i].stride;
    }
    if (at != number_of(index))
      complain(path.front().place, "the queues " + print(constant) +
                                       " were not declared in the order of their indices: an index cannot "
                                       "choose among them");
  }
  if (combinations != indices.size())
    complain(path.front().place, print(constant) + " has gaps: an index cannot choose among its queues");
  made.count = static_cast<std::uint32_t>(last - made.first + 1);
  made.index = std::move(sum);
  return made;
}

}  // namespace rocelab::oq
