// For tests: worlds in a few lines. Hosts h1, h2 ... and switches s1, s2 ... are what host() and sw() have
// made, ports of a switch in the order of its links, addresses and defaults those of a small run:
//
//   WorldBuilder w;
//   const auto s = w.add_switch();
//   w.link_host(w.add_host(), s), w.link_host(w.add_host(), s);
//   const World world = w.make();
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "emu/world/world.h"

namespace rocelab {

class WorldBuilder {
 public:
  std::uint32_t add_host(const NicConfig& nic = {}) {
    const auto index = static_cast<std::uint32_t>(world_.hosts.size());
    HostEntry& host = world_.hosts.emplace_back();
    set(host.name, "h" + std::to_string(index + 1));
    host.ipv4 = 0x0a000001 + index;
    host.mac = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(index + 1)};
    host.node = static_cast<std::uint16_t>(index);
    host.nic = nic;
    return index;
  }
  std::uint32_t add_switch(const SwitchConfig& config = {}) {
    const auto index = static_cast<std::uint32_t>(world_.switches.size());
    SwitchEntry& entry = world_.switches.emplace_back();
    set(entry.name, "s" + std::to_string(index + 1));
    entry.config = config;
    ports_.emplace_back();
    return index;
  }
  // A host has one link; its NIC knows rate and delay.
  void link_host(std::uint32_t host, std::uint32_t at, Rate rate = 40_Gbps, Duration delay = 2_us) {
    world_.hosts[host].nic.link_rate = rate;
    world_.hosts[host].nic.link_delay = delay;
    PortEntry& port = add_port(at, rate, delay);
    port.peer_host = host;
  }
  void link_switches(std::uint32_t a, std::uint32_t b, Rate rate = 40_Gbps, Duration delay = 2_us) {
    for (const std::uint32_t at : {a, b}) add_port(at, rate, delay).config.peer = PeerKind::kSwitch;
    trunks_.push_back({{a, ports_[a].size() - 1}, {b, ports_[b].size() - 1}});
  }

  World make() {
    for (std::uint32_t s = 0; s < ports_.size(); ++s) {
      SwitchEntry& entry = world_.switches[s];
      entry.node = static_cast<std::uint16_t>(world_.hosts.size() + s);
      entry.first_port = static_cast<std::uint32_t>(world_.ports.size());
      entry.ports = static_cast<std::uint32_t>(ports_[s].size());
      for (const PortEntry& port : ports_[s]) {
        if (port.peer_host != kNoPeer)
          world_.hosts[port.peer_host].port = static_cast<std::uint32_t>(world_.ports.size());
        world_.ports.push_back(port);
      }
    }
    for (const auto& [a, b] : trunks_) {
      world_.ports[index_of(a)].peer_port = index_of(b);
      world_.ports[index_of(b)].peer_port = index_of(a);
    }
    return std::move(world_);
  }

 private:
  using PortOfSwitch = std::pair<std::uint32_t, std::size_t>;

  template <std::size_t N>
  static void set(char (&to)[N], const std::string& from) {
    from.copy(to, N - 1);
  }
  PortEntry& add_port(std::uint32_t at, Rate rate, Duration delay) {
    PortEntry& port = ports_[at].emplace_back();
    port.switch_index = at;
    port.port_id = static_cast<std::uint32_t>(ports_[at].size() - 1);
    port.config.rate = rate;
    port.config.delay = delay;
    set(port.interface, std::string(world_.switches[at].name) + "-eth" + std::to_string(port.port_id + 1));
    return port;
  }
  std::uint32_t index_of(PortOfSwitch port) const {
    return world_.switches[port.first].first_port + static_cast<std::uint32_t>(port.second);
  }

  World world_;
  std::vector<std::vector<PortEntry>> ports_;  // by switch
  std::vector<std::pair<PortOfSwitch, PortOfSwitch>> trunks_;
};

// Hosts on one switch, by the rate and the delay that `nic` has.
inline World star(std::uint32_t hosts, const NicConfig& nic = {}) {
  WorldBuilder w;
  const std::uint32_t s = w.add_switch();
  for (std::uint32_t h = 0; h < hosts; ++h) w.link_host(w.add_host(nic), s, nic.link_rate, nic.link_delay);
  return w.make();
}

}  // namespace rocelab
