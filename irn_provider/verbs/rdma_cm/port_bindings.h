// PortBindings: the ports of the RDMA IP CM service that this process has bound, with Linux's rules of who
// may bind what (drivers/infiniband/core/cma.c, cma_check_port). A port belongs to one process of a host;
// other processes are seen through the segment. Under the lock of the LiveProcess.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/wire/cm/ip_cm.h"
#include "irn_provider/cm/cm_types.h"
#include "lockstep/port_registry.h"

namespace rocelab::verbs {

// What an identifier has bound, or is about to: lives with it, and is known here from bind() to unbind().
struct PortOwner {
  cm::PortSpace space = cm::PortSpace::kTcp;
  cm::Address address;  // with the port
  bool reuse = false;
  bool family_only = false;  // of any address: not the other family's, too
};

class PortBindings {
 public:
  explicit PortBindings(const lockstep::PortRegistry& registry) : registry_(registry) {}

  // Binds `who.address.port`, or one of the ephemeral ones when it is 0. 0 or Linux's errno: EADDRINUSE for
  // the address that another owner has, or another process; EADDRNOTAVAIL where one of two addresses is any,
  // or when no ephemeral port is left.
  int bind(PortOwner& who);
  int listen(PortOwner& who);  // who has bound: the same errnos; from then on nobody shares its address
  void unbind(const PortOwner& who);

 private:
  using Key = std::pair<cm::PortSpace, std::uint16_t>;
  using Owners = std::vector<const PortOwner*>;
  static int conflict(const Owners& owners, const PortOwner& who, bool reuse);
  bool claim(PortOwner& who, std::uint16_t port);  // one that nobody of this process has

  lockstep::PortRegistry registry_;
  std::map<Key, Owners> owners_;
  std::uint32_t next_ephemeral_ = 0;
};

// Neither a device's: zeros, or loopback (Linux, cma_any_addr).
bool is_any(const cm::Address& address);
bool same_ip(const cm::Address& a, const cm::Address& b);

// Index of a port space in the segment.
constexpr std::uint32_t space_index(cm::PortSpace space) { return space == cm::PortSpace::kTcp ? 0 : 1; }

}  // namespace rocelab::verbs
