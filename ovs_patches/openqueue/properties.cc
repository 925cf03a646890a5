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

bool is_named(const Expr& expr) {
  return (expr.op == Op::kPath || expr.op == Op::kCall) &&
         std::all_of(expr.path.begin() + 1, expr.path.end(),
                     [](const PathPart& part) { return part.kind == PathPart::Kind::kCall; });
}

bool reads_packet(const Tree& tree) {
  return tree.op == Tree::Op::kPacket || tree.op == Tree::Op::kHead ||
         std::any_of(tree.kids.begin(), tree.kids.end(), reads_packet);
}

bool is_number(const std::string& name) { return name == "strict" || name == "quantum" || name == "cycle"; }

}  // namespace

Named* Expander::definition(const Expr& name, Scope* scope) {
  if (!is_named(name)) return nullptr;
  Named* named = scope->find(name.path.front().name);
  if (named == nullptr || (named->kind != Named::Kind::kDefinition && named->kind != Named::Kind::kTurn))
    return nullptr;
  named->used = true;
  return named;
}

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
  for (const Ref& of : resolver_.owners(item.path, scope)) {
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
    if (name == "strict" ? found.dim != Dim::kNumber : time)
      complain(value.place, print(*value.expr) + " is " + words(found.dim) + ": " + name + " is " +
                                (name == "strict" ? "a number" : "bytes, packets or a number"));
    constexpr std::int64_t kMost = 1'000'000'000'000;
    if (!found.number.is_whole() || found.number.num() < 0 || found.number.num() > kMost)
      complain(value.place, print(*value.expr) + " is " + found.number.text() + ": " + name +
                                " is a whole number from 0 to " + std::to_string(kMost));
    (name == "strict" ? queue.strict : queue.quantum) = found.number.num();
    if (name == "quantum")
      queue.quantum_dim = found.dim;
    else
      queue.strict_place = value.place;
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

// --- conditions -------------------------------------------------------------------------------------------

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
  Env inside = env_of(of, named->instances.front());
  if (named->item->params.size() == 1) inside.params.emplace_back(named->item->params[0], of);
  return read(*named->item->value, inside);
}

// --- orders -----------------------------------------------------------------------------------------------

OrderRef Expander::make_order(const std::string& name, Scope* scope, const Expr& less,
                              const std::vector<std::string>& params, bool packets) {
  auto order = std::make_shared<ModelOrder>();
  order->name = name;
  order->place = less.place;
  order->packets = packets;
  Env env;
  env.scope = scope;
  env.site = packets ? Site::kPacketOrder : Site::kQueueOrder;
  const Ref first{packets ? Kind::kPacket : Kind::kQueue, kFirstOfPair};
  const Ref second{first.kind, kSecondOfPair};
  if (params.size() == 2) {
    env.params = {{params[0], first}, {params[1], second}};
    order->less = resolver_.predicate(less, env);
  } else {  // a key: the larger first
    const char* self = packets ? "packet" : "queue";
    env.params = {{self, second}};
    env.self = second;
    Tree of_second = resolver_.resolve(less, env);
    if (of_second.dim == Dim::kBool || of_second.dim == Dim::kFlow)
      complain(less.place,
               print(less) + " is " + words(of_second.dim) + ": a key is a number, bytes or a time");
    env.params = {{self, first}};
    env.self = first;
    order->less.op = Tree::Op::kLess;
    order->less.dim = Dim::kBool;
    order->less.place = less.place;
    order->less.kids = {std::move(of_second), resolver_.resolve(less, env)};
  }
  separate(*order);
  return order;
}

OrderRef Expander::order_of(const Named& named, const std::string& name, bool packets) {
  Scope* scope = named.instances.front();
  OrderRef& made = orders_[{named.item, scope, packets}];
  if (made != nullptr) return made;
  const Value& value = *named.item->value;
  if (value.kind != Value::Kind::kExpr)
    complain(value.place, name + " is an order: its value is a predicate");
  if (named.item->params[0] == named.item->params[1])
    complain(named.item->place, "both objects are called " + named.item->params[0]);
  made = make_order(name, scope, *value.expr, named.item->params, packets);
  return made;
}

OrderRef Expander::order(const Item& item, Scope* scope, bool packets) {
  const Value& value = *item.value;
  const std::string kind = packets ? "packets" : "queues";
  OrderRef& made = orders_[{&item, scope, packets}];
  if (made != nullptr) return made;
  if (item.params.size() == 2 && value.kind == Value::Kind::kExpr)
    return made = make_order(print(item.path), scope, *value.expr, item.params, packets);
  if (!item.params.empty()) complain(item.place, "an order is of two " + kind);
  if (value.kind == Value::Kind::kInline) return made = make_order("inline", scope, *value.expr, {}, packets);
  if (value.kind != Value::Kind::kExpr || !is_named(*value.expr))
    complain(value.place, "an order of " + kind + " is expected: name one, as fifo, or write inline { KEY }");
  const std::string& name = value.expr->path.front().name;
  Named* named = definition(*value.expr, scope);
  if (named == nullptr) {
    if (Named* other = scope->find(name))
      complain(value.place, name + " is no order", other->place, "declared here");
    complain(value.place, "nothing is called " + name + did_you_mean(name, scope->known()));
  }
  if (named->kind == Named::Kind::kTurn || named->item->params.size() != 2)
    complain(value.place,
             name + " is " + (named->kind == Named::Kind::kTurn ? "a turn" : "a condition") +
                 ": an order of " + kind + " is expected",
             named->place, "declared here");
  return made = order_of(*named, name, packets);
}

