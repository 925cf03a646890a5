#include "ovs_patches/openqueue/expand.h"

#include <algorithm>

namespace rocelab::oq {
namespace {

// Names that mean something everywhere.
bool is_taken(const std::string& name) {
  for (const char* one : {"packet", "queue", "buffer", "port", "now", "MAX_FRAME", "PORTS"})
    if (name == one) return true;
  return false;
}

std::string indexed(const std::string& name, const Array::Index& index) {
  std::string text = name;
  for (const std::int64_t i : index) text += "[" + std::to_string(i) + "]";
  return text;
}

const Path* path_of(const Expr& expr) { return expr.op == Op::kPath ? &expr.path : nullptr; }

}  // namespace

Complaint outside_library(Complaint complaint, Place place) {
  if (complaint.place.file != kLibraryFile) return complaint;
  complaint.notes.insert(complaint.notes.begin(), {complaint.place, "here"});
  complaint.place = place;
  return complaint;
}

void Expander::declare(const Item& item, Scope* scope, const std::string& name, Named named) {
  named.place = item.place;
  named.item = &item;
  named.instances.push_back(scope);
  if (is_taken(name)) complain(item.place, name + " has a meaning of its own: take another name");
  for (Scope* at = scope; at != nullptr; at = at->parent) {
    const auto other = at->names.find(name);
    if (other == at->names.end() || at->library) continue;
    if (other->second.item == &item) return;
    complain(item.place, name + " has been declared already", other->second.place, "here");
  }
  scope->names[name] = std::move(named);
}

void Expander::declare(const std::vector<Item>& items, Scope* scope) {
  for (const Item& item : items) {
    Named named;
    std::string name = item.name;
    switch (item.kind) {
      case Item::Kind::kConst:
        named.kind = Named::Kind::kConst;
        break;
      case Item::Kind::kTurn:
        named.kind = Named::Kind::kTurn;
        break;
      case Item::Kind::kDefine:
        if (item.path.size() > 1) continue;
        named.kind = Named::Kind::kDefinition;
        name = item.path[0].name;
        break;
      case Item::Kind::kAttribute:  // tailDrop() = ..
        if (item.path.size() != 2 || item.path[1].kind != PathPart::Kind::kCall) continue;
        named.kind = Named::Kind::kDefinition;
        name = item.path[0].name;
        break;
      case Item::Kind::kState:
        try {
          resolver_.declare_state(item);
        } catch (const Complaint& complaint) {
          diagnostics_.error(complaint);
        }
        continue;
      default:
        continue;
    }
    try {
      declare(item, scope, name, std::move(named));
    } catch (const Complaint& complaint) {
      diagnostics_.error(complaint);
    }
  }
}

Scope* Expander::inner(const Item& item, Scope* scope, std::int64_t iteration) {
  Scope*& made = inner_[{&item, scope, iteration}];
  if (made == nullptr) {
    made = &scopes_.emplace_back();
    made->parent = scope;
    made->library = false;
    made->loop = item.kind == Item::Kind::kLoop;
    if (made->loop) {
      Named variable;
      variable.kind = Named::Kind::kConst;
      variable.value = Constant{Dim::kNumber, Rational{iteration}};
      declare(item, made, item.name, std::move(variable));
    }
    if (item.kind == Item::Kind::kEveryPort) {
      made->egress = static_cast<std::uint16_t>(iteration);
      made->prefix = indexed(item.name.empty() ? "port" : item.name, {iteration}) + ".";
    }
    declare(item.items, made);
  }
  return made;
}

void Expander::walk(const std::vector<Item>& items, Scope* scope, Phase phase) {
  for (const Item& item : items) {
    if (diagnostics_.full()) return;
    try {
      if (++steps_ > kMostSteps) {
        if (steps_ == kMostSteps + 1) complain(item.place, "blocks and loops expand to too many items");
        return;
      }
      walk(item, scope, phase);
    } catch (const Complaint& complaint) {
      diagnostics_.error(complaint);
    }
  }
}

void Expander::every_port(const Item& item, Scope* scope, Phase phase) {
  if (scope->egress_port()) complain(item.place, "this block is within another block on every port");
  if (!item.name.empty() && phase == Phase::kQueues) {
    Named block;
    block.kind = Named::Kind::kBlock;
    declare(item, scope, item.name, std::move(block));
    scope->names[item.name].instances.clear();
  }
  for (std::size_t port = 0; port < ports_.size(); ++port) {
    Scope* block = inner(item, scope, static_cast<std::int64_t>(port));
    if (!item.name.empty() && phase == Phase::kQueues) scope->names[item.name].instances.push_back(block);
  }
  for (std::size_t port = 0; port < ports_.size(); ++port)
    walk(item.items, inner(item, scope, static_cast<std::int64_t>(port)), phase);
}

void Expander::loop(const Item& item, Scope* scope, Phase phase) {
  const std::int64_t from = resolver_.whole(*item.from, scope, Dim::kNumber, "a bound of for");
  const std::int64_t to = resolver_.whole(*item.to, scope, Dim::kNumber, "a bound of for");
  constexpr std::int64_t kMostIterations = 16'384;
  if (to - from >= kMostIterations)
    complain(item.place, "this loop is longer than " + std::to_string(kMostIterations) + " iterations");
  for (std::int64_t i = from; i <= to && steps_ <= kMostSteps && !diagnostics_.full(); ++i)
    walk(item.items, inner(item, scope, i), phase);
}

void Expander::walk(const Item& item, Scope* scope, Phase phase) {
  switch (item.kind) {
    case Item::Kind::kConst:
      if (phase != Phase::kProperties) return;
      {
        Expr name;
        name.op = Op::kPath;
        name.place = item.place;
        name.path = {{PathPart::Kind::kName, item.place, item.name, {}}};
        resolver_.constant(name, scope);
      }
      return;
    case Item::Kind::kObject:
      return object(item, scope, phase);
    case Item::Kind::kEveryPort:
      return every_port(item, scope, phase);
    case Item::Kind::kSwitch:
      return walk(item.items, inner(item, scope, 0), phase);
    case Item::Kind::kLoop:
      return loop(item, scope, phase);
    case Item::Kind::kDefine:
    case Item::Kind::kAttribute:
      if (phase >= Phase::kNumbers) property(item, scope, phase);
      return;
    case Item::Kind::kSelect:
      if (phase == Phase::kProperties) select(item, scope);
      return;
    case Item::Kind::kSet:
      if (phase == Phase::kProperties) set(item, scope);
      return;
    case Item::Kind::kTurn:
    case Item::Kind::kState:
      return;
  }
}

// --- objects ----------------------------------------------------------------------------------------------

void Expander::each_element(const Item& item, Scope* scope, ObjectKind kind, const auto& make) {
  const Path& path = item.path;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (std::size_t i = 1; i < path.size(); ++i) {
    const PathPart& part = path[i];
    if (part.kind != PathPart::Kind::kIndex && part.kind != PathPart::Kind::kRange)
      complain(part.place, "an object is declared by a name and ranges, as in q[0..7] = Queue(240KB)");
    const std::int64_t from = resolver_.whole(part.bounds[0], scope, Dim::kNumber, "an index");
    const std::int64_t to = part.kind == PathPart::Kind::kIndex
                                ? from
                                : resolver_.whole(part.bounds[1], scope, Dim::kNumber, "an index");
    if (to < from)
      complain(part.place,
               "this range is empty: it goes from " + std::to_string(from) + " to " + std::to_string(to));
    if (to - from >= static_cast<std::int64_t>(kMostQueues))
      complain(part.place, "a switch has at most " + std::to_string(kMostQueues) + " queues");
    ranges.emplace_back(from, to);
  }
  Scope* owner = scope;
  while (owner->loop) owner = owner->parent;
  const std::string& name = path.front().name;
  auto at = owner->names.find(name);
  if (at == owner->names.end() || at->second.kind != Named::Kind::kArray) {
    Named array;
    array.kind = Named::Kind::kArray;
    array.array.kind = kind;
    array.array.place = item.place;
    declare(item, owner, name, std::move(array));
    at = owner->names.find(name);
  }
  Array& array = at->second.array;
  if (array.kind != kind || (!array.elements.empty() && array.dimensions() != ranges.size()))
    complain(item.place, name + " has been declared already, and differs", array.place, "here");
  std::string prefix;
  for (const Scope* at_scope = owner; at_scope != nullptr && prefix.empty(); at_scope = at_scope->parent)
    prefix = at_scope->prefix;
  Array::Index index;
  for (const auto& [from, to] : ranges) index.push_back(from);
  for (;;) {
    if (array.elements.contains(index))
      complain(item.place, indexed(name, index) + " has been declared already", array.place, "here");
    array.elements[index] = make(prefix + indexed(name, index));
    std::size_t i = index.size();
    while (i > 0 && index[i - 1] == ranges[i - 1].second) {
      index[i - 1] = ranges[i - 1].first;
      --i;
    }
    if (i == 0) return;
    ++index[i - 1];
  }
}

void Expander::object(const Item& item, Scope* scope, Phase phase) {
  const Make& make = *item.make;
  if (item.declared && *item.declared != make.kind)
    complain(item.place, print(item.path) + " is declared as a " + name_of(*item.declared) +
                             ", and made as a " + name_of(make.kind));
  if ((make.kind == ObjectKind::kQueue) != (phase == Phase::kQueues) || phase >= Phase::kNumbers) return;
  if (make.kind != ObjectKind::kPort && (!make.targets.empty() || make.link != Make::Link::kNone))
    complain(make.place, "only a port has \"->\", ingress and egress");
  each_element(item, scope, make.kind, [&](std::string name) {
    switch (make.kind) {
      case ObjectKind::kQueue:
        return make_queue(make, scope, std::move(name));
      case ObjectKind::kBuffer:
        return make_buffer(make, scope, std::move(name));
      default:
        return make_port(make, scope, std::move(name));
    }
  });
}

std::int64_t Expander::size_of(const Make& make, Scope* scope, bool& in_packets) {
  const Expr& size = make.arguments.front();
  const Constant found = resolver_.constant(size, scope);
  if (found.dim == Dim::kNumber)
    complain(size.place, print(size) + " has no unit: write for example " + found.number.text() + "KB or " +
                             found.number.text() + " packets");
  if (found.dim != Dim::kBytes && found.dim != Dim::kPackets)
    complain(size.place, print(size) + " is " + words(found.dim) + ": a size is bytes or packets");
  if (!found.number.is_whole())
    complain(size.place, print(size) + " is no whole number of " + words(found.dim));
  in_packets = found.dim == Dim::kPackets;
  constexpr std::int64_t kMost = 1'000'000'000'000;
  if (found.number.num() < 1 || found.number.num() > kMost)
    complain(size.place, print(size) + ": a size is from 1 to " + std::to_string(kMost));
  if (!in_packets && found.number.num() < config_.longest_frame().count())
    diagnostics_.warn(size.place, "a size of " + found.number.text() +
                                      " bytes holds no frame of the longest, " +
                                      std::to_string(config_.longest_frame().count()) + " bytes");
  return found.number.num();
}

std::uint32_t Expander::make_queue(const Make& make, Scope* scope, std::string name) {
  if (make.arguments.size() != 1)
    complain(make.place, "a queue is made of its size alone: write Queue(240KB) or Queue(128 packets)");
  if (model_.queues.size() >= kMostQueues)
    complain(make.place, "a switch has at most " + std::to_string(kMostQueues) + " queues");
  ModelQueue queue;
  queue.name = std::move(name);
  queue.place = make.place;
  queue.size = size_of(make, scope, queue.in_packets);
  model_.queues.push_back(std::move(queue));
  return static_cast<std::uint32_t>(model_.queues.size() - 1);
}

std::uint32_t Expander::make_buffer(const Make& make, Scope* scope, std::string name) {
  if (make.arguments.size() < 2)
    complain(make.place, "a buffer is made of a size and its queues: write Buffer(2MB, q[*])");
  ModelBuffer buffer;
  buffer.name = std::move(name);
  buffer.place = make.place;
  buffer.size = size_of(make, scope, buffer.in_packets);
  const auto number = static_cast<std::uint32_t>(model_.buffers.size());
  for (std::size_t i = 1; i < make.arguments.size(); ++i) {
    const Expr& argument = make.arguments[i];
    if (path_of(argument) == nullptr) complain(argument.place, print(argument) + " is no queue");
    for (const Ref& ref : resolver_.objects(argument.path, scope)) {
      if (ref.kind != Ref::Kind::kQueue) complain(argument.place, print(argument) + " is no queue");
      ModelQueue& queue = model_.queues[ref.object];
      if (queue.buffer != kNoPolicyObject)
        complain(argument.place, queue.name + " is in a buffer already",
                 queue.buffer == number ? make.place : model_.buffers[queue.buffer].place, "here");
      queue.buffer = number;
      buffer.queues.push_back(ref.object);
    }
  }
  std::sort(buffer.queues.begin(), buffer.queues.end());
  model_.buffers.push_back(std::move(buffer));
  return number;
}

std::uint32_t Expander::queue_of(const Path& path, Scope* scope) {
  const std::vector<Ref> found = resolver_.objects(path, scope);
  if (found.size() != 1 || found.front().kind != Ref::Kind::kQueue)
    complain(path.front().place, print(path) + " is no queue");
  return found.front().object;
}

std::uint32_t Expander::make_port(const Make& make, Scope* scope, std::string name) {
  ModelPort port;
  port.name = std::move(name);
  port.place = make.place;
  port.internal = !make.targets.empty();
  port.drops_ahead = make.drops_ahead;
  std::vector<Ref> queues;
  std::vector<const Expr*> named;
  std::optional<Constant> rate;
  for (std::size_t i = 0; i < make.arguments.size(); ++i) {
    const Expr& argument = make.arguments[i];
    const Path* path = path_of(argument);
    Named* first = path == nullptr ? nullptr : scope->find(path->front().name);
    const bool is_objects =
        first != nullptr && (first->kind == Named::Kind::kArray || first->kind == Named::Kind::kBlock);
    if (i == 0 && !is_objects && !(path != nullptr && first == nullptr)) {
      rate = resolver_.constant(argument, scope);
      if (rate->dim != Dim::kRate) {
        port.share = resolver_.share(argument, scope);
        if (port.share.is_zero()) complain(argument.place, "a port has more than 0% of a rate");
      } else if (!rate->number.is_whole() || rate->number.num() < 1) {
        complain(argument.place, print(argument) + " is no whole number of bits per second");
      }
      continue;
    }
    if (path == nullptr) complain(argument.place, print(argument) + " is no queue");
    for (const Ref& ref : resolver_.objects(*path, scope)) {
      if (ref.kind != Ref::Kind::kQueue) complain(argument.place, print(argument) + " is no queue");
      queues.push_back(ref);
      named.push_back(&argument);
    }
  }
  if (queues.empty()) complain(make.place, "a port needs queues: write Port(100%, q[*])");
  if (queues.size() > kMostPortQueues)
    complain(make.place, "a port has at most " + std::to_string(kMostPortQueues) + " queues, this one has " +
                             std::to_string(queues.size()));
  std::optional<std::uint16_t> link = scope->egress_port();
  if (make.link != Make::Link::kNone) {
    const std::int64_t given = resolver_.whole(*make.number, scope, Dim::kNumber, "the number of a port");
    if (given < 0 || given >= static_cast<std::int64_t>(ports_.size()))
      complain(make.number->place, "the switch has ports 0 to " + std::to_string(ports_.size() - 1) +
                                       ": there is no " + std::to_string(given));
    link = static_cast<std::uint16_t>(given);
    if (make.link == Make::Link::kIngress && !port.internal)
      complain(make.place,
               "an ingress port sends nothing: this port needs egress, or queues that it goes to (\"->\")");
  }
  std::uint32_t number = 0;
  if (port.internal) {
    if (!link && !(rate && rate->dim == Dim::kRate))
      complain(
          make.place,
          "an internal port has the rate of a link: add ingress or egress and its number, or give a rate");
    number = static_cast<std::uint32_t>(model_.ports.size());
    for (const Path& path : make.targets)
      for (const Ref& ref : resolver_.objects(path, scope)) {
        if (ref.kind != Ref::Kind::kQueue) complain(path.front().place, print(path) + " is no queue");
        port.targets.push_back(ref.object);
      }
  } else {
    if (!link)
      complain(make.place,
               "which port of the switch is this? Declare it on every port, or add egress and its number");
    if (port_places_[*link])
      complain(make.place, "port " + std::to_string(*link) + " has been declared already",
               *port_places_[*link], "here");
    number = *link;
  }
  if (rate && rate->dim == Dim::kRate) {
    port.rate = rate->number.num();
    if (link && !port.internal && port.rate > ports_[*link].rate.bps())
      complain(make.place, "port " + std::to_string(*link) + " has a link of " +
                               to_string(ports_[*link].rate) + ": it cannot send at " +
                               to_string(Rate::from_bps(port.rate)));
    if (!port.internal) port.share = *Rational::of(port.rate, ports_[*link].rate.bps());
  } else {
    port.rate = static_cast<std::int64_t>(static_cast<__int128>(ports_[*link].rate.bps()) * port.share.num() /
                                          port.share.den());
  }
  if (port.share.den() > 0xffffffff)
    port.share = *Rational::of(static_cast<__int128>(port.share.num()) * 1'000'000'000 / port.share.den(),
                               1'000'000'000);
  port.egress = link.value_or(0);
  for (std::size_t i = 0; i < queues.size(); ++i) {
    ModelQueue& queue = model_.queues[queues[i].object];
    if (queue.port != kNoPolicyObject)
      complain(named[i]->place, queue.name + " is in a port already",
               queue.port == number ? make.place : model_.ports[queue.port].place, "here");
    queue.port = number;
    queue.index = static_cast<std::uint32_t>(i);
    port.queues.push_back(queues[i].object);
  }
  if (port.internal) {
    model_.ports.push_back(std::move(port));
  } else {
    port_places_[number] = make.place;
    model_.ports[number] = std::move(port);
  }
  return number;
}

// --- the whole --------------------------------------------------------------------------------------------

Model Expander::expand(const Text& library, const std::vector<const Text*>& texts,
                       const std::vector<std::pair<std::string, Expr>>& constants) {
  model_.ports.resize(ports_.size());
  model_.select.resize(ports_.size());
  port_places_.resize(ports_.size());
  select_places_.resize(ports_.size());
  select_by_block_.resize(ports_.size());
  Scope* standard = &scopes_.emplace_back();
  standard->library = true;
  Scope* scope = &scopes_.emplace_back();
  scope->parent = standard;
  declare(library.items, standard);
  for (const Text* text : texts) declare(text->items, scope);
  for (const auto& [name, expr] : constants) {
    const auto at = scope->names.find(name);
    try {
      if (at == scope->names.end() || at->second.kind != Named::Kind::kConst) {
        std::vector<std::string> known;
        for (const auto& [other, named] : scope->names)
          if (named.kind == Named::Kind::kConst) known.push_back(other);
        complain(expr.place, "the program has no const " + name + did_you_mean(name, known));
      }
      at->second.value = resolver_.constant(expr, scope);
      at->second.used = true;
    } catch (const Complaint& complaint) {
      diagnostics_.error(complaint);
    }
  }
  for (const Phase phase : {Phase::kQueues, Phase::kHolders, Phase::kNumbers, Phase::kProperties}) {
    steps_ = 0;
    for (const Text* text : texts) walk(text->items, scope, phase);
    if (diagnostics_.failed() && phase != Phase::kProperties) return std::move(model_);
  }
  if (!diagnostics_.failed()) finish();
  if (!diagnostics_.failed()) {
    warn_unused(*scope);
    warn_unread();
  }
  return std::move(model_);
}

// Of the program itself: a file that it uses may declare more than it needs.
void Expander::warn_unused(const Scope& scope) {
  for (const auto& [name, named] : scope.names)
    if (!named.used && named.place.file == kProgramFile && named.kind != Named::Kind::kArray &&
        named.kind != Named::Kind::kBlock)
      diagnostics_.warn(named.place, name + " is never used");
}

void Expander::warn_unread() {
  const auto drops = [](const std::vector<ModelCase>& cases) {
    for (const ModelCase& one : cases)
      for (const ModelAction& action : one.actions)
        if (action.kind == PolicyAction::Kind::kDrop) return true;
    return false;
  };
  for (const ModelQueue& queue : model_.queues) {
    if (queue.drop != nullptr && !drops(queue.congestion) &&
        !(queue.buffer != kNoPolicyObject && drops(model_.buffers[queue.buffer].congestion)))
      diagnostics_.warn(queue.drop_place,
                        queue.name + " drops nothing by this order: it has no congestion that drops");
    if (queue.strict > 0 && !model_.ports[queue.port].has_strict)
      diagnostics_.warn(
          queue.strict_place,
          model_.ports[queue.port].name + " has no strict queues: set its schedPrio = strict .. then ..");
  }
}

void Expander::finish() {
  const auto check = [&](const auto& what) {
    try {
      what();
    } catch (const Complaint& complaint) {
      diagnostics_.error(complaint);
    }
  };
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const Place start{};
    check([&] {
      if (!port_places_[i])
        complain(start, "port " + std::to_string(i) +
                            " of the switch has no Port in the program: no frame could leave by it");
      if (!select_places_[i])
        complain(*port_places_[i], "nothing selects a queue for frames to port " + std::to_string(i) +
                                       ": add select { else -> QUEUE; }");
    });
  }
  for (const ModelQueue& queue : model_.queues)
    check([&] {
      if (queue.port == kNoPolicyObject)
        complain(queue.place, queue.name + " is in no port: nothing would be served from it");
    });
  for (auto& [key, apart] : apart_)
    check([&, &object = key, &said = apart] {
      if (!said.predicate) complain(said.place, "congAction needs a congestion that is a predicate");
      if (said.actions.empty())
        complain(said.place,
                 "this congestion has no action: write congestion = PREDICATE, drop(1), or set congAction");
      std::vector<ModelCase>& cases = object.first == ObjectKind::kQueue
                                          ? model_.queues[object.second].congestion
                                          : model_.buffers[object.second].congestion;
      cases = {ModelCase{*said.predicate, said.actions, said.place}};
    });
  for (const ModelBuffer& buffer : model_.buffers)
    check([&] {
      for (const ModelCase& one : buffer.congestion)
        for (const ModelAction& action : one.actions)
          if (action.kind == PolicyAction::Kind::kDrop && !buffer.drop_from)
            complain(buffer.place, buffer.name + " drops, but nothing says from which queue: set " +
                                       buffer.name + ".dropFrom");
    });
  for (ModelPort& port : model_.ports)
    check([&] {
      if (!port.internal || port.next) return;
      if (port.targets.size() != 1)
        complain(port.place, port.name + " goes to " + std::to_string(port.targets.size()) +
                                 " queues: add select " + port.name + " { .. }");
      port.next.emplace();
      port.next->place = port.place;
      ModelSelection::Arm arm;
      arm.first = port.targets.front();
      arm.place = port.place;
      port.next->arms.push_back(std::move(arm));
    });
}

}  // namespace rocelab::oq
