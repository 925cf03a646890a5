// SampleClock: when a switch's state is sampled (SwitchTrace::sample): as it stands at each multiple of the
// interval. While nothing happens it does not change, and multiples within such a time are left out.
#pragma once

#include <algorithm>

#include "base/units.h"
#include "emu/record/switch_trace.h"
#include "ovs_patches/switch_model/switch_node.h"

namespace rocelab {

class SampleClock {
 public:
  explicit SampleClock(Duration interval)  // 0: never
      : interval_(interval), next_(interval > Duration() ? Time::zero() : Time::never()) {}

  // Samples that are due before `end`. run_until(time) runs `node`, which knows all that happens before
  // `end`. `trace` may be null where the interval is 0.
  template <class F>
  void take_before(Time end, const SwitchNode& node, SwitchTrace* trace, F&& run_until) {
    while (next_ < end) {
      run_until(next_);
      trace->sample(node.model(), next_);
      next_ = next_ + interval_;
      const Time idle_until = std::min(node.next_event(), end);
      if (idle_until > next_) next_ = next_ + interval_ * ((idle_until - next_) / interval_);
    }
  }

 private:
  Duration interval_;
  Time next_;
};

}  // namespace rocelab
