#include "irn_provider/transport/memory_windows.h"

#include "base/check.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kRemoteWrites = kAccessRemoteWrite | kAccessRemoteAtomic;
// Local rights and those to bind are taken and say nothing, as with Linux rxe.
constexpr std::uint32_t kAccess =
    kRemoteWrites | kAccessRemoteRead | kAccessZeroBased | kAccessLocalWrite | kAccessMwBind;

bool contains(std::uint64_t begin, std::uint64_t size, std::uint64_t addr, std::uint64_t length) {
  return addr >= begin && addr - begin <= size && length <= size - (addr - begin);
}

}  // namespace

std::optional<RKey> MemoryWindows::add(Pdn pd, MwType type) {
  const auto number = table_.add(MemoryWindow{.pd = pd, .type = type, .key = {}, .region = {}});
  if (!number) return std::nullopt;
  return table_.find(*number)->key = RKey{kMark | *number << 8};
}

const MemoryWindow* MemoryWindows::find(RKey key) const { return table_.find(number_of(key)); }

bool MemoryWindows::remove(RKey key) {
  MemoryWindow* window = table_.find(number_of(key));
  if (window == nullptr) return false;
  unbind(*window);
  return table_.remove(number_of(key));
}

// IBTA 10.6.7.2.1 to 3, in the order of rxe_check_bind_mw.
bool MemoryWindows::may_bind(const MemoryWindow& window, const MwBinding& b, Pdn pd) const {
  if (window.pd != pd || (b.access & ~kAccess) != 0) return false;
  const bool second = window.type == MwType::k2;
  if (second ? window.bound || b.length == 0 : (b.access & kAccessZeroBased) != 0) return false;
  if (b.length == 0) return true;
  const MemoryRegion* region = regions_.find(b.region);
  return region != nullptr && region->pd == pd && (region->access & kAccessMwBind) != 0 &&
         ((b.access & kRemoteWrites) == 0 || (region->access & kAccessLocalWrite) != 0) &&
         contains(region->iova, region->length, b.addr, b.length);
}

bool MemoryWindows::bind(const MwBinding& b, Qpn qpn, Pdn pd) {
  MemoryWindow* window = table_.find(number_of(b.window));
  if (window == nullptr || !may_bind(*window, b, pd)) return false;
  unbind(*window);
  window->key.value = (window->key.value & ~kTag) | (b.key.value & kTag);
  if (b.length == 0) return true;
  window->bound = true;
  window->qpn = qpn;
  window->region = b.region;
  window->addr = b.addr, window->length = b.length;
  window->access = b.access;
  ++regions_.find(b.region)->windows;
  if (window->type == MwType::k2) ++bound_of_qps_;
  return true;
}

// A region stays while windows are bound to it.
void MemoryWindows::unbind(MemoryWindow& window) {
  if (!window.bound) return;
  MemoryRegion* region = regions_.find(window.region);
  RL_CHECK(region != nullptr && region->windows > 0);
  --region->windows;
  if (window.type == MwType::k2) --bound_of_qps_;
  window.bound = false;
}

bool MemoryWindows::invalidate(RKey key, Qpn qpn) {
  MemoryWindow* window = table_.find(number_of(key));
  if (window == nullptr || window->key != key || window->type != MwType::k2 || !window->bound ||
      window->qpn != qpn)
    return false;
  unbind(*window);
  return true;
}

void MemoryWindows::forget(Qpn qpn) {
  if (bound_of_qps_ == 0) return;
  table_.for_each([&](std::uint32_t, MemoryWindow& window) {
    if (window.type == MwType::k2 && window.bound && window.qpn == qpn) unbind(window);
  });
}

std::optional<std::uint64_t> MemoryWindows::translate(RKey key, Pdn pd, Qpn qpn, std::uint64_t va,
                                                      std::uint64_t length, std::uint32_t rights) const {
  const MemoryWindow* w = find(key);
  if (w == nullptr || w->key != key || !w->bound || w->pd != pd || (w->access & rights) != rights)
    return std::nullopt;
  if (w->type == MwType::k2 && w->qpn != qpn) return std::nullopt;
  const bool zero_based = (w->access & kAccessZeroBased) != 0;
  const std::uint64_t begin = zero_based ? 0 : w->addr;
  if (!contains(begin, w->length, va, length)) return std::nullopt;
  const MemoryRegion& region = *regions_.find(w->region);
  return region.addr + (w->addr - region.iova) + (va - begin);
}

}  // namespace rocelab
