#include "irn_provider/transport/payload.h"

#include <algorithm>

namespace rocelab {
namespace {

// Calls f(entry, address within the entry, bytes) for each piece of [offset, offset + length) of the list;
// false: f said so, or the list is shorter.
template <class F>
bool for_each_piece(std::span<const Sge> list, std::uint64_t offset, std::uint64_t length, F&& f) {
  for (const Sge& entry : list) {
    if (length == 0) return true;
    if (offset >= entry.length) {
      offset -= entry.length;
      continue;
    }
    const auto piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(entry.length - offset, length));
    if (!f(entry, entry.addr + offset, piece)) return false;
    length -= piece;
    offset = 0;
  }
  return length == 0;
}

}  // namespace

std::uint64_t total_length(std::span<const Sge> list) {
  std::uint64_t total = 0;
  for (const Sge& entry : list) total += entry.length;
  return total;
}

bool list_is_valid(const MemoryView& view, std::span<const Sge> list, std::uint32_t rights) {
  return std::all_of(list.begin(), list.end(), [&](const Sge& entry) {
    return entry.length == 0 || view.regions.translate(entry.lkey, view.pd, entry.addr, entry.length, rights);
  });
}

PlaceResult place(const MemoryView& view, std::span<const Sge> list, std::uint64_t offset,
                  const std::byte* bytes, std::uint32_t length) {
  bool allowed = true;
  const bool fits =
      for_each_piece(list, offset, length, [&](const Sge& entry, std::uint64_t va, std::uint32_t n) {
        allowed =
            allowed && view.regions.translate(entry.lkey, view.pd, va, n, kAccessLocalWrite).has_value();
        return true;
      });
  if (!fits) return PlaceResult::kTooLong;
  if (!allowed) return PlaceResult::kProtection;
  for_each_piece(list, offset, length, [&](const Sge& entry, std::uint64_t va, std::uint32_t n) {
    view.memory.write(*view.regions.translate(entry.lkey, view.pd, va, n, kAccessLocalWrite), bytes, n);
    if (bytes != nullptr) bytes += n;
    return true;
  });
  return PlaceResult::kOk;
}

std::uint64_t execute_atomic(Memory& memory, std::uint64_t addr, Operation operation,
                             const RoceHeaders& request) {
  return operation == Operation::kFetchAdd ? memory.fetch_add(addr, request.swap_or_add)
                                           : memory.compare_swap(addr, request.compare, request.swap_or_add);
}

bool gather(const MemoryView& view, const PayloadSource& source, std::span<std::byte> out) {
  if (out.empty()) return true;
  std::byte* to = out.data();
  return for_each_piece({source.sge, source.num_sge}, source.offset, out.size(),
                        [&](const Sge& entry, std::uint64_t va, std::uint32_t n) {
                          const auto addr = source.unchecked
                                                ? std::optional(va)
                                                : view.regions.translate(entry.lkey, view.pd, va, n, 0);
                          if (!addr) return false;
                          view.memory.read(*addr, to, n);
                          to += n;
                          return true;
                        });
}

}  // namespace rocelab
