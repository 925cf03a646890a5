// The part of Expander that makes queues, buffers and ports.
#include <algorithm>

#include "ovs_patches/openqueue/expand.h"

namespace rocelab::oq {
namespace {

const Path* path_of(const Expr& expr) { return expr.op == Op::kPath ? &expr.path : nullptr; }

}  // namespace

std::string indexed(const std::string& name, const Array::Index& index) {
  std::string text = name;
  for (const std::int64_t i : index) text += "[" + std::to_string(i) + "]";
  return text;
}

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
  if (port.share.den() > 0xffffffff || port.share.num() > 0xffffffff)
    complain(make.place, "this rate is too fine a share of " + to_string(ports_[*link].rate) + ": round it");
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

}  // namespace rocelab::oq
