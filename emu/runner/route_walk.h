// For tests: where rules send a frame.
#pragma once

#include <cstdint>
#include <vector>

#include "emu/runner/routing.h"

namespace rocelab {

// Where the rules of a switch send a frame: the longest prefix first, buckets before the rest. -1: nowhere.
inline int forwarded(const std::vector<Route>& rules, std::uint32_t switch_index, std::uint32_t ipv4,
                     std::uint16_t src_port) {
  int port = -1;
  std::uint32_t best = 0;
  for (const Route& r : rules) {
    const std::uint32_t mask = ~0u << (32 - r.prefix_length);
    const std::uint32_t rank = 10 * r.prefix_length + (r.src_port_mask != 0 ? 5 : 0);
    if (r.switch_index != switch_index || (ipv4 & mask) != (r.prefix & mask) ||
        (src_port & r.src_port_mask) != r.src_port || rank <= best)
      continue;
    best = rank;
    port = static_cast<int>(r.port_id);
  }
  return port;
}

// Follows the rules from host to host; the number of links, or -1 when a frame is lost or circles.
inline int walk(const Topology& t, const Routing& routing, const std::vector<Route>& rules, std::uint32_t src,
                std::uint32_t dst, std::uint16_t src_port) {
  std::uint32_t node = t.neighbour(src, 0);
  for (int links = 1; links < 10; ++links) {
    if (node == dst) return links;
    if (t.is_host(node)) return -1;
    const int port = forwarded(rules, node - t.hosts(), routing.address(dst).ipv4, src_port);
    if (port < 0) return -1;
    node = t.neighbour(node, static_cast<std::uint32_t>(port));
  }
  return -1;
}

}  // namespace rocelab
