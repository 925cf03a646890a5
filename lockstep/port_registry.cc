#include "lockstep/port_registry.h"

#include "base/check.h"

namespace rocelab::lockstep {
namespace {

// An entry: the owner's tenure of its VF, and the VF within the host plus 1. 0: nobody. Not its process ID,
// which the VF's next owner may have again: the first process of a container that is started anew always has.
std::uint64_t entry_of(const VfSlot& slot) { return std::uint64_t{slot.tenure.load()} << 32 | (slot.vf + 1); }

}  // namespace

PortRegistry::PortRegistry(HostShare host, std::uint32_t vf) : host_(host), slot_(host.vfs[vf]) {}

void PortRegistry::open() { slot_.cm.store(1); }

std::uint32_t PortRegistry::open_vfs() const {
  std::uint32_t bits = 0;
  for (const VfSlot& slot : host_.vfs)
    if (slot.cm.load() != 0 && slot.state.load() == VfState::kClaimed) bits |= 1u << slot.vf;
  return bits;
}

std::atomic<std::uint64_t>& PortRegistry::entry(std::uint32_t space, std::uint16_t port) const {
  RL_CHECK(space < kServiceSpaces);
  return host_.service_ports[space * kPortsPerSpace + port];
}

const VfSlot* PortRegistry::holder(std::uint64_t entry) const {
  const auto vf = static_cast<std::uint32_t>(entry & 0xffffffff) - 1;  // of 0: no VF
  if (vf >= host_.vfs.size()) return nullptr;
  const VfSlot& slot = host_.vfs[vf];
  return slot.state.load() == VfState::kClaimed && slot.tenure.load() == entry >> 32 ? &slot : nullptr;
}

bool PortRegistry::claim(std::uint32_t space, std::uint16_t port) {
  std::atomic<std::uint64_t>& e = entry(space, port);
  std::uint64_t before = e.load();
  while (holder(before) == nullptr)
    if (e.compare_exchange_weak(before, entry_of(slot_))) return true;
  return false;
}

void PortRegistry::release(std::uint32_t space, std::uint16_t port) {
  std::uint64_t mine = entry_of(slot_);
  entry(space, port).compare_exchange_strong(mine, 0);
}

std::optional<std::uint32_t> PortRegistry::owner(std::uint32_t space, std::uint16_t port) const {
  const VfSlot* slot = holder(entry(space, port).load());
  return slot != nullptr ? std::optional(slot->vf) : std::nullopt;
}

}  // namespace rocelab::lockstep
