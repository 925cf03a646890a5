#include "ovs_patches/switch_model/scheduler.h"

#include <algorithm>

namespace rocelab {

Scheduler::Scheduler(const SwitchConfig& config) : dwrr_(std::make_unique<Dwrr>()) {
  int lightest = 0xffff;
  for (const ClassConfig& c : config.classes) {
    if (c.selection == Selection::kEts) lightest = std::min<int>(lightest, c.weight);
  }
  for (int tc = 0; tc < kTrafficClasses; ++tc) {
    const ClassConfig& c = config.classes[tc];
    if (c.selection == Selection::kStrict) {
      strict_ |= bit_of(Tc{static_cast<std::uint8_t>(tc)});
    } else {
      // Rounded up by less than a byte; the lightest class gets exactly one maximum frame.
      dwrr_->quantum[tc] =
          (wire_bytes(config.max_frame) * c.weight + Bytes::from_count(lightest - 1)) / lightest;
    }
  }
}

}  // namespace rocelab
