// The part of Expander that reads selections, and tables by DSCP.
#include <algorithm>

#include "ovs_patches/openqueue/expand.h"

namespace rocelab::oq {
namespace {

using Kind = Ref::Kind;

}  // namespace

ModelSelection Expander::selection(const Item& item, Scope* scope, std::optional<std::uint16_t> out,
                                   Ref port) {
  Env env;
  env.scope = scope;
  env.site = Site::kSelect;
  env.out = out;
  env.port = port;
  ModelSelection made;
  made.place = item.place;
  constexpr std::size_t kMostArms = 256;
  if (item.arms.size() > kMostArms)
    complain(item.arms[kMostArms].place, "a select has at most " + std::to_string(kMostArms) + " cases");
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
