// [[topology.path]].
#include <charconv>
#include <utility>

#include "emu/runner/readers.h"

namespace rocelab {
namespace {

constexpr std::string_view kPortMark = "-eth";

struct Step {  // of `through`
  std::uint32_t node = 0;
  std::optional<std::uint32_t> port;  // by which frames leave, when it is named
};

std::string port_name(const Topology& topology, std::uint32_t node, std::uint32_t port) {
  return topology.nodes()[node].name + std::string(kPortMark) + std::to_string(port + 1);
}

Step read_step(ConfigSection& section, const Topology& topology, const std::string& word) {
  const std::size_t mark = word.rfind(kPortMark);
  std::uint32_t number = 0;
  Step step;
  if (mark != std::string::npos && topology.find(word) == Topology::kNoNode) {
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data() + mark + kPortMark.size(), end, number);
    if (error != std::errc() || stop != end || number == 0)
      section.fail_at("through",
                      "names no port: \"" + word + "\"; ports are called \"s1-eth1\", \"s1-eth2\"");
    step.node = find_node(section, "through", topology, word.substr(0, mark));
    if (const std::size_t ports = topology.nodes()[step.node].links.size(); number > ports)
      section.fail_at("through", "names a port that \"" + topology.nodes()[step.node].name +
                                     "\" does not have, \"" + word + "\": it has " + std::to_string(ports));
    step.port = number - 1;
  } else {
    step.node = find_node(section, "through", topology, word);
  }
  if (topology.is_host(step.node))
    section.fail_at("through", "lists switches, and \"" + topology.nodes()[step.node].name +
                                   "\" is a host: the hosts at the path's end stand in \"to\"");
  return step;
}

// The port by which `from` is left for `next`.
std::uint32_t port_to(ConfigSection& section, const Topology& topology, const Step& from,
                      std::uint32_t next) {
  if (from.port) {
    if (topology.neighbour(from.node, *from.port) != next)
      section.fail_at("through", "has \"" + topology.nodes()[next].name + "\" behind \"" +
                                     port_name(topology, from.node, *from.port) + "\", which leads to \"" +
                                     topology.nodes()[topology.neighbour(from.node, *from.port)].name + "\"");
    return *from.port;
  }
  const auto port_of = [&](std::uint32_t link) {
    const Link& l = topology.links()[link];
    return l.a == from.node ? l.a_port : l.b_port;
  };
  const std::vector<std::uint32_t> links = topology.links_between(from.node, next);
  const std::string goes = "goes from \"" + topology.nodes()[from.node].name + "\" to \"" +
                           topology.nodes()[next].name + "\", which share ";
  if (links.empty()) section.fail_at("through", goes + "no link");
  if (links.size() > 1)
    section.fail_at("through", goes + std::to_string(links.size()) + " links: name the port, \"" +
                                   port_name(topology, from.node, port_of(links.front())) + "\" to \"" +
                                   port_name(topology, from.node, port_of(links.back())) + "\"");
  return port_of(links.front());
}

std::vector<Step> read_steps(ConfigSection& section, const Topology& topology) {
  std::vector<Step> steps;
  for (const std::string& word : section.texts("through", {})) {
    const Step step = read_step(section, topology, word);
    for (const Step& before : steps)
      if (before.node == step.node)
        section.fail_at("through", "lists \"" + topology.nodes()[step.node].name +
                                       "\" twice: a switch has one next hop for each host");
    steps.push_back(step);
  }
  if (steps.size() < 2) section.fail_at("through", "must list at least two switches, in their order");
  if (steps.back().port)
    section.fail_at("through", "ends with a port: the last switch is the hosts' own, where none is chosen");
  return steps;
}

std::vector<PinnedPath::Hop> hops_of(ConfigSection& section, const Topology& topology,
                                     const std::vector<Step>& steps) {
  std::vector<PinnedPath::Hop> hops;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    const std::uint32_t port = port_to(section, topology, steps[i], steps[i + 1].node);
    const Link& link = topology.links()[topology.nodes()[steps[i].node].links[port]];
    if (link.one_way && link.a != steps[i].node)
      section.fail_at("through", "goes from \"" + topology.nodes()[steps[i].node].name + "\" to \"" +
                                     topology.nodes()[steps[i + 1].node].name +
                                     "\" against the only direction that clockwise = true allows");
    hops.push_back({steps[i].node, port});
  }
  return hops;
}

}  // namespace

void read_path(ConfigSection section, Topology& topology) {
  section.require("to");
  section.require("through");
  const std::vector<std::uint32_t> hosts = read_hosts(section, "to", topology);
  if (hosts.empty()) section.fail_at("to", "must name a host");
  const std::vector<Step> steps = read_steps(section, topology);
  const std::vector<PinnedPath::Hop> hops = hops_of(section, topology, steps);
  section.finish();
  for (const std::uint32_t host : hosts) {
    if (const std::uint32_t own = topology.neighbour(host, 0); own != steps.back().node)
      section.fail_at("through", "must end at \"" + topology.nodes()[own].name + "\", the switch of \"" +
                                     topology.nodes()[host].name + "\"");
    topology.pinned.push_back({host, hops});
  }
}

}  // namespace rocelab
