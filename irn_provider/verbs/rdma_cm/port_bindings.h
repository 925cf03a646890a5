// PortBindings: the ports of the RDMA IP CM service that this process has bound, with Linux's rules of who
// may bind what; other processes of the host are seen through the segment. Under the lock of the LiveProcess.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "base/wire/cm/ip_cm.h"
#include "lockstep/port_registry.h"

namespace rocelab::verbs {

class PortBindings {
 public:
  explicit PortBindings(const lockstep::PortRegistry& registry) : registry_(registry) {}

  // Binds `port`, or one of the ephemeral ones when it is 0. Several of one process may bind a port if all
  // say `reuse` and none listens. 0, EADDRINUSE, or EADDRNOTAVAIL: no ephemeral port is left.
  int bind(cm::PortSpace space, std::uint16_t& port, bool reuse);
  int listen(cm::PortSpace space, std::uint16_t port);  // of a bound one: 0 or EADDRINUSE
  void unbind(cm::PortSpace space, std::uint16_t port, bool listened);

 private:
  struct Binding {
    unsigned users = 0;
    bool reuse = false, listening = false;
  };
  using Key = std::pair<cm::PortSpace, std::uint16_t>;
  lockstep::PortRegistry registry_;
  std::map<Key, Binding> bindings_;
  std::uint32_t next_ephemeral_ = 0;
};

// Index of a port space in the segment.
constexpr std::uint32_t space_index(cm::PortSpace space) { return space == cm::PortSpace::kTcp ? 0 : 1; }

}  // namespace rocelab::verbs
