// The part of Resolver that reads paths of objects: elements of arrays, blocks on every port.
#include <algorithm>

#include "ovs_patches/openqueue/path_parts.h"

namespace rocelab::oq {
namespace {

using Kind = Ref::Kind;

Kind ref_kind(ObjectKind kind) {
  return kind == ObjectKind::kQueue    ? Kind::kQueue
         : kind == ObjectKind::kBuffer ? Kind::kBuffer
                                       : Kind::kPort;
}

}  // namespace

// The element numbers that `count` parts of the path, from `from` on, name.
std::vector<std::uint32_t> Resolver::elements(const Array& array, const Path& path, std::size_t from,
                                              std::size_t count, Scope* scope) {
  const std::size_t dimensions = array.dimensions();
  if (count != dimensions) {
    const Place place = path[count > dimensions ? from + dimensions : from - 1].place;
    if (dimensions == 0) complain(place, up_to(path, from) + " is no array");
    complain(place, up_to(path, from) + " has " + std::to_string(dimensions) +
                        (dimensions == 1 ? " index: write " : " indices: write ") + up_to(path, from) +
                        (dimensions == 1 ? "[*] for all of it" : "[*][*] for all of it"));
  }
  struct Bound {
    std::int64_t least, most;
    bool one;
  };
  std::vector<Bound> bounds;
  for (std::size_t i = 0; i < count; ++i) {
    const PathPart& part = path[from + i];
    if (part.kind == PathPart::Kind::kAll) {
      bounds.push_back({INT64_MIN, INT64_MAX, false});
      continue;
    }
    const std::int64_t least = whole(part.bounds[0], scope, Dim::kNumber, "an index");
    const bool one = part.kind == PathPart::Kind::kIndex;
    bounds.push_back({least, one ? least : whole(part.bounds[1], scope, Dim::kNumber, "an index"), one});
  }
  const auto missing = [&](std::size_t i) {
    std::int64_t least = INT64_MAX, most = INT64_MIN;
    for (const auto& [index, element] : array.elements)
      least = std::min(least, index[i]), most = std::max(most, index[i]);
    complain(path[from + i].place, up_to(path, from) + " has " + std::to_string(least) + " to " +
                                       std::to_string(most) + ": there is no " +
                                       std::to_string(bounds[i].one ? bounds[i].least : bounds[i].most));
  };
  std::vector<std::uint32_t> found;
  if (std::all_of(bounds.begin(), bounds.end(), [](const Bound& bound) { return bound.one; })) {
    Array::Index index;
    for (const Bound& bound : bounds) index.push_back(bound.least);
    const auto at = array.elements.find(index);
    if (at != array.elements.end()) return {at->second};
    for (std::size_t i = 0; i < count; ++i)
      if (std::none_of(array.elements.begin(), array.elements.end(),
                       [&](const auto& one) { return one.first[i] == index[i]; }))
        missing(i);
    complain(path[from - 1].place, up_to(path, from + count) + " was not declared");
  }
  constexpr std::size_t kMostWork = 20'000'000;
  work_ += array.elements.size();
  if (work_ > kMostWork)
    complain(path.front().place, "the paths of this program name too many objects in all");
  std::vector<bool> low(count), high(count);
  for (const auto& [index, element] : array.elements) {
    bool in = true;
    for (std::size_t i = 0; i < count; ++i) in &= bounds[i].least <= index[i] && index[i] <= bounds[i].most;
    if (!in) continue;
    found.push_back(element);
    for (std::size_t i = 0; i < count; ++i) {
      if (index[i] == bounds[i].least) low[i] = true;
      if (index[i] == bounds[i].most) high[i] = true;
    }
  }
  for (std::size_t i = 0; i < count; ++i)
    if (path[from + i].kind != PathPart::Kind::kAll && !(low[i] && high[i])) missing(i);
  return found;
}

std::vector<Ref> Resolver::walk(const Path& path, std::size_t parts, Scope* scope) {
  std::vector<std::size_t> at;  // without "()"
  for (std::size_t i = 0; i < parts; ++i) {
    if (path[i].kind == PathPart::Kind::kCall)
      complain(path[i].place, up_to(path, i) + " is an object: leave out ()");
    at.push_back(i);
  }
  const PathPart& first = path.front();
  Named* named = scope->find(first.name);
  if (named == nullptr)
    complain(first.place, "nothing is called " + first.name + did_you_mean(first.name, scope->known()));
  named->used = true;
  std::size_t indices = 1;
  while (indices < parts && is_index(path[indices])) ++indices;
  std::vector<Ref> found;
  if (named->kind == Named::Kind::kArray) {
    for (const std::uint32_t element : elements(named->array, path, 1, indices - 1, scope))
      found.push_back({ref_kind(named->array.kind), element});
    if (indices < parts)
      complain(path[indices].place,
               up_to(path, indices) + " is " + name_of(named->array.kind) + ": it has no objects of its own");
    return found;
  }
  if (named->kind != Named::Kind::kBlock) complain(first.place, first.name + " is no queue, buffer or port");
  std::vector<Scope*> instances = named->instances;
  if (indices > 2) complain(path[2].place, first.name + " has one index, the number of the port");
  if (indices == 1) {
    for (Scope* inner = scope; inner != nullptr; inner = inner->parent)
      if (std::find(instances.begin(), instances.end(), inner) != instances.end()) {
        instances = {inner};
        break;
      }
  } else if (path[1].kind != PathPart::Kind::kAll) {
    const std::int64_t least = whole(path[1].bounds[0], scope, Dim::kNumber, "an index");
    const std::int64_t most = path[1].kind == PathPart::Kind::kIndex
                                  ? least
                                  : whole(path[1].bounds[1], scope, Dim::kNumber, "an index");
    if (least < 0 || most >= static_cast<std::int64_t>(instances.size()))
      complain(path[1].place, first.name + " has ports 0 to " + std::to_string(instances.size() - 1) +
                                  ": there is no " + std::to_string(least < 0 ? least : most));
    std::vector<Scope*> some;
    for (std::int64_t i = least; i <= most; ++i) some.push_back(instances[static_cast<std::size_t>(i)]);
    instances = some;
  }
  if (indices == parts) {
    for (const Scope* instance : instances) found.push_back({Kind::kPort, *instance->egress});
    return found;
  }
  std::size_t end = indices + 1;
  while (end < parts && is_index(path[end])) ++end;
  for (Scope* instance : instances) {
    const auto inner = instance->names.find(path[indices].name);
    if (inner == instance->names.end() || inner->second.kind != Named::Kind::kArray) {
      std::vector<std::string> known;
      for (const auto& [name, one] : instance->names)
        if (one.kind == Named::Kind::kArray) known.push_back(name);
      complain(path[indices].place,
               first.name + " has no object " + path[indices].name + did_you_mean(path[indices].name, known));
    }
    inner->second.used = true;
    for (const std::uint32_t element :
         elements(inner->second.array, path, indices + 1, end - indices - 1, scope))
      found.push_back({ref_kind(inner->second.array.kind), element});
  }
  if (end < parts) complain(path[end].place, up_to(path, end) + " has no objects of its own");
  return found;
}

std::vector<Ref> Resolver::objects(const Path& path, Scope* scope) { return walk(path, path.size(), scope); }

std::vector<Ref> Resolver::owners(const Path& path, Scope* scope) {
  std::size_t parts = path.size();
  while (parts > 0 && path[parts - 1].kind == PathPart::Kind::kCall) --parts;
  return walk(path, parts - 1, scope);
}

}  // namespace rocelab::oq
