#include "ovs_patches/openqueue/expand.h"

#include <algorithm>
#include <utility>

namespace rocelab::oq {
namespace {

// Names that mean something everywhere.
bool is_taken(const std::string& name) {
  for (const char* one : {"packet", "queue", "buffer", "port", "now", "MAX_FRAME", "PORTS"})
    if (name == one) return true;
  return false;
}

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
  named.scope = scope;
  if (is_taken(name)) complain(item.place, name + " has a meaning of its own: take another name");
  Scope* at = scope;
  do {
    const auto other = at->names.find(name);
    if (other == at->names.end() || at->library) continue;
    if (other->second.item == &item) return;
    complain(item.place, name + " has been declared already", other->second.place, "here");
  } while ((at = at->parent) != nullptr);
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

// False: nothing is left, and it has been said.
bool Expander::spend(std::size_t steps, Place place) {
  steps_ += steps;
  if (steps_ <= kMostSteps) return true;
  if (!std::exchange(exhausted_, true))
    complain(place, "blocks and loops expand to too many statements about objects");
  return false;
}

void Expander::walk(const std::vector<Item>& items, Scope* scope, Phase phase) {
  for (const Item& item : items) {
    if (diagnostics_.full()) return;
    try {
      if (!spend(1, item.place)) return;
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
