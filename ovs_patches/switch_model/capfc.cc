#include "ovs_patches/switch_model/capfc.h"

#include <algorithm>
#include <limits>

namespace rocelab {

void CapfcQueue::add(std::uint16_t port, std::uint32_t units) {
  std::uint32_t& count = counts_[port];
  if (count == 0) {
    places_[port] = static_cast<std::uint16_t>(contributing_.size());
    contributing_.push_back(port);
    free_ += !held_[port] && !is_own(port);
  }
  count = units > std::numeric_limits<std::uint32_t>::max() - count
              ? std::numeric_limits<std::uint32_t>::max()
              : count + units;
}

void CapfcQueue::take(std::uint16_t port, std::uint32_t units) {
  counts_[port] -= units;
  if (counts_[port] != 0) return;
  free_ -= !held_[port] && !is_own(port);
  const std::uint16_t last = contributing_.back();
  contributing_[places_[port]] = last;
  places_[last] = places_[port];
  contributing_.pop_back();
}

void CapfcQueue::forget() {
  for (const std::uint16_t port : contributing_) counts_[port] = 0;
  contributing_.clear();
  free_ = 0;
}

std::uint16_t CapfcQueue::heaviest() const {
  std::uint16_t best = kNone;
  for (const std::uint16_t port : contributing_) {
    if (is_own(port) || (params_.has(CapfcFix::kSkip) && held_[port])) continue;
    if (best == kNone || before(port, best)) best = port;
  }
  return best;
}

const std::vector<std::uint16_t>& CapfcQueue::smallest_set() {
  sorted_ = contributing_;
  std::ranges::sort(sorted_, [&](std::uint16_t a, std::uint16_t b) { return before(a, b); });
  std::uint64_t all = 0, sum = 0;
  for (const std::uint16_t port : sorted_) all += counts_[port];
  std::size_t size = 0;
  while (size < sorted_.size() && static_cast<double>(sum) < params_.cut * static_cast<double>(all))
    sum += counts_[sorted_[size++]];
  sorted_.resize(size);
  return sorted_;
}

}  // namespace rocelab
