// Payload: where the bytes of a packet lie in the program's memory, and how they get there and away. Nothing
// is buffered: a packet that leaves is gathered straight from the WQE's list or the region that a READ names,
// one that arrives is placed straight into its final address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/wire/opcode.h"
#include "base/wire/roce_headers.h"
#include "irn_provider/transport/memory.h"
#include "irn_provider/transport/memory_regions.h"
#include "irn_provider/transport/verbs_types.h"

namespace rocelab {

// A part of a scatter/gather list, or of a region that a peer named by rkey.
struct PayloadSource {
  const Sge* sge = nullptr;  // null: remote; else entries that live as long as the WQE
  std::uint8_t num_sge = 0;
  bool unchecked = false;               // inline data: no lkey
  RKey rkey;                            // remote
  std::uint64_t va = 0;                 // remote
  std::uint64_t offset = 0;             // bytes of the list before this packet's
  const PathAddress* path = nullptr;    // UD: where the packet goes; null: where the QP is connected to
  Pdn pd{};                             // remote: of the region
  std::uint32_t packets = 0, left = 0;  // of the message, and from this one on; 0: a request without payload
};

// Everything that an access is checked against.
struct MemoryView {
  const MemoryRegions& regions;
  Memory& memory;
  Pdn pd;
};

enum class PlaceResult : std::uint8_t { kOk, kTooLong, kProtection };

std::uint64_t total_length(std::span<const Sge> list);
// All entries have valid keys with `rights` (0 for reading); `unchecked` lists always do.
bool list_is_valid(const MemoryView& view, std::span<const Sge> list, std::uint32_t rights);

// Places `length` bytes at `offset` of the list. `bytes` may be null when only lengths exist. Nothing is
// written unless all fits and is allowed.
PlaceResult place(const MemoryView& view, std::span<const Sge> list, std::uint64_t offset,
                  const std::byte* bytes, std::uint32_t length);
// The operation of an atomic request on `addr` of the program, aligned; returns what was there before.
std::uint64_t execute_atomic(Memory& memory, std::uint64_t addr, Operation operation,
                             const RoceHeaders& request);
// Of a list. False: a key is gone.
bool gather(const MemoryView& view, const PayloadSource& source, std::span<std::byte> out);

}  // namespace rocelab
