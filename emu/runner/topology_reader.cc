// [topology].
#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "emu/runner/readers.h"
#include "emu/runner/routing.h"
#include "emu/runner/schema_reader.h"
#include "emu/runner/topology_file.h"
#include "emu/world/world.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kMaxHosts = 16'384;

constexpr std::string_view kPaths[] = {"ecmp", "single", "first"};
constexpr auto kPathChoice =
    fields(choice<&Topology::paths>("paths", kPaths,
                                    "`single`: one path for each pair of hosts. A switch takes one of "
                                    "its equal-cost ports for each destination: "
                                    "host h (h1 is 0) the port h mod k of k at a switch with hosts, h "
                                    "/ k mod k in the tier above, and so on. `first`: the first of its "
                                    "equal-cost ports, in the order of links, for all"));

enum class Family {
  kStar,
  kDumbbell,
  kParkingLot,
  kRing,
  kLeafSpine,
  kFatTree,
  kRails,
  kPlanes,
  kCustom,
  kFile
};

struct Ends {  // what a family asks of the links to hosts
  LinkSpeed link;
  std::uint32_t nics = 1;  // of a host, at one switch
};

void check_hosts(ConfigSection& section, std::uint32_t hosts, std::uint32_t nics) {
  if (hosts * nics > kMaxHosts)
    section.fail("this topology has " + std::to_string(hosts) + " hosts" +
                 (nics > 1 ? " with " + std::to_string(nics) + " NICs each, which are " +
                                 std::to_string(hosts * nics) + " NICs"
                           : "") +
                 "; at most " + std::to_string(kMaxHosts) + " are supported");
}

LinkSpeed read_speed(ConfigSection& section, const char* rate, const char* delay, LinkSpeed otherwise) {
  LinkSpeed speed;
  speed.rate = section.rate(rate, otherwise.rate);
  speed.delay = section.duration(delay, otherwise.delay);
  if (speed.delay.ps() <= 0)
    section.fail_at(delay,
                    "= 0 leaves no lookahead: time can only advance where links delay frames; write for "
                    "example \"100ns\"");
  if (speed.delay > kLongestDelay) section.fail_at(delay, "is more than " + to_string(kLongestDelay));
  return speed;
}

std::uint32_t count(ConfigSection& section, const char* key, std::int64_t most) {
  section.require(key);
  return static_cast<std::uint32_t>(section.integer(key, 1, 1, most));
}

std::pair<std::uint32_t, std::uint32_t> read_ends(ConfigSection& section, const Topology& topology) {
  section.require("between");
  const std::vector<std::string> ends = section.texts("between", {});
  if (ends.size() != 2) section.fail_at("between", "must name two nodes, for example [\"h1\", \"s1\"]");
  return {find_node(section, "between", topology, ends[0]), find_node(section, "between", topology, ends[1])};
}

// [[topology.link]]: a link of a custom topology, or other numbers for one that a generated topology has.
void read_link(ConfigSection section, Topology& topology, LinkSpeed otherwise, bool custom) {
  const auto [a, b] = read_ends(section, topology);
  const std::uint32_t found = custom ? Topology::kNoNode : find_link(section, "between", topology, a, b);
  if (!custom) otherwise = {topology.links()[found].rate, topology.links()[found].delay};
  const LinkSpeed speed = read_speed(section, "rate", "delay", otherwise);
  section.finish();
  if (custom) {
    topology.add_link(a, b, speed.rate, speed.delay);
  } else {
    topology.link(found).rate = speed.rate;
    topology.link(found).delay = speed.delay;
  }
}

Topology read_custom(ConfigSection& section, std::uint32_t nics) {
  Topology custom;
  custom.nics_per_host = nics;
  section.require("hosts");
  section.require("switches");
  for (const std::string& name : section.texts("hosts", {})) custom.add_nics(name);
  for (const std::string& name : section.texts("switches", {})) custom.add_switch(name);
  return custom;
}

