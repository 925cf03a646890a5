// Topologies with tiers of switches: leaf-spine and fat-tree.
#include <stdexcept>

#include "emu/runner/topology.h"

namespace rocelab {

Topology make_leaf_spine(std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts_per_leaf,
                         LinkSpeed link, LinkSpeed trunk, std::uint32_t trunk_links) {
  Topology t;
  t.kind = "leaf-spine";
  const std::uint32_t hosts = leaves * hosts_per_leaf;
  for (std::uint32_t h = 1; h <= hosts; ++h) t.add_host("h" + std::to_string(h));
  for (std::uint32_t l = 1; l <= leaves; ++l) t.add_switch("leaf" + std::to_string(l));
  for (std::uint32_t s = 1; s <= spines; ++s) t.add_switch("spine" + std::to_string(s));
  for (std::uint32_t h = 0; h < hosts; ++h) t.add_link(h, hosts + h / hosts_per_leaf, link.rate, link.delay);
  for (std::uint32_t l = 0; l < leaves; ++l)
    for (std::uint32_t s = 0; s < spines * trunk_links; ++s)
      t.add_link(hosts + l, hosts + leaves + s / trunk_links, trunk.rate, trunk.delay);
  return t;
}

Topology make_fat_tree(const FatTreeShape& shape) {
  const std::uint32_t half = shape.arity / 2, edges = shape.arity * half,
                      hosts = edges * shape.hosts_per_edge;
  if (shape.arity < 2 || shape.arity % 2 != 0)
    throw std::invalid_argument(
        "a fat-tree's arity is even and at least 2: half of a switch's ports lead up");
  Topology t;
  t.kind = "fat-tree";
  for (std::uint32_t h = 1; h <= hosts; ++h) t.add_host("h" + std::to_string(h));
  for (std::uint32_t e = 0; e < edges; ++e) t.add_switch("edge" + std::to_string(e + 1), e / half);
  for (std::uint32_t a = 0; a < edges; ++a) t.add_switch("agg" + std::to_string(a + 1), a / half);
  for (std::uint32_t c = 0; c < half * half; ++c) t.add_switch("core" + std::to_string(c + 1));
  const std::uint32_t first_edge = hosts, first_agg = first_edge + edges, first_core = first_agg + edges;
  for (std::uint32_t h = 0; h < hosts; ++h)
    t.add_link(h, first_edge + h / shape.hosts_per_edge, shape.link.rate, shape.link.delay);
  for (std::uint32_t e = 0; e < edges; ++e)
    for (std::uint32_t j = 0; j < half; ++j)
      t.add_link(first_edge + e, first_agg + e / half * half + j, shape.trunk.rate, shape.trunk.delay);
  for (std::uint32_t a = 0; a < edges; ++a)
    for (std::uint32_t j = 0; j < half; ++j)
      t.add_link(first_agg + a, first_core + a % half * half + j, shape.core.rate, shape.core.delay);
  return t;
}

}  // namespace rocelab
