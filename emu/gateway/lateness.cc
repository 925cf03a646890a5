#include "emu/gateway/lateness.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace rocelab {
namespace {

constexpr unsigned kStepBits = 4;

// Values below 16 have a step each; above, the four bits behind the highest one choose among 16.
std::size_t step_of(std::uint64_t value) {
  const auto width = static_cast<unsigned>(std::bit_width(value));
  if (width <= kStepBits) return value;
  const unsigned shift = width - 1 - kStepBits;
  return (std::size_t{shift + 1} << kStepBits) + ((value >> shift) & ((1u << kStepBits) - 1));
}

std::int64_t highest_of(std::size_t step) {
  if (step < (1u << kStepBits)) return static_cast<std::int64_t>(step);
  const unsigned shift = static_cast<unsigned>(step >> kStepBits) - 1;
  const std::uint64_t base = (1u << kStepBits) + (step & ((1u << kStepBits) - 1));
  return static_cast<std::int64_t>(((base + 1) << shift) - 1);
}

}  // namespace

void Lateness::add(std::int64_t late_ns) {
  late_ns = std::max<std::int64_t>(late_ns, 0);
  ++steps_[step_of(static_cast<std::uint64_t>(late_ns))];
  ++count_;
  max_ns_ = std::max(max_ns_, late_ns);
}

std::int64_t Lateness::percentile_ns(double share) const {
  const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t step = 0; step < steps_.size() && count_ > 0; ++step)
    if (seen += steps_[step]; seen >= rank) return std::min(highest_of(step), max_ns_);
  return 0;
}

}  // namespace rocelab
