// The part of Resolver that reads paths.
#include <algorithm>

#include "ovs_patches/openqueue/resolve.h"

namespace rocelab::oq {
namespace {

using Kind = Ref::Kind;

bool is_index(const PathPart& part) {
  return part.kind == PathPart::Kind::kIndex || part.kind == PathPart::Kind::kRange ||
         part.kind == PathPart::Kind::kAll;
}

Kind ref_kind(ObjectKind kind) {
  return kind == ObjectKind::kQueue    ? Kind::kQueue
         : kind == ObjectKind::kBuffer ? Kind::kBuffer
                                       : Kind::kPort;
}

// Of a queue, buffer or port.
ObjectKind object_kind(const Ref& of) {
  return of.kind == Kind::kQueue    ? ObjectKind::kQueue
         : of.kind == Kind::kBuffer ? ObjectKind::kBuffer
                                    : ObjectKind::kPort;
}

std::vector<std::string> names_of(std::span<const Field> fields) {
  std::vector<std::string> names;
  for (const Field& field : fields) names.emplace_back(field.name);
  return names;
}

// The path as far as its part `to`, for messages.
std::string up_to(const Path& path, std::size_t to) {
  return print(Path(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(std::min(to, path.size()))));
}

}  // namespace

// --- expressions ------------------------------------------------------------------------------------------

std::optional<Ref> Resolver::start(const Path& path, const Env& env) const {
  const PathPart& first = path.front();
  for (const auto& [name, ref] : env.params)
    if (name == first.name) return ref;
  const auto implied = [&](const Ref& ref) {
    if (ref.kind == Kind::kNone) complain(first.place, "there is no " + first.name + " here");
    return ref;
  };
  if (first.name == "packet") {
    if (env.site == Site::kConstant || env.site == Site::kPacketOrder || env.site == Site::kQueueOrder)
      complain(first.place, "there is no packet here");
    return Ref{Kind::kPacket, kContextObject};
  }
  if (first.name == "queue") return implied(env.queue);
  if (first.name == "buffer") return implied(env.buffer);
  if (first.name == "port") return implied(env.port);
  return std::nullopt;
}

Tree Resolver::constant_tree(Named& named, const std::string& name) {
  if (!named.value) {
    if (named.evaluating) complain(named.place, name + " is defined by itself");
    named.evaluating = true;
    Scope* scope = named.instances.front();
    named.value = constant(*named.item->value->expr, scope);
    named.evaluating = false;
  }
  Tree tree;
  tree.number = named.value->number;
  tree.dim = tree.number.is_zero() && named.value->dim == Dim::kNumber ? Dim::kAny : named.value->dim;
  return tree;
}

Tree Resolver::path(const Expr& expr, const Env& env) {
  const Path& path = expr.path;
  const PathPart& first = path.front();
  std::size_t at = 1;
  std::optional<Ref> ref = start(path, env);
  if (!ref) {
    Named* named = env.scope->find(first.name);
    if (named != nullptr) {
      named->used = true;
      switch (named->kind) {
        case Named::Kind::kConst: {
          Tree tree = constant_tree(*named, first.name);
          tree.place = expr.place;
          if (path.size() > 1) complain(path[1].place, first.name + " is a constant: it has no fields");
          return tree;
        }
        case Named::Kind::kArray:
        case Named::Kind::kBlock: {
          std::size_t parts = 1;
          while (parts < path.size() && is_index(path[parts])) ++parts;
          const bool port = named->kind == Named::Kind::kBlock && parts < path.size() &&
                            path[parts].kind == PathPart::Kind::kName &&
                            find_field(port_fields(), path[parts].name) == nullptr &&
                            path[parts].name != "schedState";
          if (port) {
            ++parts;
            while (parts < path.size() && is_index(path[parts])) ++parts;
          }
          const std::vector<Ref> found = walk(path, parts, env.scope);
          if (found.size() != 1)
            complain(first.place, up_to(path, parts) + " are " + std::to_string(found.size()) +
                                      ": an expression reads one");
          ref = found.front();
          at = parts;
          break;
        }
        case Named::Kind::kState:
          break;
        default:
          complain(first.place,
                   first.name + " is " +
                       (named->kind == Named::Kind::kTurn ? "a turn" : "an order or a condition") +
                       ": an expression cannot use it");
      }
    }
  }
  if (!ref) {
    Tree tree;
    tree.place = expr.place;
    if (path.size() == 1 && first.name == "now") {
      if (env.site == Site::kConstant) complain(first.place, "now is no constant");
      if (env.site == Site::kPacketOrder || env.site == Site::kQueueOrder)
        complain(first.place, "now changes by itself: an order is fixed while it is in force");
      tree.op = Tree::Op::kNow;
      tree.dim = Dim::kTime;
      return tree;
    }
    if (path.size() == 1 && first.name == "MAX_FRAME") {
      tree.number = Rational{config_.max_frame.count()};
      tree.dim = Dim::kBytes;
      return tree;
    }
    if (path.size() == 1 && first.name == "PORTS") {
      tree.number = Rational{static_cast<std::int64_t>(ports_.size())};
      return tree;
    }
    at = 0;
    ref = env.self;
    if (env.site == Site::kPortCase && first.name == "schedState")
      complain(first.place, "queues and ports have a schedState: write queue.schedState or port.schedState");
  }
  std::vector<const PathPart*> names;
  for (; at < path.size(); ++at) {
    if (path[at].kind == PathPart::Kind::kCall) continue;
    if (is_index(path[at])) complain(path[at].place, up_to(path, at) + " is no array");
    names.push_back(&path[at]);
  }
  Ref of = *ref;
  if (of.kind == Kind::kNone) {
    std::vector<std::string> known = env.scope->known();
    for (const auto& [name, bound] : env.params) known.push_back(name);
    for (const char* name : {"packet", "queue", "buffer", "port", "now", "MAX_FRAME", "PORTS"})
      known.emplace_back(name);
    complain(first.place, "nothing is called " + first.name + did_you_mean(first.name, known));
  }
  if (names.empty())
    complain(first.place, print(path) + " is an object: name one of its fields, as in " + print(path) +
                              (of.kind == Kind::kPort ? ".rate" : ".size"));
  for (std::size_t i = 0; i + 1 < names.size(); ++i) of = step(of, *names[i]);
  if (at == path.size() && names.front() == &first && names.size() == 1 && !has_field(of, first.name)) {
    std::vector<std::string> known = env.scope->known();
    for (const auto& [name, bound] : env.params) known.push_back(name);
    complain(first.place, "nothing is called " + first.name + did_you_mean(first.name, known));
  }
  Tree tree = field(of, *names.back(), env);
  tree.place = expr.place;
  return tree;
}

Ref Resolver::step(Ref of, const PathPart& name) const {
  if (of.kind == Kind::kQueue && (name.name == "hol" || name.name == "getHOL"))
    return {Kind::kHead, of.object};
  const bool known = of.object < model_.queues.size();
  if (of.kind == Kind::kQueue && name.name == "buffer" && known) {
    if (model_.queues[of.object].buffer == kNoPolicyObject)
      complain(name.place, model_.queues[of.object].name + " is in no buffer");
    return {Kind::kBuffer, model_.queues[of.object].buffer};
  }
  if (of.kind == Kind::kQueue && name.name == "port" && known)
    return {Kind::kPort, model_.queues[of.object].port};
  if (of.kind == Kind::kQueue && (name.name == "buffer" || name.name == "port"))
    complain(name.place, "an order and a turn read fields of a queue itself, not of its " + name.name);
  complain(name.place, name.name + " has no fields");
}

bool Resolver::has_field(Ref of, const std::string& name) const {
  if (of.kind == Kind::kPacket || of.kind == Kind::kHead) return find_field(packet_fields(), name) != nullptr;
  const ObjectKind kind = object_kind(of);
  for (const StateName& one : chapter_states())
    if (name == one.name) return true;
  return find_field(fields_of(kind), name) != nullptr || declared_.contains({kind, name});
}

Dim Resolver::unit_of(Ref of, const PathPart& name) const {
  std::optional<bool> packets;
  const auto meet = [&](bool in_packets) {
    if (packets && *packets != in_packets)
      complain(name.place,
               "this program has sizes in bytes and in packets: compare bytes or packets, not " + name.name);
    packets = in_packets;
  };
  if (of.kind == Kind::kBuffer) {
    if (of.object < model_.buffers.size()) meet(model_.buffers[of.object].in_packets);
  } else if (of.object < model_.queues.size()) {
    meet(model_.queues[of.object].in_packets);
  } else {
    for (const ModelQueue& queue : model_.queues) meet(queue.in_packets);
  }
  return packets && *packets ? Dim::kPackets : Dim::kBytes;
}

Tree Resolver::packet_field(Ref of, const PathPart& name, const Env& env) {
  const Field* field = find_field(packet_fields(), name.name);
  if (field == nullptr)
    complain(name.place, "packets have no " + name.name + did_you_mean(name.name, names_of(packet_fields())));
  const bool order = env.site == Site::kPacketOrder || env.site == Site::kQueueOrder;
  if (order && !field->fixed)
    complain(name.place,
             name.name + (field->dim == Dim::kFlow ? " has no order: it can only be equal"
                                                   : " changes while a packet waits: an order is fixed"));
  Tree tree;
  tree.op = of.kind == Kind::kHead ? Tree::Op::kHead : Tree::Op::kPacket;
  tree.object = of.object;
  tree.field = field->number;
  tree.dim = field->dim;
  if (of.kind == Kind::kPacket && env.out && field->number == static_cast<std::uint8_t>(PacketField::kOut)) {
    tree.op = Tree::Op::kNumber;
    tree.object = kContextObject;
    tree.field = 0;
    tree.number = Rational{*env.out};
  }
  return tree;
}

Tree Resolver::state(Ref of, const PathPart& name, const Env& env) {
  const ObjectKind kind = object_kind(of);
  std::vector<std::string> known = names_of(fields_of(kind));
  std::optional<std::uint8_t> slot;
  for (const StateName& one : chapter_states()) {
    const bool has = kind == ObjectKind::kQueue    ? one.queue
                     : kind == ObjectKind::kBuffer ? one.buffer
                                                   : one.port;
    if (has) known.emplace_back(one.name);
    if (has && name.name == one.name) slot = one.slot;
  }
  for (const auto& [key, number] : declared_) {
    if (key.first != kind) continue;
    known.push_back(key.second);
    if (key.second == name.name) slot = number;
  }
  if (!slot) complain(name.place, plural(kind) + " have no " + name.name + did_you_mean(name.name, known));
  if (env.site == Site::kConstant) complain(name.place, name.name + " is no constant");
  Tree tree;
  tree.op = kind == ObjectKind::kQueue    ? Tree::Op::kQueue
            : kind == ObjectKind::kBuffer ? Tree::Op::kBuffer
                                          : Tree::Op::kPort;
  tree.field = static_cast<std::uint8_t>(kind == ObjectKind::kQueue    ? static_cast<int>(QueueField::kState)
                                         : kind == ObjectKind::kBuffer ? static_cast<int>(BufferField::kState)
                                                                       : static_cast<int>(PortField::kState));
  tree.slot = *slot;
  tree.object = of.object;
  const auto dim = states_.find({kind, *slot});
  tree.dim = dim == states_.end() ? Dim::kAny : dim->second.dim;
  return tree;
}

Tree Resolver::field(Ref of, const PathPart& name, const Env& env) {
  if (of.kind == Kind::kPacket || of.kind == Kind::kHead) return packet_field(of, name, env);
  const ObjectKind kind = object_kind(of);
  const Field* field = find_field(fields_of(kind), name.name);
  if (field == nullptr) return state(of, name, env);
  Tree tree;
  tree.object = of.object;
  tree.field = field->number;
  tree.dim = field->dim;
  const auto fixed = [&](std::int64_t value) {
    tree.op = Tree::Op::kNumber;
    tree.number = Rational{value};
    tree.object = kContextObject;
    tree.field = 0;
    if (value == 0 && tree.dim == Dim::kNumber) tree.dim = Dim::kAny;
  };
  if (kind == ObjectKind::kQueue) {
    tree.op = Tree::Op::kQueue;
    const QueueField which{field->number};
    if (which == QueueField::kSize || which == QueueField::kCurrSize) tree.dim = unit_of(of, name);
    if (which == QueueField::kQuantum) {
      std::optional<Dim> dim;
      for (std::size_t i = 0; i < model_.queues.size(); ++i) {
        if (of.object < model_.queues.size() && i != of.object) continue;
        const Dim one = model_.queues[i].quantum_dim;
        if (one == Dim::kAny) continue;
        if (dim && *dim != one)
          complain(name.place, "queues of this program have a quantum of bytes and of " + words(one));
        dim = one;
      }
      tree.dim = dim.value_or(Dim::kAny);
    }
    if (of.object < model_.queues.size()) {
      const ModelQueue& queue = model_.queues[of.object];
      if (which == QueueField::kSize) fixed(queue.size);
      if (which == QueueField::kIndex && queue.port != kNoPolicyObject) fixed(queue.index);
    }
  } else if (kind == ObjectKind::kBuffer) {
    tree.op = Tree::Op::kBuffer;
    const BufferField which{field->number};
    if (which == BufferField::kSize || which == BufferField::kCurrSize) tree.dim = unit_of(of, name);
    if (of.object < model_.buffers.size() && which == BufferField::kSize)
      fixed(model_.buffers[of.object].size);
  } else {
    tree.op = Tree::Op::kPort;
    const PortField which{field->number};
    if (of.object < ports_.size()) {
      if (which == PortField::kIndex) fixed(of.object);
      if (which == PortField::kLineRate) fixed(ports_[of.object].rate.bps());
    }
  }
  if (env.site == Site::kConstant && tree.op != Tree::Op::kNumber)
    complain(name.place, name.name + " is no constant");
  return tree;
}

// --- objects ----------------------------------------------------------------------------------------------

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

// --- targets of selections --------------------------------------------------------------------------------

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
    if (ref.kind != Kind::kQueue) complain(path.front().place, print(path) + " is no queue");
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

std::uint8_t Resolver::declare_state(const Item& item) {
  const Dim dim = item.word == "Int"     ? Dim::kNumber
                  : item.word == "Bytes" ? Dim::kBytes
                  : item.word == "Time"  ? Dim::kTime
                                         : Dim::kAny;
  if (dim == Dim::kAny) complain(item.place, item.word + " is no type of a state: write Int, Bytes or Time");
  const ObjectKind kind = *item.declared;
  bool taken = find_field(fields_of(kind), item.name) != nullptr || declared_.contains({kind, item.name});
  for (const StateName& one : chapter_states()) taken |= item.name == one.name;
  if (taken) complain(item.place, plural(kind) + " have a field " + item.name + " already");
  constexpr std::uint32_t kMostStates = 16;
  if (model_.state_slots >= kMostStates)
    complain(item.place,
             "a program declares at most " + std::to_string(kMostStates - kFirstDeclaredState) + " states");
  const auto slot = static_cast<std::uint8_t>(model_.state_slots++);
  declared_[{kind, item.name}] = slot;
  states_[{kind, slot}] = {dim, item.place};
  return slot;
}

}  // namespace rocelab::oq
