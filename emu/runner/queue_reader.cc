// The part of [switch] that is about queues: orders, full rules, limits of classes; and the sections of
// mechanisms.
#include <algorithm>
#include <array>
#include <string>

#include "emu/runner/readers.h"
#include "emu/runner/schema_reader.h"

namespace rocelab {
namespace {

constexpr std::array<QueueOrder, 9> kOrders = {
    QueueOrder::kFifo,   QueueOrder::kRoundRobin,  QueueOrder::kLifo,
    QueueOrder::kRandom, QueueOrder::kFair,        QueueOrder::kRanked,
    QueueOrder::kLevels, QueueOrder::kRankedFlows, QueueOrder::kSpPifo};

void read_class(ConfigSection section, const std::string& number, const SwitchConfig& config,
                ClassConfig& c) {
  const bool lossless = config.pfc.enabled && c.lossless;
  const bool rotates = config.queue_order == QueueOrder::kRoundRobin;
  const bool has_order = section.has("order");
  const std::size_t order = section.choice(
      "order", {"fifo", "lifo", "random", "fair", "ranked", "levels", "ranked-flows", "sp-pifo"}, 0);
  if (has_order && rotates)
    section.fail_at("order",
                    "excludes switch.queue_order = \"round-robin\" (the default with "
                    "input_buffered), which holds for all classes");
  if (has_order) c.order = kOrders[order == 0 ? 0 : order + 1];
  c.full = static_cast<FullRule>(section.choice("when_full", {"refuse", "push-out", "push-out-longest"}, 0));
  if (c.full != FullRule::kRefuse && lossless)
    section.fail_at("when_full", "= \"push-out\" would drop frames of class " + number +
                                     ", which is in lossless_classes: use \"refuse\"");
  if (c.full != FullRule::kRefuse && (rotates || config.input_buffered))
    section.fail_at("when_full", "goes with neither round-robin queues nor input_buffered");
  if (c.full != FullRule::kRefuse && config.shared_pool > Bytes{} && config.alpha_lossy > 0)
    section.fail_at("when_full", "needs queues with a limit of their own: set switch.alpha_lossy = 0");
  if (section.has("queues") && c.order != QueueOrder::kSpPifo)
    section.fail_at("queues", "is of order = \"sp-pifo\"");
  c.queues = static_cast<std::uint8_t>(section.integer("queues", c.queues, 1, 64));
  c.preempt = section.boolean("preempt", false);
  if (c.preempt && c.order != QueueOrder::kRanked)
    section.fail_at("preempt", "is by ranks: write order = \"ranked\" beside it");
  if (c.preempt && lossless)
    section.fail_at("preempt", "is of lossy classes, and class " + number + " is in lossless_classes");
  if (c.preempt && config.port_buffer > Bytes{})
    section.fail_at(
        "preempt",
        "does not go with switch.port_buffer, which may clear queues whose first frame is on the wire");
  const bool may_drop = section.boolean("may_drop", false);
  if (section.has("egress_max")) {
    c.egress_max = section.bytes("egress_max", c.egress_max);
    if (c.egress_max <= Bytes{}) section.fail_at("egress_max", "must be more than 0");
    if (!c.lossless)
      section.fail_at("egress_max", "is of lossless classes, and class " + number +
                                        " is not in lossless_classes: switch.lossy_buffer limits it");
    if (!may_drop)
      section.fail_at("egress_max", "makes a lossless class drop frames: write may_drop = true beside it");
  } else if (may_drop) {
    section.fail_at("may_drop", "means something only with egress_max");
  }
  section.finish();
}

}  // namespace

// The order of all classes. A single class can have another, but for round robin.
void read_queue_order(ConfigSection& section, SwitchConfig& config) {
  const QueueOrder order = kOrders[section.choice(
      "queue_order", {"fifo", "round-robin", "lifo", "random", "fair"}, config.input_buffered ? 1 : 0)];
  if (order == QueueOrder::kRoundRobin) {
    config.queue_order = order;
    return;
  }
  for (ClassConfig& c : config.classes) c.order = order;
}

// Of an egress port, over all lossy queues. A queue may then hold what its port may.
void read_port_buffer(ConfigSection& section, SwitchConfig& config) {
  config.port_buffer = section.bytes("port_buffer", config.port_buffer);
  if (config.port_buffer > Bytes{} && !section.has("lossy_buffer")) config.egress_limit = config.port_buffer;
  if (config.port_buffer > Bytes{} &&
      (config.input_buffered || (config.shared_pool > Bytes{} && config.alpha_lossy > 0)))
    section.fail_at("port_buffer",
                    "limits lossy frames at egress: it goes with neither input_buffered nor a "
                    "shared_pool for them (set switch.alpha_lossy = 0)");
  config.port_rule = static_cast<PortRule>(section.choice("port_when_full", {"refuse", "push-out-lower"}, 0));
  if (config.port_rule == PortRule::kRefuse) return;
  if (config.port_buffer == Bytes{})
    section.fail_at("port_when_full", "means something only with port_buffer");
  if (config.queue_order == QueueOrder::kRoundRobin)
    section.fail_at("port_when_full", "= \"push-out-lower\" does not go with round-robin queues");
}

// [switch.class.N]
void read_each_class(ConfigSection& section, SwitchConfig& config) {
  const ConfigNode* node = section.node("class");
  ConfigSection classes = section.table("class");
  if (node != nullptr)
    for (const auto& [key, value] : node->members) {
      if (key.size() != 1 || key[0] < '0' || key[0] > '7')
        classes.fail_at(key, "is no class: write [switch.class.3], of 0 to 7");
      read_class(classes.table(key), key, config, config.classes[static_cast<std::size_t>(key[0] - '0')]);
    }
  classes.finish();
}

// Tables of mechanisms right below `section`, whose path in a scenario is `path`: "switch" or one of its
// tables.
void read_mechanisms(ConfigSection& section, const std::string& path, SwitchConfig& config) {
  for (const MechanismType& type : mechanism_types()) {
    const std::string place = section_of(type);
    if (type.fields().empty() || place.substr(0, place.rfind('.')) != path) continue;
    void* params = config.mechanisms.of(type);
    ConfigSection table = section.table(place.substr(path.size() + 1));
    read_fields(table, type.fields(), params);
    refuse_problem(table, type.problem_of(params));
    table.finish();
  }
}

// Mechanisms may make demands on the rest of [switch]: called when all of it is read.
void check_mechanisms(ConfigSection& section, const SwitchConfig& config) {
  for (const MechanismType& type : mechanism_types())
    if (const auto problem = type.problem_beside(config.mechanisms.of(type), config)) {
      const std::string name = section_of(type).substr(std::string("switch.").size());
      if (problem->key.empty()) section.fail_at(name, problem->why);
      section.table(name).fail_at(problem->key, problem->why);
    }
}

// Without a mechanism that gives ranks all would be equal.
void check_ranks(ConfigSection& section, const SwitchConfig& config) {
  const bool ranks = std::ranges::any_of(mechanism_types(), [&](const MechanismType& type) {
    return type.ranks && type.is_on(config.mechanisms.of(type));
  });
  for (std::size_t tc = 0; !ranks && tc < config.classes.size(); ++tc)
    if (is_by_rank(config.classes[tc].order))
      section.fail_at("class",
                      std::to_string(tc) + ".order = \"" +
                          (config.classes[tc].order == QueueOrder::kRanked ? "ranked" : "levels") +
                          "\" needs something that gives ranks, and nothing does: a slack law ([slack]), "
                          "or a mechanism of your own (docs/tutorial/extending.md)");
}

}  // namespace rocelab
