// Neighbours: the MAC address behind a GID, as the kernel knows it: the route's next hop and its entry in the
// neighbour table (rtnetlink(7)). An unknown one is asked for by a datagram to the discard port, for which
// the kernel resolves the address. A link-local GID made from a MAC (EUI-64, what rocelab and Linux's rxe
// show as GID 0) tells it by itself.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "base/wire/frame.h"
#include "emu/world/world.h"

namespace rocelab::direct {

// Of fe80::/64 with an EUI-64 interface identifier (RFC 4291, appendix A).
std::optional<MacAddress> mac_of_eui64(const Gid& gid);

// --- rtnetlink messages as bytes
// The entry of `ipv4` (host order) on the interface, from an answer to a dump of the neighbour table; null:
// none that is usable (unresolved or failed), or the bytes are cut.
std::optional<MacAddress> find_neighbour(std::span<const std::byte> answer, unsigned interface,
                                         std::uint32_t ipv4);
// The next hop (host order) of an answer to RTM_GETROUTE: the gateway, or `ipv4` itself; null: no route there
// by this interface.
std::optional<std::uint32_t> next_hop(std::span<const std::byte> answer, unsigned interface,
                                      std::uint32_t ipv4);

class Neighbours {
 public:
  Neighbours(const HostEntry& host, unsigned interface) : host_(host), interface_(interface) {}

  // Asks the kernel, and the network if need be: up to `kPatience`. Not under a lock that others wait for.
  std::optional<MacAddress> resolve(const Gid& gid) const;

  static constexpr int kPatienceMs = 3'000;  // as long as the kernel asks

 private:
  std::optional<MacAddress> lookup(std::uint32_t ipv4) const;
  void probe(std::uint32_t ipv4) const;

  const HostEntry& host_;
  const unsigned interface_;
};

}  // namespace rocelab::direct
