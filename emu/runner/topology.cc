#include "emu/runner/topology.h"

#include <stdexcept>

namespace rocelab {
namespace {

// Interfaces are called <switch>-eth<port>, at most 15 characters (IFNAMSIZ): nine are left for the name when
// ports have two digits.
constexpr std::size_t kMaxNameLength = 9;

void check_name(const std::string& name) {
  bool good = !name.empty() && name.size() <= kMaxNameLength && (name[0] < '0' || name[0] > '9');
  for (const char c : name)
    good = good && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_');
  if (!good)
    throw std::invalid_argument("\"" + name + "\" cannot name a node: use a letter and up to " +
                                std::to_string(kMaxNameLength - 1) + " letters, digits or underscores");
}

}  // namespace

std::uint32_t Topology::add_node(const std::string& name, bool is_host) {
  check_name(name);
  if (find(name) != kNoNode) throw std::invalid_argument("two nodes are called \"" + name + "\"");
  nodes_.push_back({name, is_host, static_cast<std::uint32_t>(nodes_.size()), kNoPod, {}});
  return static_cast<std::uint32_t>(nodes_.size()) - 1;
}

std::uint32_t Topology::add_host(const std::string& name) {
  if (switches() != 0) throw std::invalid_argument("hosts come before switches");
  const std::uint32_t node = add_node(name, true);
  hosts_ = node + 1;
  return node;
}

std::uint32_t Topology::add_switch(const std::string& name, std::uint32_t pod) {
  const std::uint32_t node = add_node(name, false);
  nodes_[node].pod = pod;
  return node;
}

std::uint32_t Topology::add_link(std::uint32_t node, std::uint32_t other, Rate rate, Duration delay) {
  if (is_host(other)) std::swap(node, other);
  if (is_host(other) || node == other)
    throw std::invalid_argument("a link needs a switch: \"" + nodes_[node].name + "\" and \"" +
                                nodes_[other].name + "\" cannot be joined");
  if (is_host(node) && !nodes_[node].links.empty())
    throw std::invalid_argument("host \"" + nodes_[node].name +
                                "\" has a link already: hosts with several links are not supported yet");
  Link link;
  link.a = node;
  link.b = other;
  link.rate = rate;
  link.delay = delay;
  link.a_port = static_cast<std::uint32_t>(nodes_[node].links.size());
  link.b_port = static_cast<std::uint32_t>(nodes_[other].links.size());
  const auto index = static_cast<std::uint32_t>(links_.size());
  links_.push_back(link);
  nodes_[node].links.push_back(index);
  nodes_[other].links.push_back(index);
  return index;
}

void Topology::check() const {
  if (const std::optional<Problem> found = problem()) throw std::invalid_argument(found->what);
}

std::optional<Topology::Problem> Topology::problem() const {
  if (hosts_ == 0) return Problem{0, "the topology has no host"};
  for (std::uint32_t h = 0; h < hosts_; ++h)
    if (nodes_[h].links.empty()) return Problem{h, "host \"" + nodes_[h].name + "\" has no link"};
  std::vector<bool> seen(nodes_.size());
  std::vector<std::uint32_t> reached{0};
  seen[0] = true;
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (std::uint32_t port = 0; port < nodes_[reached[i]].links.size(); ++port) {
      const std::uint32_t next = neighbour(reached[i], port);
      if (!seen[next]) reached.push_back(next);
      seen[next] = true;
    }
  for (std::uint32_t n = 0; n < nodes_.size(); ++n)
    if (!seen[n])
      return Problem{n, "\"" + nodes_[n].name + "\" cannot be reached from \"" + nodes_[0].name + "\""};
  return std::nullopt;
}

std::uint32_t Topology::find(std::string_view name) const {
  for (std::uint32_t n = 0; n < nodes_.size(); ++n)
    if (nodes_[n].name == name) return n;
  return kNoNode;
}

std::vector<std::uint32_t> Topology::links_between(std::uint32_t a, std::uint32_t b) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t port = 0; port < nodes_[a].links.size(); ++port)
    if (neighbour(a, port) == b) found.push_back(nodes_[a].links[port]);
  return found;
}

std::uint32_t Topology::find_link(std::uint32_t a, std::uint32_t b) const {
  const std::vector<std::uint32_t> found = links_between(a, b);
  return found.empty() ? kNoNode : found.front();
}

std::uint32_t Topology::neighbour(std::uint32_t node, std::uint32_t port) const {
  const Link& link = links_[nodes_[node].links[port]];
  return link.a == node ? link.b : link.a;
}

}  // namespace rocelab
