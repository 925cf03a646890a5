// The part of Expander that reads orders and schedules.
#include <algorithm>

#include "ovs_patches/openqueue/expand.h"
#include "ovs_patches/openqueue/orders.h"

namespace rocelab::oq {
namespace {

using Kind = Ref::Kind;

bool reads_packet(const Tree& tree) {
  return tree.op == Tree::Op::kPacket || tree.op == Tree::Op::kHead ||
         std::any_of(tree.kids.begin(), tree.kids.end(), reads_packet);
}

// roundRobin(in), which no comparator can say.
bool is_round_robin(const Value& value, Scope& scope) {
  if (value.kind != Value::Kind::kExpr || value.expr->op != Op::kCall || value.expr->path.size() != 1)
    return false;
  const std::string& name = value.expr->path.front().name;
  if (name != "roundRobin" || scope.find(name) != nullptr) return false;
  const Expr& of = value.expr->kids[0];
  if (print(of) != "in")
    complain(of.place, "roundRobin takes turns over ingress ports: write roundRobin(in)");
  return true;
}

}  // namespace

bool is_named(const Expr& expr) {
  return (expr.op == Op::kPath || expr.op == Op::kCall) &&
         std::all_of(expr.path.begin() + 1, expr.path.end(),
                     [](const PathPart& part) { return part.kind == PathPart::Kind::kCall; });
}

Named* Expander::definition(const Expr& name, Scope* scope) {
  if (!is_named(name)) return nullptr;
  Named* named = scope->find(name.path.front().name);
  if (named == nullptr || (named->kind != Named::Kind::kDefinition && named->kind != Named::Kind::kTurn))
    return nullptr;
  named->used = true;
  return named;
}

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
  Scope* scope = named.scope;
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
  if (packets && is_round_robin(value, *scope)) {
    auto rotation = std::make_shared<ModelOrder>();
    rotation->name = "roundRobin(in)";
    rotation->place = value.place;
    rotation->packets = true;
    rotation->kind = PolicyOrder::Kind::kRoundRobin;
    return made = rotation;
  }
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

std::uint32_t Expander::turn(const Named& named) {
  Scope* scope = named.scope;
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

}  // namespace rocelab::oq
