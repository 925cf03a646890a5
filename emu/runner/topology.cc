#include "emu/runner/topology.h"

#include <algorithm>
#include <stdexcept>

namespace rocelab {
namespace {

// Interfaces are called <switch>-eth<port>, at most 15 characters (IFNAMSIZ): nine are left for the name when
// ports have two digits.
constexpr std::size_t kMaxNameLength = 9;

void check_name(const std::string& name, std::string_view of_host) {
  bool good = !of_host.empty() && of_host.size() <= kMaxNameLength && (name[0] < '0' || name[0] > '9');
  for (const char c : of_host)
    good = good && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_');
  if (!good)
    throw std::invalid_argument("\"" + name + "\" cannot name a node: use a letter and up to " +
                                std::to_string(kMaxNameLength - 1) + " letters, digits or underscores");
}

}  // namespace

std::uint32_t Topology::add_node(const std::string& name, bool is_host) {
  const bool is_nic = is_host && nics_per_host > 1;
  check_name(name, std::string_view(name).substr(0, is_nic ? name.rfind('.') : name.npos));
  if (find(name) != kNoNode) throw std::invalid_argument("two nodes are called \"" + name + "\"");
  nodes_.push_back({name, is_host, static_cast<std::uint32_t>(nodes_.size()), kNoPod, {}});
  planes_.push_back(static_cast<std::uint32_t>(planes_.size()));
  return static_cast<std::uint32_t>(nodes_.size()) - 1;
}

std::uint32_t Topology::add_host(const std::string& name) {
  if (switches() != 0) throw std::invalid_argument("hosts come before switches");
  const std::uint32_t node = add_node(name, true);
  hosts_ = node + 1;
  return node;
}

std::uint32_t Topology::add_nics(const std::string& host) {
  if (nics_per_host == 1) return add_host(host);
  const std::uint32_t first = hosts_;
  for (std::uint32_t i = 0; i < nics_per_host; ++i) add_host(host + "." + std::to_string(i));
  return first;
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
                                "\" has a link already: a NIC has one (hosts with several NICs: "
                                "topology.nics_per_host)");
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
  const auto [first, later] = std::minmax(planes_[node], planes_[other]);
  if (first != later) std::ranges::replace(planes_, std::uint32_t{later}, std::uint32_t{first});
  return index;
}

void Topology::check() const {
  if (const std::optional<Problem> found = problem()) throw std::invalid_argument(found->what);
}

std::optional<Topology::Problem> Topology::problem() const {
  if (hosts_ == 0) return Problem{0, "the topology has no host"};
  for (std::uint32_t h = 0; h < hosts_; ++h)
    if (nodes_[h].links.empty()) return Problem{h, "host \"" + nodes_[h].name + "\" has no link"};
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    const std::uint32_t from = is_host(n) ? nic_number_of(n) : 0;
    bool reached = reaches(n, from);
    for (std::uint32_t nic = 0; !is_host(n) && nic < nics_per_host; ++nic) reached |= reaches(n, nic);
    if (!reached)
      return Problem{n, "\"" + nodes_[n].name + "\" cannot be reached from \"" + nodes_[from].name + "\""};
  }
  return std::nullopt;
}

std::uint32_t Topology::find(std::string_view name) const {
  for (std::uint32_t n = 0; n < nodes_.size(); ++n)
    if (nodes_[n].name == name) return n;
  return kNoNode;
}

std::string Topology::machine_name(std::uint32_t machine) const {
  const std::string& name = nodes_[machine * nics_per_host].name;
  return nics_per_host == 1 ? name : name.substr(0, name.rfind('.'));
}

std::vector<std::uint32_t> Topology::find_nics(std::string_view name) const {
  if (const std::uint32_t node = find(name); node != kNoNode) {
    if (is_host(node)) return {node};
    return {};
  }
  std::vector<std::uint32_t> nics;
  const std::uint32_t first = nics_per_host > 1 ? find(std::string(name) + ".0") : kNoNode;
  for (std::uint32_t nic = 0; first != kNoNode && nic < nics_per_host; ++nic) nics.push_back(first + nic);
  return nics;
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
