// The part of Expander that reads what is said of objects: orders, conditions, schedules, selections.
#include <algorithm>

#include "ovs_patches/openqueue/expand.h"
#include "ovs_patches/openqueue/orders.h"

namespace rocelab::oq {
namespace {

using Kind = Ref::Kind;

// The name at the end of a path: what is set.
const PathPart& last_name(const Path& path) {
  std::size_t at = path.size();
  while (at > 0 && path[at - 1].kind == PathPart::Kind::kCall) --at;
  if (at < 2 || path[at - 1].kind != PathPart::Kind::kName)
    complain(path.front().place,
             "this sets no property: write for example " + print(path) + ".congestion = tailDrop" +
                 (path.size() == 1 ? ", or const " + print(path) + " = .. for a constant" : ""));
  return path[at - 1];
}

bool is_number(const std::string& name) {
  return name == "strict" || name == "quantum" || name == "countAbove" || name == "cycle";
}

}  // namespace

Env Expander::env_of(Ref of, Scope* scope) const {
  Env env;
  env.scope = scope;
  env.self = of;
  if (of.kind == Kind::kQueue) {
    const ModelQueue& queue = model_.queues[of.object];
    env.site = Site::kQueueCase;
    env.queue = of;
    env.port = {Kind::kPort, queue.port};
    if (queue.buffer != kNoPolicyObject) env.buffer = {Kind::kBuffer, queue.buffer};
  } else if (of.kind == Kind::kBuffer) {
    env.site = Site::kBufferCase;
    env.buffer = of;
    env.queue = {Kind::kQueue, kContextObject};
    env.port = {Kind::kPort, kContextObject};
  } else {
    env.site = Site::kPortCase;
    env.port = of;
    env.queue = {Kind::kQueue, kContextObject};
  }
  return env;
}

void Expander::property(const Item& item, Scope* scope, Phase phase) {
  const bool definition = item.path.size() == 1 && item.kind == Item::Kind::kDefine;
  if (definition || (item.path.size() == 2 && item.path[1].kind == PathPart::Kind::kCall)) return;
  const PathPart& name = last_name(item.path);
  if (is_number(name.name) != (phase == Phase::kNumbers)) return;
  const std::vector<Ref> owners = resolver_.owners(item.path, scope);
  if (!spend(owners.size(), item.place)) return;
  for (const Ref& of : owners) {
    const ObjectKind kind = of.kind == Kind::kQueue    ? ObjectKind::kQueue
                            : of.kind == Kind::kBuffer ? ObjectKind::kBuffer
                                                       : ObjectKind::kPort;
    std::vector<std::string> known;
    bool found = false;
    for (const Property& property : properties()) {
      if (property.of != kind) continue;
      known.emplace_back(property.name);
      found |= name.name == property.name;
    }
    if (!found) {
      if (kind == ObjectKind::kBuffer && name.name == "admPrio")
        complain(name.place,
                 "a buffer chooses a queue, not a packet: set dropFrom (the first queue loses) or queuePrio "
                 "(the last loses)");
      if (find_field(fields_of(kind), name.name) != nullptr)
        complain(name.place, name.name + " is read only");
      for (const StateName& state : chapter_states())
        if (name.name == state.name) complain(name.place, name.name + " begins at 0: modify() changes it");
      complain(name.place, plural(kind) + " have no property " + name.name + did_you_mean(name.name, known));
    }
    try {
      if (kind == ObjectKind::kQueue)
        queue_property(of.object, name.name, item, scope);
      else if (kind == ObjectKind::kBuffer)
        buffer_property(of.object, name.name, item, scope);
      else
        port_property(of.object, name.name, item, scope);
    } catch (const Complaint& complaint) {
      throw outside_library(complaint, item.value->place);
    }
  }
}

void Expander::queue_property(std::uint32_t number, const std::string& name, const Item& item, Scope* scope) {
  ModelQueue& queue = model_.queues[number];
  const Ref of{Kind::kQueue, number};
  const Value& value = *item.value;
  if (name == "procPrio") {
    queue.service = order(item, scope, true);
  } else if (name == "dropFirst" || name == "admPrio") {
    queue.drop = order(item, scope, true);
    queue.drop_place = value.place;
    if (queue.drop->kind == PolicyOrder::Kind::kRoundRobin)
      complain(value.place,
               "roundRobin(in) is an order of service: dropFirst and admPrio say which packet is dropped");
    if (name == "admPrio" && queue.drop->kind == PolicyOrder::Kind::kOldest)
      diagnostics_.warn(
          value.place,
          "the first in admPrio is dropped first: this drops the oldest packet, as dropFirst = oldest does");
  } else if (name == "congestion") {
    Condition made = condition(of, item, scope, true);
    queue.congestion = std::move(made.cases);
    queue.congestion_place = value.place;
    if (made.predicate) {
      apart_[{ObjectKind::kQueue, number}].predicate = std::move(made.predicate);
      apart_[{ObjectKind::kQueue, number}].place = value.place;
    } else {
      apart_.erase({ObjectKind::kQueue, number});
    }
  } else if (name == "congAction") {
    Apart& apart = apart_[{ObjectKind::kQueue, number}];
    if (value.kind != Value::Kind::kCases || value.cases.size() != 1 || value.cases[0].predicate)
      complain(value.place, "congAction is an action, as in drop(0.95)");
    apart.actions.clear();
    for (const Action& one : value.cases[0].actions)
      apart.actions.push_back(resolver_.action(one, env_of(of, scope), true));
    apart.place = value.place;
  } else if (name == "postAdmAct") {
    Condition made = condition(of, item, scope, false);
    if (made.predicate) complain(value.place, "postAdmAct is cases: write (PREDICATE, ACTION)");
    queue.post_admission = std::move(made.cases);
  } else {
    if (value.kind != Value::Kind::kExpr) complain(value.place, name + " is a constant");
    const Constant found = resolver_.constant(*value.expr, scope);
    const bool time = found.dim == Dim::kTime || found.dim == Dim::kRate;
    const bool is_zero = found.number.is_zero();
    if (name == "strict"       ? found.dim != Dim::kNumber
        : name == "countAbove" ? found.dim != Dim::kBytes && !is_zero
                               : time)
      complain(value.place, print(*value.expr) + " is " + words(found.dim) + ": " + name + " is " +
                                (name == "strict"       ? "a number"
                                 : name == "countAbove" ? "bytes"
                                                        : "bytes, packets or a number"));
    constexpr std::int64_t kMost = 1'000'000'000'000;
    if (!found.number.is_whole() || found.number.num() < 0 || found.number.num() > kMost)
      complain(value.place, print(*value.expr) + " is " + found.number.text() + ": " + name +
                                " is a whole number from 0 to " + std::to_string(kMost));
    (name == "strict"       ? queue.strict
     : name == "countAbove" ? queue.count_above
                            : queue.quantum) = found.number.num();
    if (name == "quantum") queue.quantum_dim = found.dim;
    if (name == "strict") queue.strict_place = value.place;
  }
}

void Expander::buffer_property(std::uint32_t number, const std::string& name, const Item& item,
                               Scope* scope) {
  ModelBuffer& buffer = model_.buffers[number];
  const Ref of{Kind::kBuffer, number};
  const Value& value = *item.value;
  if (name == "dropFrom" || name == "queuePrio") {
    buffer.drop_from = order(item, scope, false);
    buffer.last_loses = name == "queuePrio";
  } else if (name == "congestion") {
    Condition made = condition(of, item, scope, true);
    buffer.congestion = std::move(made.cases);
    if (made.predicate) {
      apart_[{ObjectKind::kBuffer, number}].predicate = std::move(made.predicate);
      apart_[{ObjectKind::kBuffer, number}].place = value.place;
    } else {
      apart_.erase({ObjectKind::kBuffer, number});
    }
  } else if (name == "congAction") {
    Apart& apart = apart_[{ObjectKind::kBuffer, number}];
    if (value.kind != Value::Kind::kCases || value.cases.size() != 1 || value.cases[0].predicate)
      complain(value.place, "congAction is an action, as in drop(0.95)");
    apart.actions.clear();
    for (const Action& one : value.cases[0].actions)
      apart.actions.push_back(resolver_.action(one, env_of(of, scope), true));
    apart.place = value.place;
  } else {
    Condition made = condition(of, item, scope, false);
    if (made.predicate) complain(value.place, "postAdmAct is cases: write (PREDICATE, ACTION)");
    buffer.post_admission = std::move(made.cases);
  }
}

void Expander::port_property(std::uint32_t number, const std::string& name, const Item& item, Scope* scope) {
  ModelPort& port = model_.ports[number];
  const Value& value = *item.value;
  if (name == "schedPrio") {
    schedule(port, item, scope);
  } else if (name == "postSchedAct") {
    Condition made = condition({Kind::kPort, number}, item, scope, false);
    if (made.predicate) complain(value.place, "postSchedAct is cases: write (PREDICATE, ACTION)");
    port.post_scheduling = std::move(made.cases);
  } else {
    if (value.kind != Value::Kind::kExpr) complain(value.place, name + " is a time");
    port.cycle = resolver_.whole(*value.expr, scope, Dim::kTime, "cycle");
    constexpr std::int64_t kMost = 1'000'000'000'000;  // a second
    if (port.cycle < 0 || port.cycle > kMost) complain(value.place, "cycle is from 0 to 1s");
  }
}

Expander::Condition Expander::condition(Ref of, const Item& item, Scope* scope, bool may_drop) {
  const Value& value = *item.value;
  Env env = env_of(of, scope);
  if (item.params.size() > 1)
    complain(item.place, print(item.path) + " is a condition: it has one object at most");
  if (item.params.size() == 1) env.params.emplace_back(item.params[0], of);
  const auto read = [&](const Value& from, const Env& in) {
    Condition made;
    if (from.kind == Value::Kind::kCases)
      made.cases = resolver_.cases(from.cases, in, may_drop);
    else if (from.kind == Value::Kind::kStrict)
      complain(from.place, "this is a schedule: a condition is expected");
    else
      made.predicate = resolver_.predicate(*from.expr, in);
    return made;
  };
  Named* named = value.kind == Value::Kind::kExpr ? definition(*value.expr, scope) : nullptr;
  if (named == nullptr) {
    if (value.kind == Value::Kind::kExpr && is_named(*value.expr) &&
        scope->find(value.expr->path.front().name) == nullptr && value.expr->path.size() > 1) {
      const std::string& name = value.expr->path.front().name;
      complain(value.place, "nothing is called " + name + did_you_mean(name, scope->known()));
    }
    return read(value, env);
  }
  const std::string& name = value.expr->path.front().name;
  if (named->kind == Named::Kind::kTurn || named->item->params.size() > 1)
    complain(value.place,
             name + " is " + (named->kind == Named::Kind::kTurn ? "a turn" : "an order") +
                 ": a condition is expected",
             named->place, "declared here");
  if (value.expr->op == Op::kCall) {
    const std::vector<Ref> given = resolver_.objects(value.expr->kids[0].path, scope);
    if (std::none_of(given.begin(), given.end(),
                     [&](const Ref& one) { return one.kind == of.kind && one.object == of.object; }))
      complain(value.place, name + " is given " + print(value.expr->kids[0]) +
                                ": a condition is about the object that has it");
  }
  Env inside = env_of(of, named->scope);
  if (named->item->params.size() == 1) inside.params.emplace_back(named->item->params[0], of);
  return read(*named->item->value, inside);
}

}  // namespace rocelab::oq
