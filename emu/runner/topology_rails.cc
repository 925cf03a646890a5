// Topologies of hosts with several NICs: rails, planes, and other families with more NICs at each host.
#include <string>

#include "emu/runner/topology.h"

namespace rocelab {
namespace {

std::vector<std::uint32_t> add_machines(Topology& t, const Topology& one) {
  std::vector<std::uint32_t> first;
  for (std::uint32_t h = 0; h < one.hosts(); ++h) first.push_back(t.add_nics(one.nodes()[h].name));
  return first;
}

}  // namespace

Topology make_rails(const RailShape& shape) {
  Topology t;
  t.kind = "rail-optimised";
  t.nics_per_host = shape.nics_per_host;
  const std::uint32_t machines = shape.groups * shape.hosts_per_group, rails = shape.nics_per_host;
  for (std::uint32_t h = 1; h <= machines; ++h) t.add_nics("h" + std::to_string(h));
  const std::uint32_t first_rail = t.hosts(), first_spine = first_rail + shape.groups * rails;
  for (std::uint32_t g = 1; g <= shape.groups; ++g)
    for (std::uint32_t r = 0; r < rails; ++r)
      t.add_switch("rail" + std::to_string(g) + "_" + std::to_string(r));
  for (std::uint32_t s = 1; s <= shape.spines; ++s) t.add_switch("spine" + std::to_string(s));
  for (std::uint32_t nic = 0; nic < t.hosts(); ++nic)
    t.add_link(nic, first_rail + t.machine_of(nic) / shape.hosts_per_group * rails + t.nic_number_of(nic),
               shape.link.rate, shape.link.delay);
  for (std::uint32_t rail = first_rail; rail < first_spine; ++rail)
    for (std::uint32_t s = 0; s < shape.spines; ++s)
      t.add_link(rail, first_spine + s, shape.trunk.rate, shape.trunk.delay);
  return t;
}

Topology make_planes(const Topology& plane, std::uint32_t nics_per_host) {
  Topology t;
  t.kind = "multi-plane";
  t.nics_per_host = nics_per_host;
  add_machines(t, plane);
  std::uint32_t pods = 0;
  for (const Node& node : plane.nodes())
    if (node.pod != kNoPod) pods = std::max(pods, node.pod + 1);
  for (std::uint32_t p = 0; p < nics_per_host; ++p)
    for (std::uint32_t s = plane.hosts(); s < plane.nodes().size(); ++s) {
      const Node& node = plane.nodes()[s];
      t.add_switch("p" + std::to_string(p) + node.name, node.pod == kNoPod ? kNoPod : p * pods + node.pod);
    }
  for (std::uint32_t p = 0; p < nics_per_host; ++p) {
    const auto here = [&](std::uint32_t node) {
      return plane.is_host(node) ? node * nics_per_host + p
                                 : t.hosts() + p * plane.switches() + node - plane.hosts();
    };
    for (const Link& link : plane.links()) t.add_link(here(link.a), here(link.b), link.rate, link.delay);
  }
  return t;
}

Topology with_nics(const Topology& one, std::uint32_t nics_per_host) {
  Topology t;
  t.kind = one.kind;
  t.nics_per_host = nics_per_host;
  const std::vector<std::uint32_t> first = add_machines(t, one);
  for (std::uint32_t s = one.hosts(); s < one.nodes().size(); ++s)
    t.add_switch(one.nodes()[s].name, one.nodes()[s].pod);
  for (const Link& link : one.links()) {
    const std::uint32_t b = t.hosts() + link.b - one.hosts();
    if (one.is_host(link.a)) {
      for (std::uint32_t nic = 0; nic < nics_per_host; ++nic)
        t.add_link(first[link.a] + nic, b, link.rate, link.delay);
    } else {
      t.link(t.add_link(t.hosts() + link.a - one.hosts(), b, link.rate, link.delay)).one_way = link.one_way;
    }
  }
  return t;
}

}  // namespace rocelab
