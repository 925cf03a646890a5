// Topologies around one switch or along a line of them: star, dumbbell, parking lot, ring.
#include <stdexcept>

#include "emu/runner/topology.h"

namespace rocelab {
namespace {

// Hosts h1.. and switches s1.., the hosts dealt out in order, `counts[i]` to switch i.
Topology make_switches_with_hosts(const char* kind, const std::vector<std::uint32_t>& counts,
                                  LinkSpeed link) {
  Topology t;
  t.kind = kind;
  std::uint32_t hosts = 0;
  for (const std::uint32_t count : counts) hosts += count;
  for (std::uint32_t h = 1; h <= hosts; ++h) t.add_host("h" + std::to_string(h));
  std::uint32_t host = 0;
  for (std::size_t s = 0; s < counts.size(); ++s) {
    const std::uint32_t node = t.add_switch("s" + std::to_string(s + 1));
    for (std::uint32_t n = 0; n < counts[s]; ++n) t.add_link(host++, node, link.rate, link.delay);
  }
  return t;
}

}  // namespace

Topology make_star(std::uint32_t hosts, LinkSpeed link) {
  return make_switches_with_hosts("star", {hosts}, link);
}

Topology make_dumbbell(std::uint32_t left, std::uint32_t right, LinkSpeed link, LinkSpeed trunk) {
  Topology t = make_switches_with_hosts("dumbbell", {left, right}, link);
  t.add_link(t.hosts(), t.hosts() + 1, trunk.rate, trunk.delay);
  return t;
}

Topology make_parking_lot(std::uint32_t switches, std::uint32_t hosts_per_switch, LinkSpeed link,
                          LinkSpeed trunk) {
  Topology t =
      make_switches_with_hosts("parking-lot", std::vector<std::uint32_t>(switches, hosts_per_switch), link);
  for (std::uint32_t s = 0; s + 1 < switches; ++s)
    t.add_link(t.hosts() + s, t.hosts() + s + 1, trunk.rate, trunk.delay);
  return t;
}

Topology make_ring(std::uint32_t switches, std::uint32_t hosts_per_switch, LinkSpeed link, LinkSpeed trunk,
                   bool clockwise) {
  if (switches < 3) throw std::invalid_argument("a ring needs at least three switches");
  Topology t = make_parking_lot(switches, hosts_per_switch, link, trunk);
  t.kind = "ring";
  t.add_link(t.hosts() + switches - 1, t.hosts(), trunk.rate, trunk.delay);
  for (std::uint32_t i = 0; i < t.links().size(); ++i)
    if (!t.is_host(t.links()[i].a)) t.link(i).one_way = clockwise;
  return t;
}

}  // namespace rocelab
