#include "emu/link/link_schedule.h"

#include <algorithm>

#include "base/check.h"

namespace rocelab {

void LinkSchedule::change(Time at, bool up) {
  const bool is_up = down_.empty() || !down_.back().until.is_never();
  if (up == is_up) return;
  if (up) {
    RL_CHECK(at >= down_.back().from);
    down_.back().until = at;
  } else {
    RL_CHECK(down_.empty() || at >= down_.back().until);
    down_.push_back({at, Time::never()});
  }
}

bool LinkSchedule::down_within(Time from, Time until) const {
  // The first interval that ends after `from` is the only one that can matter.
  const auto next = std::upper_bound(down_.begin(), down_.end(), from,
                                     [](Time t, const Interval& interval) { return t < interval.until; });
  return next != down_.end() && next->from <= until;
}

}  // namespace rocelab