// --- schedules --------------------------------------------------------------------------------------------

std::uint32_t Expander::turn(const Named& named) {
  Scope* scope = named.instances.front();
  const auto [at, fresh] =
      turns_.try_emplace({named.item, scope}, static_cast<std::uint32_t>(model_.turns.size()));
  if (!fresh) return at->second;
  const Item& item = *named.item;
  Env env;
  env.scope = scope;
  env.site = Site::kTurn;
  env.self = env.queue = {Kind::kQueue, kContextObject};
  env.port = {Kind::kPort, kContextObject};
  env.params = {{item.params[0], env.queue}};
  ModelTurn turn;
  turn.name = item.name;
  turn.place = item.place;
  for (const Action& one : item.enter) turn.enter.push_back(resolver_.action(one, env, false));
  turn.serve = resolver_.predicate(*item.serve, env);
  for (const Action& one : item.after) turn.after.push_back(resolver_.action(one, env, false));
  for (const Action& one : item.empty) {
    turn.empty.push_back(resolver_.action(one, env, false));
    if (reads_packet(turn.empty.back().value))
      complain(one.place, "the queue is empty here: there is no packet");
  }
  for (const auto* actions : {&turn.enter, &turn.after, &turn.empty})
    for (const ModelAction& one : *actions)
      if (one.kind != PolicyAction::Kind::kModify || one.of == PolicyAction::Of::kPacketValue)
        complain(one.place, "a turn modifies its queue and its port: no other action stands here");
  model_.turns.push_back(std::move(turn));
  return at->second;
}

void Expander::served_by(ModelPort& port, const Expr& name, Scope* scope) {
  Named* named = definition(name, scope);
  if (named == nullptr) {
    const std::string text = print(name);
    if (is_named(name) && scope->find(name.path.front().name) == nullptr)
      complain(name.place, "nothing is called " + name.path.front().name +
                               did_you_mean(name.path.front().name, scope->known()));
    complain(name.place, text + " is no order of queues and no turn");
  }
  if (named->kind == Named::Kind::kTurn) {
    port.turn = turn(*named);
  } else if (named->item->params.size() == 2) {
    port.order = order_of(*named, name.path.front().name, false);
  } else {
    complain(name.place, print(name) + " is a condition: an order of queues or a turn is expected",
             named->place, "declared here");
  }
}

void Expander::schedule(ModelPort& port, const Item& item, Scope* scope) {
  const Value& value = *item.value;
  port.has_strict = false;
  port.turn = kNoPolicyObject;
  port.order = port.strict_order = nullptr;
  port.schedule_place = value.place;
  if (value.kind == Value::Kind::kStrict) {
    port.has_strict = true;
    if (value.strict) {
      ModelPort only;
      served_by(only, *value.strict, scope);
      if (only.turn != kNoPolicyObject)
        complain(value.strict->place, "strict queues are served by an order, not by a turn");
      port.strict_order = only.order;
    } else {
      Expr key;
      key.op = Op::kPath;
      key.place = value.place;
      key.path = {{PathPart::Kind::kName, value.place, "queue", {}},
                  {PathPart::Kind::kName, value.place, "strict", {}}};
      OrderRef& made = orders_[{&item, scope, false}];
      if (made == nullptr) made = make_order("strict", scope, key, {}, false);
      port.strict_order = made;
    }
    served_by(port, *value.then, scope);
  } else if (value.kind == Value::Kind::kExpr && item.params.empty()) {
    served_by(port, *value.expr, scope);
  } else {
    port.order = order(item, scope, false);
  }
}

// --- selections and tables --------------------------------------------------------------------------------

ModelSelection Expander::selection(const Item& item, Scope* scope, std::optional<std::uint16_t> out,
                                   Ref port) {
  Env env;
  env.scope = scope;
  env.site = Site::kSelect;
  env.out = out;
  env.port = port;
  ModelSelection made;
  made.place = item.place;
  for (const Arm& arm : item.arms) {
    ModelSelection::Arm next;
    next.place = arm.place;
    if (arm.when) {
      Tree when = resolver_.predicate(*arm.when, env);
      if (when.op == Tree::Op::kFalse) continue;
      if (when.op != Tree::Op::kTrue) next.predicate = std::move(when);
    }
    Resolver::Target target = resolver_.target(arm.target, env);
    next.first = target.first;
    next.count = target.count;
    next.index = std::move(target.index);
    next.bounds = std::move(target.bounds);
    const bool always = !next.predicate;
    made.arms.push_back(std::move(next));
    if (!always) continue;
    if (&arm != &item.arms.back() && !out) diagnostics_.warn((&arm + 1)->place, "this is never reached");
    break;
  }
  return made;
}

