// TraceHash: SHA-256 over the XXH3-128 values of a node's hashed records, 64 at a time, in the node's order:
// SHA-256 over the records themselves took a fifth of a run's time. A run's trace_hash is the SHA-256 over
// its nodes' digests in index order, so that nodes in different processes can hash as they go. Results do not
// depend on how the run was driven.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/trace.h"

namespace rocelab {

using Digest = std::array<std::byte, 32>;

class TraceHash {
 public:
  TraceHash();
  ~TraceHash();
  TraceHash(TraceHash&&) noexcept;
  TraceHash& operator=(TraceHash&&) noexcept;
  void add(const TraceRecord& record);  // the caller filters by kHashedKinds
  Digest digest();                      // of all records so far; more may follow

 private:
  static constexpr std::size_t kBlock = 64;  // records
  struct State;
  std::unique_ptr<State> state_;
  std::vector<TraceRecord> pending_;  // of the present block
};

Digest combine(std::span<const Digest> nodes);
std::string to_hex(const Digest& digest);

}  // namespace rocelab
