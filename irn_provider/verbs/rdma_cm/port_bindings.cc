#include "irn_provider/verbs/rdma_cm/port_bindings.h"

#include <cerrno>

namespace rocelab::verbs {
namespace {

// Linux's net.ipv4.ip_local_port_range. Processes of one host begin at different ones, so that which port a
// program gets does not depend on who asked first.
constexpr std::uint32_t kFirstEphemeral = 32'768, kEphemerals = 60'999 - kFirstEphemeral + 1;

}  // namespace

int PortBindings::bind(cm::PortSpace space, std::uint16_t& port, bool reuse) {
  if (port == 0) {
    const std::uint32_t begin = registry_.self() * (kEphemerals / lockstep::kMaxVfsPerHost);
    for (std::uint32_t tries = 0; tries < kEphemerals; ++tries) {
      auto candidate =
          static_cast<std::uint16_t>(kFirstEphemeral + (begin + next_ephemeral_++) % kEphemerals);
      if (bind(space, candidate, false) != 0) continue;
      bindings_[{space, candidate}].reuse = reuse;
      port = candidate;
      return 0;
    }
    return EADDRNOTAVAIL;
  }
  const auto known = bindings_.find({space, port});
  if (known == bindings_.end()) {
    if (!registry_.claim(space_index(space), port)) return EADDRINUSE;
    bindings_[{space, port}] = {1, reuse, false};
    return 0;
  }
  Binding& b = known->second;
  if (!reuse || !b.reuse || b.listening) return EADDRINUSE;
  ++b.users;
  return 0;
}

int PortBindings::listen(cm::PortSpace space, std::uint16_t port) {
  Binding& b = bindings_.at({space, port});
  if (b.listening) return EADDRINUSE;
  b.listening = true;
  return 0;
}

void PortBindings::unbind(cm::PortSpace space, std::uint16_t port, bool listened) {
  const auto known = bindings_.find({space, port});
  if (known == bindings_.end()) return;
  if (listened) known->second.listening = false;
  if (--known->second.users > 0) return;
  bindings_.erase(known);
  registry_.release(space_index(space), port);
}

}  // namespace rocelab::verbs
