// [topology] and [[fault]].
#include <algorithm>
#include <stdexcept>

#include "emu/runner/readers.h"

namespace rocelab {
namespace {

constexpr std::int64_t kMaxHosts = 1024;

LinkSpeed read_speed(ConfigSection& section, const char* rate, const char* delay, LinkSpeed otherwise) {
  LinkSpeed speed;
  speed.rate = section.rate(rate, otherwise.rate);
  speed.delay = section.duration(delay, otherwise.delay);
  if (speed.delay.ps() <= 0)
    section.fail_at(delay,
                    "= 0 leaves no lookahead: time can only advance where links delay frames; write for "
                    "example \"100ns\"");
  return speed;
}

std::uint32_t count(ConfigSection& section, const char* key, std::int64_t most) {
  section.require(key);
  return static_cast<std::uint32_t>(section.integer(key, 1, 1, most));
}

std::vector<std::string> node_names(const Topology& topology) {
  std::vector<std::string> names;
  for (const Node& node : topology.nodes()) names.push_back(node.name);
  return names;
}

std::uint32_t find_node(ConfigSection& section, const char* key, const Topology& topology,
                        const std::string& name) {
  const std::uint32_t node = topology.find(name);
  if (node == Topology::kNoNode) {
    const std::string near = nearest(name, node_names(topology));
    section.fail_at(key, "names the unknown node \"" + name + "\"" +
                             (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
  }
  return node;
}

// [[topology.link]]: a link of a custom topology, or other numbers for one that a generated topology has.
void read_link(ConfigSection section, Topology& topology, LinkSpeed otherwise, bool custom) {
  section.require("between");
  const std::vector<std::string> ends = section.texts("between", {});
  if (ends.size() != 2) section.fail_at("between", "must name two nodes, for example [\"h1\", \"s1\"]");
  const std::uint32_t a = find_node(section, "between", topology, ends[0]),
                      b = find_node(section, "between", topology, ends[1]);
  const std::uint32_t found = topology.find_link(a, b);
  if (!custom && found == Topology::kNoNode) section.fail_at("between", "names nodes that share no link");
  if (custom && found != Topology::kNoNode) section.fail_at("between", "names a link that is there already");
  if (found != Topology::kNoNode) otherwise = {topology.links()[found].rate, topology.links()[found].delay};
  const LinkSpeed speed = read_speed(section, "rate", "delay", otherwise);
  section.finish();
  if (custom) {
    topology.add_link(a, b, speed.rate, speed.delay);
  } else {
    topology.link(found).rate = speed.rate;
    topology.link(found).delay = speed.delay;
  }
}

Topology generate(ConfigSection& section, std::size_t kind, LinkSpeed link) {
  if (kind == 0) return make_star(count(section, "hosts", kMaxHosts), link);
  if (kind == 3) {
    Topology custom;
    section.require("hosts");
    section.require("switches");
    for (const std::string& name : section.texts("hosts", {})) custom.add_host(name);
    for (const std::string& name : section.texts("switches", {})) custom.add_switch(name);
    return custom;
  }
  const LinkSpeed trunk = read_speed(section, "trunk_rate", "trunk_delay", link);
  if (kind == 1) {
    const std::uint32_t left = count(section, "left", kMaxHosts / 2);
    return make_dumbbell(left, count(section, "right", kMaxHosts / 2), link, trunk);
  }
  const std::uint32_t leaves = count(section, "leaves", 64), spines = count(section, "spines", 64);
  return make_leaf_spine(leaves, spines, count(section, "hosts_per_leaf", 64), link, trunk);
}

}  // namespace

Topology read_topology(ConfigSection section) {
  section.require("kind");
  const std::size_t kind = section.choice("kind", {"star", "dumbbell", "leaf-spine", "custom"}, 0);
  const LinkSpeed link = read_speed(section, "rate", "delay", {});
  Topology topology;
  try {
    topology = generate(section, kind, link);
    for (ConfigSection& entry : section.tables("link"))
      read_link(std::move(entry), topology, link, kind == 3);
    section.finish();
    topology.check();
  } catch (const std::invalid_argument& error) {
    section.fail(error.what());
  }
  return topology;
}

void read_faults(std::vector<ConfigSection> sections, Topology& topology) {
  for (ConfigSection& section : sections) {
    section.require("from");
    section.require("to");
    const std::uint32_t from = find_node(section, "from", topology, section.text("from", "")),
                        to = find_node(section, "to", topology, section.text("to", ""));
    const std::uint32_t index = topology.find_link(from, to);
    if (index == Topology::kNoNode)
      section.fail_at("to", "is no neighbour of \"" + topology.nodes()[from].name + "\"");
    FaultConfig fault;
    fault.drop_rate = section.real("drop_rate", 0, 0, 1);
    fault.corrupt_rate = section.real("corrupt_rate", 0, 0, 1);
    std::vector<std::int64_t> list = section.integers("drop_list", {}, 1, std::int64_t{1} << 62);
    if (list.size() > FaultConfig::kMaxListed)
      section.fail_at("drop_list", "holds more than " + std::to_string(FaultConfig::kMaxListed) +
                                       " ordinals; use drop_rate");
    std::sort(list.begin(), list.end());
    if (std::adjacent_find(list.begin(), list.end()) != list.end())
      section.fail_at("drop_list", "names a frame twice");
    for (const std::int64_t ordinal : list)
      fault.drop_list[fault.listed++] = static_cast<std::uint64_t>(ordinal);
    section.finish();
    Link& link = topology.link(index);
    FaultConfig& side = link.a == from ? link.a_to_b : link.b_to_a;
    if (side != FaultConfig{})
      section.fail("the link from \"" + topology.nodes()[from].name + "\" has a fault already");
    side = fault;
  }
}

}  // namespace rocelab
