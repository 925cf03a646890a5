// Offered load: what the workloads that have a rate (Poisson, incasts that repeat) put on each link and
// direction by the routes of the healthy network, equal-cost paths taken evenly. More than a link carries
// makes queues that grow as long as the run lasts, so that its results depend on its length: such a scenario
// has to say so.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emu/runner/routing.h"
#include "emu/runner/scenario.h"

namespace rocelab {

// Traffic from host to host in bits per second, collected by the switches on which they hang and then sent
// over the routes.
class OfferedTraffic {
 public:
  // Both outlive it.
  OfferedTraffic(const Topology& topology, const Routing& routing)
      : topology_(topology), routing_(routing), load_(2 * topology.links().size()) {}

  const Topology& topology() const { return topology_; }
  void between(std::uint32_t from, std::uint32_t to, double bps);  // two hosts
  // Its parts, for many pairs at once: a host's link, and between the switches of two hosts.
  void leaves(std::uint32_t host, double bps) { load_[2 * link_of(host)] += bps; }
  void arrives(std::uint32_t host, double bps) { load_[2 * link_of(host) + 1] += bps; }
  void crosses(std::uint32_t from_edge, std::uint32_t to_host, double bps);
  std::uint32_t edge(std::uint32_t host) const { return topology_.neighbour(host, 0); }

  std::vector<double> load() &&;  // by direction of a link, as offered_load() has it

 private:
  struct Towards {  // one edge switch, or one host where each has its own way
    std::uint32_t host = 0;
    std::vector<double> at;  // [switch]: bits per second on their way
  };
  std::uint32_t link_of(std::uint32_t host) const { return topology_.nodes()[host].links[0]; }
  // Switches on the ways to `host`, each behind those that it sends to.
  void visit(std::uint32_t node, std::uint32_t host, std::vector<bool>& seen,
             std::vector<std::uint32_t>& order) const;
  void send(std::uint32_t node, Towards& towards);

  const Topology& topology_;
  const Routing& routing_;
  std::vector<double> load_;
  std::map<std::uint32_t, Towards> towards_;
};

// Bits per second by direction of a link: [2 * link] from its a to its b, [2 * link + 1] back. Empty: no
// rate. Of an incast whose receiver is drawn once only the last link is told, of each host: any may be it.
std::vector<double> offered_load(const Topology& topology, const Routing& routing, const WorkloadSettings& w,
                                 std::uint32_t path_mtu);

struct Overload {
  std::size_t workload = 0;  // that brings the link above its rate: of those in the list's order
  std::string_view key;      // of it, which sets the rate
  std::string what;          // which link, how much
};

// The link with the highest share of its rate of those above it, at the time at which it is highest, unless
// one of the workloads that cross it says overload = true.
std::optional<Overload> find_overload(const std::vector<WorkloadSettings>& workloads,
                                      const Topology& topology, std::uint32_t path_mtu);

}  // namespace rocelab
