#include "ovs_patches/switch_model/scheduler.h"

namespace rocelab {
namespace {

TcMask strict_classes(const SwitchConfig& config) {
  TcMask strict = 0;
  for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc)
    if (config.classes[tc].selection == Selection::kStrict) strict |= bit_of(Tc{tc});
  return strict;
}

Scheduler::Weights weights(const SwitchConfig& config) {
  Scheduler::Weights weights{};
  for (std::size_t tc = 0; tc < weights.size(); ++tc) weights[tc] = config.classes[tc].weight;
  return weights;
}

}  // namespace

Scheduler::Scheduler(const SwitchConfig& config)
    : ClassScheduler(strict_classes(config), weights(config), config.max_frame,
                     std::make_unique<ClassShares>()) {}

}  // namespace rocelab
