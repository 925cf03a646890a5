// Lateness: how late frames left for a foreign device, by the wall clock: a histogram with 16 steps to each
// doubling, so that a percentile is known within 7 percent whatever it is, in memory that does not grow.
#pragma once

#include <array>
#include <cstdint>

namespace rocelab {

class Lateness {
 public:
  void add(std::int64_t late_ns);  // negative counts as 0
  std::uint64_t count() const { return count_; }
  std::int64_t max_ns() const { return max_ns_; }
  // Nearest-rank percentile, rounded up to its step; 0 when nothing was added. `share` in (0, 1].
  std::int64_t percentile_ns(double share) const;

 private:
  static constexpr unsigned kStepBits = 4;
  std::array<std::uint64_t, (64 - kStepBits + 1) << kStepBits> steps_{};
  std::uint64_t count_ = 0;
  std::int64_t max_ns_ = 0;
};

}  // namespace rocelab
