// MemoryRegions: the NIC's table of registered memory, and the check of each access against it. Source: IBTA
// Vol 1, 10.6.3 and 9.7.4.1.5 (R_Key validation: key, protection domain, rights, bounds). lkey and rkey of a
// region are the same number here, as on most NICs.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "irn_provider/transport/handle_table.h"

namespace rocelab {

struct MemoryRegion {
  Pdn pd;
  std::uint64_t addr = 0;  // where the program has it
  std::uint64_t iova = 0;  // what keys and packets call its first byte
  std::uint64_t length = 0;
  std::uint32_t access = 0;   // kAccess*
  std::uint32_t windows = 0;  // that are bound to it: it stays as it is
};

class MemoryRegions {
 public:
  explicit MemoryRegions(std::uint32_t capacity) : table_(capacity) {}

  std::optional<RKey> add(const MemoryRegion& region) {
    if (wraps(region)) return std::nullopt;
    const auto handle = table_.add(region);
    return handle ? std::optional(RKey{*handle}) : std::nullopt;
  }
  const MemoryRegion* find(RKey key) const { return table_.find(key.value); }
  MemoryRegion* find(RKey key) { return table_.find(key.value); }
  bool change(RKey key, const MemoryRegion& region) {
    MemoryRegion* old = table_.find(key.value);
    if (old == nullptr || wraps(region)) return false;
    *old = region;
    return true;
  }
  bool remove(RKey key) { return table_.remove(key.value); }

  // The program's address of [va, va + length); null: unknown key, another protection domain, missing rights
  // or out of bounds.
  std::optional<std::uint64_t> translate(RKey key, Pdn pd, std::uint64_t va, std::uint64_t length,
                                         std::uint32_t rights) const {
    const MemoryRegion* region = find(key);
    if (region == nullptr || region->pd != pd || (region->access & rights) != rights) return std::nullopt;
    const std::uint64_t begin = va - region->iova;  // wraps to a huge number when va lies below
    if (va < region->iova || begin > region->length || length > region->length - begin) return std::nullopt;
    return region->addr + begin;
  }

  // The uppermost bit of a key is a memory window's (memory_windows.h).
  static constexpr int kKeyBits = 31;

 private:
  static bool wraps(const MemoryRegion& r) {
    return r.length > 0 && (r.iova + r.length < r.iova || r.addr + r.length < r.addr);
  }

  HandleTable<MemoryRegion, kKeyBits> table_;
};

}  // namespace rocelab
