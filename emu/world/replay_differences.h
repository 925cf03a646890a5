// ReplayDifferences: of a replay, the packets that are not as in its original (Mittal, 5.1.1). Plain data: a
// live run sums them up over its processes.
#pragma once

#include <cstdint>
#include <string>

namespace rocelab {

struct ReplayDifferences {
  std::uint64_t moved = 0;    // left their NIC at another instant
  std::uint64_t strange = 0;  // are not those of the original
  std::uint64_t early = 0;    // arrived sooner than over an idle network
  std::uint64_t unequal = 0;  // are late by something else than the slack that is left with its sign changed

  ReplayDifferences& operator+=(const ReplayDifferences& other);
  // In a line; empty: the replay is one. `drops`: frames that its switches dropped.
  std::string problem(const std::string& original, std::uint64_t drops) const;
};

}  // namespace rocelab
