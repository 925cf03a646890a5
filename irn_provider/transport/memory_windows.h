// MemoryWindows: the NIC's table of memory windows, through which a consumer gives peers a part of a memory
// region without a call to the kernel: binding and invalidating are work requests. Source: IBTA Vol 1,
// 10.6.7.2 (types, binding), 10.6.5 (invalidation), 9.7.4.1.5 (R_Key validation); what a bind is refused for
// as Linux rxe has it, and the bounds of each access besides (DEVIATIONS.md#roce).
//
// An R_Key is 1 | 23 bits of window number | 8 bits that change from bind to bind. Regions' keys have an
// uppermost bit of 0.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "irn_provider/transport/handle_table.h"
#include "irn_provider/transport/memory_regions.h"
#include "irn_provider/transport/verbs_types.h"

namespace rocelab {

struct MemoryWindow {
  Pdn pd;
  MwType type = MwType::k1;
  RKey key;            // as it is now
  bool bound = false;  // what follows counts
  Qpn qpn{};           // type 2: the QP that bound it
  RKey region;
  std::uint64_t addr = 0, length = 0;  // in the region's addresses
  std::uint32_t access = 0;            // kAccess*
};

class MemoryWindows {
 public:
  MemoryWindows(MemoryRegions& regions, std::uint32_t capacity) : regions_(regions), table_(capacity) {}

  static bool is_window(RKey key) { return key.value >> 31 != 0; }

  std::optional<RKey> add(Pdn pd, MwType type);
  const MemoryWindow* find(RKey key) const;  // whatever the low byte; null: none
  bool remove(RKey key);                     // whatever the low byte

  // By a QP and its protection domain. False: refused, and nothing has changed.
  bool bind(const MwBinding& binding, Qpn qpn, Pdn pd);
  // By the QP that bound it, whoever asked for it: a type 2 window that is bound and has exactly this R_Key.
  // False: refused, and nothing has changed.
  bool invalidate(RKey key, Qpn qpn);
  void forget(Qpn qpn);  // the QP goes: its type 2 windows are free

  // The program's address of [va, va + length) for a peer of QP `qpn`, of domain `pd`; null: unknown key, not
  // bound, another domain or QP, missing rights or out of bounds.
  std::optional<std::uint64_t> translate(RKey key, Pdn pd, Qpn qpn, std::uint64_t va, std::uint64_t length,
                                         std::uint32_t rights) const;

 private:
  static constexpr std::uint32_t kMark = 1u << 31, kTag = 0xff;
  static std::uint32_t number_of(RKey key) { return is_window(key) ? (key.value & ~kMark) >> 8 : 0; }

  bool may_bind(const MemoryWindow& window, const MwBinding& binding, Pdn pd) const;
  void unbind(MemoryWindow& window);

  MemoryRegions& regions_;
  HandleTable<MemoryWindow, 23> table_;
  std::uint32_t bound_of_qps_ = 0;  // type 2 windows that are bound
};

}  // namespace rocelab