// Hosts below each edge switch: the key's number, or as many as make the hosts' links `oversubscription`
// times as fast as the `uplinks`.
std::uint32_t read_hosts_per_edge(ConfigSection& section, const char* key, std::uint32_t uplinks, Ends ends,
                                  LinkSpeed trunk, bool key_required) {
  if (section.has(key) && section.has("oversubscription"))
    section.fail_at("oversubscription", std::string("excludes ") + key + ": one follows from the other");
  if (section.has(key) || (key_required && !section.has("oversubscription"))) return count(section, key, 254);
  const double factor = section.real("oversubscription", 1, 0.01, 254),
               hosts = factor * uplinks * static_cast<double>(trunk.rate.bps()) /
                       static_cast<double>(ends.link.rate.bps() * ends.nics);
  const auto whole = static_cast<std::uint32_t>(hosts + 0.5);
  if (whole < 1 || whole > 254 || hosts - whole > 1e-6 || whole - hosts > 1e-6)
    section.fail_at("oversubscription", "cannot be: it would take " + std::to_string(hosts) +
                                            " hosts below each edge switch; write a factor that gives a "
                                            "whole number in 1..254, or " +
                                            key);
  return whole;
}

Topology read_leaf_spine(ConfigSection& section, Ends ends) {
  const LinkSpeed trunk = read_speed(section, "trunk_rate", "trunk_delay", ends.link);
  const std::uint32_t leaves = count(section, "leaves", 256), spines = count(section, "spines", 64);
  const auto trunks = static_cast<std::uint32_t>(section.integer("trunk_links", 1, 1, 16));
  const std::uint32_t hosts =
      read_hosts_per_edge(section, "hosts_per_leaf", spines * trunks, ends, trunk, true);
  check_hosts(section, leaves * hosts, ends.nics);
  return make_leaf_spine(leaves, spines, hosts, ends.link, trunk, trunks);
}

Topology read_fat_tree(ConfigSection& section, Ends ends) {
  FatTreeShape shape;
  shape.link = ends.link;
  shape.trunk = read_speed(section, "trunk_rate", "trunk_delay", ends.link);
  shape.core = read_speed(section, "core_rate", "core_delay", shape.trunk);
  shape.arity = count(section, "arity", 64);
  if (shape.arity % 2 != 0)
    section.fail_at("arity", "= " + std::to_string(shape.arity) +
                                 " is impossible: half of a switch's ports lead up, so write an even number "
                                 "(6: 54 hosts, 8: 128, 16: 1024, 32: 8192)");
  shape.hosts_per_edge =
      read_hosts_per_edge(section, "hosts_per_edge", shape.arity / 2, ends, shape.trunk, false);
  check_hosts(section, shape.arity * shape.arity / 2 * shape.hosts_per_edge, ends.nics);
  return make_fat_tree(shape);
}

// Hosts of `nics` NICs each, in groups that share their rail switches.
Topology read_rails(ConfigSection& section, Ends ends) {
  RailShape shape;
  shape.link = ends.link;
  shape.trunk = read_speed(section, "trunk_rate", "trunk_delay", ends.link);
  shape.nics_per_host = ends.nics;
  shape.groups = static_cast<std::uint32_t>(section.integer("groups", 1, 1, 256));
  shape.hosts_per_group = count(section, "hosts_per_group", 254);
  section.require("spines");
  shape.spines = static_cast<std::uint32_t>(section.integer("spines", 0, 0, 64));
  if (shape.spines == 0 && shape.groups > 1)
    section.fail_at("spines", "= 0 leaves no way between the " + std::to_string(shape.groups) + " groups");
  check_hosts(section, shape.groups * shape.hosts_per_group, shape.nics_per_host);
  return make_rails(shape);
}

Topology read_line(ConfigSection& section, Ends ends, bool ring) {
  const LinkSpeed link = ends.link, trunk = read_speed(section, "trunk_rate", "trunk_delay", link);
  const std::uint32_t switches = count(section, "switches", 256);
  if (ring && switches < 3) section.fail_at("switches", "must be at least 3 for a ring");
  const auto hosts = static_cast<std::uint32_t>(section.integer("hosts_per_switch", 1, 1, 254));
  check_hosts(section, switches * hosts, ends.nics);
  const bool clockwise = ring && section.boolean("clockwise", false);
  return ring ? make_ring(switches, hosts, link, trunk, clockwise)
              : make_parking_lot(switches, hosts, link, trunk);
}

// The same network with all rates, or all delays, so many times those of the file.
void scale(ConfigSection& section, Topology& topology) {
  const double rates = section.real("rate_scale", 1, 1e-3, 1e3);
  const double delays = section.real("delay_scale", 1, 1e-3, 1e3);
  const auto times = [](double factor, std::int64_t value) {
    return factor == 1 ? value : std::max<std::int64_t>(1, std::llround(factor * static_cast<double>(value)));
  };
  for (std::uint32_t i = 0; i < topology.links().size(); ++i) {
    Link& link = topology.link(i);
    link.rate = Rate::from_bps(times(rates, link.rate.bps()));
    link.delay = Duration::from_ps(times(delays, link.delay.ps()));
    if (link.delay > kLongestDelay)
      section.fail_at("delay_scale", "makes a link of " + to_string(link.delay) + ", which is more than " +
                                         to_string(kLongestDelay));
  }
}

