// The part of Resolver that reads paths in expressions: names, then fields.
#include "ovs_patches/openqueue/path_parts.h"

namespace rocelab::oq {
namespace {

using Kind = Ref::Kind;

std::vector<std::string> names_of(std::span<const Field> fields) {
  std::vector<std::string> names;
  for (const Field& field : fields) names.emplace_back(field.name);
  return names;
}

constexpr const char* kArrivals = "arrivals";
constexpr const char* kArrivalsAre = "arrivals are counted by ingress port: write arrivals[packet.in]";

bool reads_ingress(const PathPart& index) {
  return index.kind == PathPart::Kind::kIndex && print(index.bounds.front()) == "packet.in";
}

}  // namespace

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
    Scope* scope = named.scope;
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
  bool by_ingress = false;
  for (; at < path.size(); ++at) {
    if (path[at].kind == PathPart::Kind::kCall) continue;
    if (is_index(path[at]) && !names.empty() && names.back()->name == kArrivals && at + 1 == path.size()) {
      by_ingress = reads_ingress(path[at]);
      if (!by_ingress) complain(path[at].place, kArrivalsAre);
      continue;
    }
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
  if (names.back()->name == kArrivals && tree.op == Tree::Op::kQueue) {
    if (!by_ingress) complain(names.back()->place, kArrivalsAre);
    if (env.site == Site::kQueueOrder)
      complain(names.back()->place,
               "arrivals are of a packet's ingress port: an order of queues has no packet");
    model_.counts_arrivals = true;
  }
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
  constexpr std::size_t kMostStates = 16 - kFirstDeclaredState;
  if (model_.declared_states.size() >= kMostStates)
    complain(item.place, "a program declares at most " + std::to_string(kMostStates) + " states");
  const auto slot = static_cast<std::uint8_t>(kFirstDeclaredState + model_.declared_states.size());
  model_.declared_states.push_back(item.name);
  declared_[{kind, item.name}] = slot;
  states_[{kind, slot}] = {dim, item.place};
  return slot;
}

}  // namespace rocelab::oq
