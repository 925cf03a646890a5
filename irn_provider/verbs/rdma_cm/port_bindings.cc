#include "irn_provider/verbs/rdma_cm/port_bindings.h"

#include <algorithm>
#include <cerrno>

namespace rocelab::verbs {
namespace {

// Linux's net.ipv4.ip_local_port_range. Processes of one host begin at different ones, so that which port a
// program gets does not depend on who asked first.
constexpr std::uint32_t kFirstEphemeral = 32'768, kEphemerals = 60'999 - kFirstEphemeral + 1;

}  // namespace

bool is_any(const cm::Address& a) {
  const auto zeros = [&](std::size_t n) {
    return std::all_of(a.ip.begin(), a.ip.begin() + n, [](auto b) { return b == 0; });
  };
  if (a.ip_version == 4 && a.ip[12] == 127) return true;
  return zeros(15) && (a.ip[15] == 0 || (a.ip_version == 6 && a.ip[15] == 1));
}

bool same_ip(const cm::Address& a, const cm::Address& b) {
  return a.ip_version == b.ip_version && a.ip == b.ip;
}

int PortBindings::conflict(const Owners& owners, const PortOwner& who, bool reuse) {
  for (const PortOwner* other : owners) {
    if (other == &who || (reuse && other->reuse)) continue;
    const bool other_family = other->address.ip_version != who.address.ip_version;
    if (other_family && who.family_only && other->family_only) continue;
    if (is_any(who.address) || is_any(other->address)) return EADDRNOTAVAIL;
    if (same_ip(who.address, other->address)) return EADDRINUSE;
  }
  return 0;
}

bool PortBindings::claim(PortOwner& who, std::uint16_t port) {
  if (owners_.contains({who.space, port}) || !registry_.claim(space_index(who.space), port)) return false;
  who.address.port = port;
  owners_[{who.space, port}] = {&who};
  return true;
}

int PortBindings::bind(PortOwner& who) {
  if (who.address.port == 0) {
    const std::uint32_t begin = registry_.self() * (kEphemerals / kMaxVfsPerHost);
    for (std::uint32_t tries = 0; tries < kEphemerals; ++tries)
      if (claim(who, static_cast<std::uint16_t>(kFirstEphemeral + (begin + next_ephemeral_++) % kEphemerals)))
        return 0;
    return EADDRNOTAVAIL;
  }
  const auto known = owners_.find({who.space, who.address.port});
  if (known == owners_.end()) return claim(who, who.address.port) ? 0 : EADDRINUSE;
  if (const int error = conflict(known->second, who, who.reuse); error != 0) return error;
  known->second.push_back(&who);
  return 0;
}

int PortBindings::listen(PortOwner& who) {
  if (!who.reuse) return 0;  // nobody shares its address
  const int error = conflict(owners_.at({who.space, who.address.port}), who, false);
  if (error == 0) who.reuse = false;
  return error;
}

void PortBindings::unbind(const PortOwner& who) {
  const auto known = owners_.find({who.space, who.address.port});
  if (known == owners_.end()) return;
  std::erase(known->second, &who);
  if (!known->second.empty()) return;
  owners_.erase(known);
  registry_.release(space_index(who.space), who.address.port);
}

}  // namespace rocelab::verbs