void Expander::select(const Item& item, Scope* scope) {
  if (!item.path.empty()) {
    for (const Ref& of : resolver_.objects(item.path, scope)) {
      if (of.kind != Kind::kPort || !model_.ports[of.object].internal)
        complain(item.path.front().place,
                 print(item.path) + " is no internal port: a port with \"->\" selects a next queue");
      ModelPort& port = model_.ports[of.object];
      if (port.next) complain(item.place, port.name + " has a select already", port.next->place, "here");
      ModelSelection made = selection(item, scope, std::nullopt, of);
      for (const ModelSelection::Arm& arm : made.arms)
        each_queue(arm, [&](std::uint32_t queue) {
          if (std::find(port.targets.begin(), port.targets.end(), queue) == port.targets.end())
            complain(arm.place, port.name + " does not go to " + model_.queues[queue].name, port.place,
                     "declared here");
        });
      port.next = std::move(made);
    }
    return;
  }
  const std::optional<std::uint16_t> own = scope->egress_port();
  const std::size_t from = own ? *own : 0, to = own ? *own + 1u : ports_.size();
  for (std::size_t i = from; i < to; ++i) {
    if (select_places_[i]) {
      if (select_by_block_[i] == own.has_value())
        complain(item.place, "frames to port " + std::to_string(i) + " have a select already",
                 *select_places_[i], "here");
      if (select_by_block_[i]) continue;
    }
    model_.select[i] =
        selection(item, scope, static_cast<std::uint16_t>(i), {Kind::kPort, static_cast<std::uint32_t>(i)});
    select_places_[i] = item.place;
    select_by_block_[i] = own.has_value();
  }
}

void Expander::set(const Item& item, Scope* scope) {
  const std::string& name = item.name;
  if (name != "value" && name != "processing" && name != "slack")
    complain(item.place,
             "set is of value, processing or slack" + did_you_mean(name, {"value", "processing", "slack"}));
  if (scope->egress_port())
    complain(item.place, "set is of all frames of the switch: write it outside the block");
  const auto [at, fresh] = set_places_.try_emplace(name, item.place);
  if (!fresh) complain(item.place, name + " has been set already", at->second, "here");
  const bool by_class = item.word == "class";
  if (!by_class && item.word != "dscp")
    complain(item.place, "set " + name + " is by dscp or by class, not by " + item.word);
  ModelTable& table = name == "value" ? model_.value : name == "slack" ? model_.slack : model_.processing;
  table.given = true;
  std::array<bool, kDscps> filled{};
  const auto read = [&](const Expr& expr) {
    const Constant found = resolver_.constant(expr, scope);
    const Dim dim = name == "slack" ? Dim::kTime : Dim::kNumber;
    if (found.dim != dim && !found.number.is_zero())
      complain(expr.place, print(expr) + " is " + words(found.dim) + ": " + name + " is " + words(dim));
    if (!found.number.is_whole())
      complain(expr.place, print(expr) + " is " + found.number.text() + ": " + name + " is a whole number");
    constexpr std::int64_t kMost = 1'000'000'000'000'000'000;
    if (found.number.num() > kMost || found.number.num() < (name == "processing" ? 0 : -kMost))
      complain(expr.place, name + " is at " + (name == "processing" ? "least 0 and at " : "") + "most " +
                               std::to_string(kMost));
    return found.number.num();
  };
  for (const Arm& arm : item.arms) {
    const std::int64_t value = read(*arm.value);
    if (arm.numbers.empty())
      for (std::size_t dscp = 0; dscp < kDscps; ++dscp)
        if (!filled[dscp]) table.by_dscp[dscp] = value;
    for (const Expr& number : arm.numbers) {
      const std::int64_t given =
          resolver_.whole(number, scope, Dim::kNumber, item.word == "class" ? "a class" : "a DSCP");
      const std::int64_t most = by_class ? kTrafficClasses - 1 : static_cast<std::int64_t>(kDscps) - 1;
      if (given < 0 || given > most)
        complain(number.place, std::to_string(given) + ": " + (by_class ? "classes" : "DSCPs") +
                                   " are 0 to " + std::to_string(most));
      for (std::size_t dscp = 0; dscp < kDscps; ++dscp) {
        const bool mine = by_class ? config_.class_map.of(static_cast<std::uint8_t>(dscp)).value == given
                                   : dscp == static_cast<std::size_t>(given);
        if (!mine) continue;
        if (filled[dscp]) complain(number.place, std::to_string(given) + " stands here twice");
        filled[dscp] = true;
        table.by_dscp[dscp] = value;
      }
    }
  }
}

}  // namespace rocelab::oq