Topology read_topology_file(ConfigSection& section, const std::filesystem::path& folder) {
  section.require("file");
  const std::filesystem::path file = section.file("file", folder);
  const auto nv_switches = static_cast<NvSwitches>(section.choice("nvswitches", {"refuse", "leave-out"}, 0));
  Topology topology = parse_topology_file(section.content("file", file), file.string(), nv_switches);
  check_hosts(section, topology.hosts(), 1);
  scale(section, topology);
  return topology;
}

Topology generate(ConfigSection& section, Family family, Ends ends) {
  const LinkSpeed link = ends.link;
  switch (family) {
    case Family::kStar:
      return make_star(count(section, "hosts", 254), link);
    case Family::kDumbbell: {
      const LinkSpeed trunk = read_speed(section, "trunk_rate", "trunk_delay", link);
      const std::uint32_t left = count(section, "left", 254);
      return make_dumbbell(left, count(section, "right", 254), link, trunk);
    }
    case Family::kParkingLot:
    case Family::kRing:
      return read_line(section, ends, family == Family::kRing);
    case Family::kLeafSpine:
      return read_leaf_spine(section, ends);
    case Family::kFatTree:
      return read_fat_tree(section, ends);
    case Family::kRails:
      return read_rails(section, ends);
    case Family::kPlanes:
    case Family::kCustom:
    case Family::kFile:
      break;
  }
  return read_custom(section, ends.nics);
}

// Each plane is a network of one of these families, with one NIC of each host.
Topology read_planes(ConfigSection& section, Ends ends) {
  section.require("plane");
  constexpr std::array kFamilies = {Family::kStar, Family::kLeafSpine, Family::kFatTree};
  const Family family = kFamilies[section.choice("plane", {"star", "leaf-spine", "fat-tree"}, 1)];
  const Topology plane = generate(section, family, {ends.link, 1});
  check_hosts(section, plane.hosts(), ends.nics);
  return make_planes(plane, ends.nics);
}

// How the hosts of a family get their NICs.
Topology build(ConfigSection& section, Family family, Ends ends) {
  if (family == Family::kRails || family == Family::kPlanes) section.require("nics_per_host");
  if (family == Family::kPlanes) return read_planes(section, ends);
  Topology topology = generate(section, family, ends);
  return ends.nics == topology.nics_per_host ? topology : with_nics(topology, ends.nics);
}

}  // namespace

Schema<Topology> path_schema() { return kPathChoice; }

Topology read_topology(ConfigSection section, const std::filesystem::path& folder) {
  section.require("kind");
  const auto family =
      static_cast<Family>(section.choice("kind",
                                         {"star", "dumbbell", "parking-lot", "ring", "leaf-spine", "fat-tree",
                                          "rail-optimised", "multi-plane", "custom", "file"},
                                         0));
  const LinkSpeed link = family == Family::kFile ? LinkSpeed{} : read_speed(section, "rate", "delay", {});
  if (family == Family::kFile && section.has("nics_per_host"))
    section.fail_at("nics_per_host", "goes with other kinds of topology: a node of a file has one NIC");
  const auto nics = family == Family::kFile
                        ? 1
                        : static_cast<std::uint32_t>(section.integer("nics_per_host", 1, 1, kMaxNicsPerHost));
  Topology topology;
  try {
    topology =
        family == Family::kFile ? read_topology_file(section, folder) : build(section, family, {link, nics});
    // Of all links in both directions; one of a link's own, in a [[fault]] or the topology's file, goes
    // first.
    read_schema(section, fault_schema(), topology.everywhere);
    read_schema(section, path_schema(), topology);
    for (ConfigSection& entry : section.tables("link"))
      read_link(std::move(entry), topology, link, family == Family::kCustom);
    std::vector<ConfigSection> paths = section.tables("path");
    section.finish();
    topology.check();
    for (ConfigSection& entry : paths) read_path(std::move(entry), topology);
    const Routing addresses(topology);  // complains where they do not suffice
  } catch (const std::invalid_argument& error) {
    section.fail(error.what());
  }
  return topology;
}

}  // namespace rocelab
